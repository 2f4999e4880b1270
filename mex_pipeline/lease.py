"""Liveness by file lock: the kernel drops it when its process dies, however it dies (docs/jobs.md).

A lock is never taken on a database file: closing any descriptor of one would drop SQLite's own locks.
"""

import os
from pathlib import Path

from mex_pipeline.paths import PRIVATE_FILE

try:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

except ImportError:  # Windows
    import msvcrt

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001 - there is only one kind
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True


class FileLock:
    """An exclusive lock on one small file, held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another process holds it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        if _try_lock(descriptor):
            self._descriptor = descriptor
            return True
        os.close(descriptor)
        return False

    def note(self, text: str) -> None:
        """Write a line into the held file; it informs people, nothing decides by it."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(path: Path) -> bool:
    """True when a live process holds the lock file at `path`. Shared, so that two who ask do not see each other."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


class Owner:
    """This process as an owner of jobs: a fresh name and a lock file that tells whether it lives."""

    def __init__(self, run: Path) -> None:
        self.name = os.urandom(6).hex()
        self._path = run / f"{self.name}.lock"
        self._lock = FileLock(self._path)
        self._lock.acquire()

    def close(self) -> None:
        """Stop being an owner: whatever it still had running counts as abandoned."""
        self._path.unlink(missing_ok=True)
        self._lock.release()


def is_alive(run: Path, owner: str) -> bool:
    """True while the process that made this owner lives; a dead owner's lock file is removed."""
    path = run / f"{owner}.lock"
    if is_held(path):
        return True
    path.unlink(missing_ok=True)
    return False
