"""The conversations of an export that is still a zip, read out of it without unpacking anything."""

import errno
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mex_pipeline.errors import SourceFormat, SourceUnreadable

SIZE_CAP = 8 * 1024**3
"""Largest member in bytes, unpacked."""

_HARMLESS = 64 * 1024 * 1024
_RATIO = 500
"""A larger member that is packed closer is a bomb: text shrinks to a tenth, deflate's end is a thousandth."""
_NAME = re.compile(r"(?P<folder>.*[/\\])?conversations(?:-(?P<number>\d+))?\.json")
_ENCRYPTED = 0x1
_BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError, RuntimeError, OverflowError,
    IndexError, AttributeError,
)  # fmt: skip
"""What zipfile lets through of a damaged file."""


def members(file: BinaryIO, path: Path, block: int) -> Iterator[Iterator[bytes]]:
    """Yield the blocks of `conversations.json`, or of its shards `conversations-000.json` … by number, in any folder.

    Each has to be read to its end before the next. Raises SourceUnreadable: `source_encrypted` (`path`),
    `source_compression` (`path`) for a packing that cannot be undone here, `source_too_large` (`path`, `limit` in bytes);
    SourceFormat("source_damaged") with `path`.
    """
    with _told(path):
        archive = zipfile.ZipFile(file)
    placed = ((_place(one.filename), one) for one in archive.infolist())
    found = sorted(((place, one) for place, one in placed if place is not None), key=lambda pair: pair[0])
    for _, member in found:
        _check(member, path)
        yield _blocks(archive, member, path, block)


def _place(name: str) -> tuple[str, int] | None:
    """Return where a member stands in the order of reading, None for one that holds no conversations."""
    found = _NAME.fullmatch(name)
    folder = (found["folder"] or "") if found else "__MACOSX/"
    return None if found is None or folder.startswith("__MACOSX/") else (folder, int(found["number"] or -1))


def _check(member: zipfile.ZipInfo, path: Path) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise SourceUnreadable("source_encrypted", path=str(path))
    is_bomb = member.file_size > max(_HARMLESS, _RATIO * member.compress_size)
    if member.file_size > SIZE_CAP or is_bomb:
        raise SourceUnreadable("source_too_large", path=str(path), limit=SIZE_CAP)


def _blocks(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, size: int) -> Iterator[bytes]:
    with _told(path), archive.open(member) as file:
        while block := file.read(size):
            yield block


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Raise what zipfile raises as an error of the source; what the operating system refuses stays as it is."""
    try:
        yield
    except NotImplementedError as error:
        raise SourceUnreadable("source_compression", path=str(path)) from error
    except _BROKEN as error:
        raise SourceFormat("source_damaged", path=str(path)) from error
    except OSError as error:
        if error.errno in (None, errno.EINVAL):  # bzip2's words; a place before the beginning
            raise SourceFormat("source_damaged", path=str(path)) from error
        raise
