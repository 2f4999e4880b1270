"""Reading another program's SQLite database: without a trace, and without getting in its way (session-formats §2).

What opening in place leaves behind was measured with SQLite 3.40. A plain `mode=ro` writes into `-shm`, and creates it
and `-wal` where they are missing; `immutable=1` touches nothing, but sees nothing of a `-wal` and takes no lock; with
`readonly_shm=1` a `-wal` is read through the `-shm` that is there, whether its owner lives or was killed.
"""

import errno
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mex_pipeline.adapters.files import opened
from mex_pipeline.errors import SourceGone, SourceUnreadable

BUSY_SECONDS = 2.0
"""How long an owner's lock is waited for."""

_ATTEMPTS = 5
_MAGIC = b"SQLite format 3\0"
_WAL = 2
"""What byte 18 of a database in WAL mode says; 1 is a rollback journal."""
_IMMUTABLE, _IN_PLACE = "immutable=1", "mode=ro&readonly_shm=1"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NEEDS_WRITING = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL)
"""What SQLite says where a database can only be read after something was written: a recovery, a rollback."""
_door = threading.Lock()
"""One reader at a time: closing any descriptor of a file drops all locks that the process has on it."""

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


def is_database(path: Path) -> bool:
    """True when the file begins like an SQLite database; raises SourceGone, SourceUnreadable."""
    with _door:
        return _head(path).startswith(_MAGIC)


def read(path: Path, work: Work[T]) -> T:
    """Return what `work` makes of the database, inside one read transaction; it should be short.

    `work` runs once more when the owner wrote meanwhile and no lock could keep it from that. The file, its `-wal`,
    `-shm` and `-journal`, and their folder stay as they are: bytes, times of change, names. Where that is not possible
    in place (`-wal` without `-shm`, a transaction that was never finished, a folder that may not be written), a copy
    in a private temporary folder is read; it costs the disk, not the memory, and is removed also on error.
    Raises SourceGone(`path`), SourceUnreadable: with `path`, `detail` as the system refuses; `source_busy` (`path`)
    when the owner keeps it locked for longer than BUSY_SECONDS, or did not stop writing; `source_db_damaged` (`path`)
    for what SQLite cannot read.
    """
    with _door:
        for _ in range(_ATTEMPTS):
            before = _State.of(path)
            try:
                result = _read(path, before, work)
            except sqlite3.Error as error:
                if _code(error) in _LOCKED or _State.of(path) == before:
                    raise _told(path, error) from error
                continue  # the owner wrote while nothing locked it out
            if before.query != _IMMUTABLE or _State.of(path) == before:
                return result
    raise SourceUnreadable("source_busy", path=str(path))


@dataclass(frozen=True, slots=True)
class _State:
    """How a database stands on the disk: (inode, bytes, time of change in ns) of its files, and its journal mode."""

    main: tuple[int, int, int]
    wal: tuple[int, int, int] | None
    journal: tuple[int, int, int] | None
    has_shm: bool
    is_wal: bool

    @classmethod
    def of(cls, path: Path) -> "_State":
        main = _stat(path)
        if main is None:
            raise SourceGone(path=str(path))
        wal, journal, shm = (_stat(_beside(path, name)) for name in ("-wal", "-journal", "-shm"))
        return cls(
            main=main,
            wal=wal if wal and wal[1] else None,
            journal=journal if journal and journal[1] else None,
            has_shm=shm is not None,
            is_wal=_head(path)[18:19] == bytes([_WAL]),
        )

    @property
    def query(self) -> str | None:
        """How the database can be opened where it is, or None when only a copy can be read."""
        if not self.is_wal:
            return _IN_PLACE
        if self.wal is None and self.journal is None:
            return _IMMUTABLE
        return _IN_PLACE if self.has_shm and self.journal is None else None


def _read(path: Path, state: _State, work: Work[T]) -> T:
    if state.query is not None:
        try:
            return _run(f"{path.absolute().as_uri()}?{state.query}", work)
        except sqlite3.OperationalError as error:
            if _code(error) not in _NEEDS_WRITING:
                raise
    with _copied(path, state) as copy:
        if _State.of(path) != state:
            raise sqlite3.OperationalError  # torn: written while it was copied
        return _run(copy.as_uri(), work)


def _run(uri: str, work: Work[T]) -> T:
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.text_factory = _text
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        return work(connection)


@contextmanager
def _copied(path: Path, state: _State) -> Iterator[Path]:
    """Yield a copy that SQLite may recover; what it does not need (`-shm`) is left out."""
    import shutil  # noqa: PLC0415 - 5 ms with the next that a request for a job does not need
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="mex-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            shutil.copyfile(path, copy)
            for name, there in (("-wal", state.wal), ("-journal", state.journal)):
                if there:
                    shutil.copyfile(_beside(path, name), _beside(copy, name))
        except FileNotFoundError as error:
            raise sqlite3.OperationalError from error  # the owner put it away
        except OSError as error:
            raise SourceUnreadable(path=str(path), detail=error.strerror or "") from error
        yield copy


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _head(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(100)


def _stat(path: Path) -> tuple[int, int, int] | None:
    """Return what tells one state of a file from another, None where there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise SourceUnreadable(path=str(path), detail=error.strerror or "") from error
    if not stat.S_ISREG(found.st_mode):
        raise SourceUnreadable(path=str(path), detail=os.strerror(errno.EINVAL))
    return found.st_ino, found.st_size, found.st_mtime_ns


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _told(path: Path, error: sqlite3.Error) -> SourceUnreadable:
    if _code(error) in _LOCKED:
        return SourceUnreadable("source_busy", path=str(path))
    if _code(error) in _BROKEN:
        return SourceUnreadable("source_db_damaged", path=str(path))
    return SourceUnreadable(path=str(path), detail=str(error))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
