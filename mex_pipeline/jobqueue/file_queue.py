"""The queue as a file, `queue.db`: not synced to disk, and replaced when it is gone or broken."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from huey import SqliteHuey
from huey.storage import SqliteStorage

from mex_pipeline.jobqueue.envelope import Envelope

LOOK_SECONDS = 1.0
"""How often a thread looks into the file unasked: another worker of the home may have left something there."""
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def _primary(error: sqlite3.Error | None) -> int:
    """The primary code of an error of SQLite, which says what happened without its words; 0 when there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


class _Storage(SqliteStorage):
    """At most one message for a job and a priority: what waits for long is sent again each minute."""

    ddl = (*SqliteStorage.ddl, "CREATE UNIQUE INDEX IF NOT EXISTS task_once ON task (queue, data)")

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a message behind those of its priority; one that is there already keeps its place."""
        row = (self.name, self.to_blob(data), priority or 0)
        self.sql("INSERT OR IGNORE INTO task (queue, data, priority) VALUES (?, ?, ?)", row, commit=True)


class FileQueue(SqliteHuey):
    """A queue that heals: what SQLite cannot read any more is dropped and made anew; `on_lost` is called then."""

    storage_class = _Storage

    def __init__(self, path: Path, on_lost: Callable[[], None]) -> None:
        self._path = path
        self._on_lost = on_lost
        self._healing = threading.Lock()
        self._may_have = True
        self._looks_at = float("-inf")
        super().__init__(
            "mex",
            filename=str(path),
            results=False,
            fsync=False,
            timeout=2,
            # WAL keeps shared memory in a file, and a process whose shared memory is cut off dies of SIGBUS.
            journal_mode="truncate",
            # A broken file must not fail the construction: `open` makes or replaces it.
            create_tables=False,
            serializer=Envelope(),
        )

    def open(self, *, fresh: bool) -> None:
        """Make the file usable; `fresh` empties it, for a process that is the only one to read it."""
        try:
            self.storage.initialize_schema()
            if self.storage.sql("PRAGMA quick_check", results=True)[0][0] != "ok":
                raise sqlite3.DatabaseError("quick_check")
            if fresh:
                self.flush()
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):  # a full disk: `dequeue` and `send` heal it when there is room
                self._replace()

    def dequeue(self) -> Any:
        """Return the next wake-up, None when there is none; raises while the file is locked, full, or cannot be replaced.

        The file is read when this process has put something in, and once a second: an idle worker costs next to nothing.
        """
        if not self._may_have and time.monotonic() < self._looks_at:
            return None
        self._may_have = False  # before the look: what is sent from now on says so again
        self._looks_at = time.monotonic() + LOOK_SECONDS
        try:
            found = super().dequeue()
        except ValueError:
            self._may_have = True
            return None  # a foreign message: it is gone from the queue, and no job depended on it
        except sqlite3.DatabaseError as error:
            if _primary(error) in _PASSING:
                self._may_have = True
                raise  # Huey waits and asks again
            self.heal(error)
            return None
        if found is not None:  # never set to False here: a message may have been sent meanwhile
            self._may_have = True
        return found

    def send(self, task: Any) -> bool:
        """Put a wake-up into the file, made anew first when it is gone or broken; False when that failed."""
        try:
            if not self._path.exists():
                self.heal()
            self.enqueue(task)
        except sqlite3.DatabaseError as error:
            with suppress(sqlite3.Error, OSError):
                self.heal(error)
            return False
        self._may_have = True
        return True

    def heal(self, error: sqlite3.Error | None = None) -> None:
        """Replace a file that cannot be read, and have everything published again."""
        with self._healing:
            # A connection whose file was exchanged still reads the old one, and may not write it.
            was_exchanged = _primary(error) == sqlite3.SQLITE_READONLY
            if was_exchanged:
                self.storage.close()  # the next use opens what is there now
            if not self._is_usable():
                self._replace()
            elif not was_exchanged:
                return  # another thread was faster, or the file was only locked
        self._on_lost()

    def _is_usable(self) -> bool:
        try:
            self.storage.sql("SELECT count(*) FROM task", results=True)
        except sqlite3.DatabaseError:
            return False
        return os.access(self._path, os.W_OK)

    def _replace(self) -> None:
        self.storage.close()
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        self.storage.initialize_schema()

    def close(self) -> None:
        """Close the file."""
        self.storage.close()
