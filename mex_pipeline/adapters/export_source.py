"""What an export is on disk: a conversation, an array of them, or a zip with such arrays; read as a stream."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mex_pipeline.adapters.export_scan import elements, first_keys
from mex_pipeline.adapters.files import opened
from mex_pipeline.errors import SourceFormat, SourceUnreadable

if TYPE_CHECKING:
    from types import ModuleType

CONVERSATION_CAP = 64 * 1024 * 1024
"""Largest conversation in bytes; memory is bounded by twice as much, not by the file."""

_BLOCK = 1024 * 1024
_HEAD = 64 * 1024
_OPENING = re.compile(rb"\{|\[\s*(?:\{|\]|\Z)|\Z")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of the first text in an export; None where a zip hides it: damaged, encrypted, unknown packing."""

    text: bytes | None
    is_zip: bool

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the first conversation, as far as they are in reach; empty for what has none."""
        return first_keys(self.text or b"")

    @property
    def is_one(self) -> bool:
        """True for one conversation, not an array of any number."""
        return not self.is_zip and (self.text or b"").startswith(b"{")

    @property
    def is_foreign(self) -> bool:
        """True when it is the beginning of nothing that an export can be."""
        return self.text is not None and _OPENING.match(self.text) is None


def look(path: Path) -> Head:
    """Return how an export begins, from its first 64 KB; raises SourceGone, SourceUnreadable for the file itself."""
    with opened(path) as file:
        is_zip = _is_zip(file)
        try:
            text = next(_utf8(next(_documents(file, path, _HEAD), (b"?",))), b"")
        except (SourceFormat, SourceUnreadable):
            return Head(None, is_zip)
    return Head(text.lstrip(), is_zip)


def conversations(path: Path) -> Iterator[bytes | None]:
    """Yield the conversations of an array or of a zip's arrays, as JSON; None for one above CONVERSATION_CAP.

    Raises SourceGone, SourceUnreadable (also `source_encrypted`, `source_compression` with `path` and
    `source_too_large` with `path`, `limit`), SourceFormat("source_damaged") with `path`, in the course of reading too.
    """
    with opened(path) as file:
        try:
            for blocks in _documents(file, path, _BLOCK):
                yield from elements(_utf8(blocks), CONVERSATION_CAP)
        except ValueError as error:
            raise SourceFormat("source_damaged", path=str(path)) from error


def whole(path: Path) -> bytes:
    """Return a file that is one conversation, as UTF-8.

    Raises SourceGone, SourceUnreadable (`source_too_large` with `path`, `limit` in bytes above CONVERSATION_CAP).
    """
    with opened(path) as file:
        data = file.read(CONVERSATION_CAP + 1)
    if len(data) > CONVERSATION_CAP:
        raise too_large(path)
    return b"".join(_utf8([data]))


def too_large(path: Path) -> SourceUnreadable:
    """Return the error for a single conversation above the cap."""
    return SourceUnreadable("source_too_large", path=str(path), limit=CONVERSATION_CAP)


def _documents(file: BinaryIO, path: Path, block: int) -> Iterator[Iterable[bytes]]:
    if _is_zip(file):
        yield from _zips().members(file, path, block)
    else:
        yield iter(lambda: file.read(block), b"")


def _is_zip(file: BinaryIO) -> bool:
    head = file.read(4)
    file.seek(0)
    return head == b"PK\x03\x04"


def _utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text that may be UTF-16, or begin with a mark, as UTF-8 without one."""
    rest = iter(blocks)
    head = next(rest, b"")
    if not head.startswith(_UTF16):
        yield from chain((head.removeprefix(codecs.BOM_UTF8),), rest)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for block in chain((head,), rest):
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _zips() -> "ModuleType":
    from mex_pipeline.adapters import export_zip  # noqa: PLC0415 - zipfile costs 14 ms that no other source needs

    return export_zip
