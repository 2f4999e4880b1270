"""Opening a foreign file for reading, with the errors a source can have, and short digests for keys."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mex_pipeline.errors import SourceGone, SourceUnreadable

_BUFFER = 64 * 1024
"""Bytes read at once: lines of a session are longer than what is usual."""

_OWN = re.compile(r"[/\\]\.mex(?:[/\\]|$)")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the file, open for reading only.

    Raises SourceGone(`path`) when nothing is there, SourceUnreadable(`path`, `detail`: the system's words) for whatever
    else the operating system refuses, while opening or while reading. Only regular files are opened: a pipe would
    block, a device would never end.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a NUL in the name
        raise SourceGone(path=str(path)) from error
    except OSError as error:
        raise _unreadable(path, error.errno) from error
    if not stat.S_ISREG(mode):
        raise _unreadable(path, errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL)
    try:
        with path.open("rb", _BUFFER) as file:
            yield file
    except FileNotFoundError as error:
        raise SourceGone(path=str(path)) from error
    except OSError as error:
        raise _unreadable(path, error.errno) from error


def is_own_folder(folder: str | None) -> bool:
    """True for a folder inside a home of meX: what an agent says there is meX's own talk (session-formats §1.7)."""
    return folder is not None and ".mex" in folder and _OWN.search(folder) is not None


def size_of(file: BinaryIO) -> int:
    """Return the length of an open file in bytes."""
    return file.seek(0, 2)


def digest(text: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of `text`: enough to tell messages apart."""
    import hashlib  # noqa: PLC0415 - 3 ms that a request for a job does not need

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _unreadable(path: Path, number: int | None) -> SourceUnreadable:
    return SourceUnreadable(path=str(path), detail=os.strerror(number or errno.EIO))
