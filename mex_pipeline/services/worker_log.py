"""`mex worker logs`: the worker's log, read back (docs/jobs.md)."""

import json
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mex_pipeline.paths import Home

_KEPT_FILES = 4
_LOOK_SECONDS = 0.3


def last(home: Home, limit: int) -> list[dict[str, Any]]:
    """Return the last lines, oldest first, as `{at, level, event, job, fence, ms, error, …}`.

    What is no line of ours is left out.
    """
    return _last(home, _text(_current(home)), limit)


def follow(home: Home, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the last lines, then each one as it is written, for ever, also after the file was put aside for a new one."""
    current = _current(home)
    inode, written = _inode(current), _text(current)
    whole, _, rest = written.rpartition(b"\n")
    at = len(written)
    yield from _last(home, whole, limit)
    while True:
        time.sleep(_LOOK_SECONDS)
        if _inode(current) != inode:
            yield from _parsed(rest + _text(current.with_name(f"{current.name}.1"), at))
            inode, at, rest = _inode(current), 0, b""
        fresh = _text(current, at)
        at += len(fresh)
        whole, _, rest = (rest + fresh).rpartition(b"\n")
        yield from _parsed(whole)


def _last(home: Home, newest: bytes, limit: int) -> list[dict[str, Any]]:
    found: deque[dict[str, Any]] = deque(maxlen=limit)
    current = _current(home)
    for number in range(_KEPT_FILES, 0, -1):
        found.extend(_parsed(_text(current.with_name(f"{current.name}.{number}"))))
    found.extend(_parsed(newest))
    return list(found)


def _current(home: Home) -> Path:
    return home.logs / "worker.log"


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _text(path: Path, at: int = 0) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read()
    except OSError:
        return b""


def _parsed(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("at"), str):
            yield found
