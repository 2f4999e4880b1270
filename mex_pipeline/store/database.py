"""The synchronous gateway to mex.db: it runs Query and Statement values over sqlite3 (seed 004 §4.3)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self, TypeVar

from mex_pipeline import faults
from mex_pipeline.errors import DatabaseBusy, DatabaseDamaged, ExternalError, InvalidInput, MexError
from mex_pipeline.store.functions import FUNCTIONS
from mex_pipeline.store.sql import Query, Statement, groups

T = TypeVar("T")

BUSY_SECONDS = faults.seconds("MEX_TEST_BUSY", 5.0)
# FULL, so that a printed job id and a commit survive a power cut (product D6).
PRAGMAS = "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;"


FAILURES = (sqlite3.Error, ValueError)
"""What a statement may raise: what SQLite reports, a value that is no Unicode text (an argument in another encoding), and
what decoding meets in a row that another hand wrote (JSON that is none, an unknown tier)."""


def translated(error: sqlite3.Error | ValueError, path: str) -> MexError:
    """Return the MexError for a failure: a value that is no text, a busy, full or read-only disk, a damaged file."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("not_unicode")
    if isinstance(error, ValueError):
        return DatabaseDamaged(path=path, detail=type(error).__name__)  # its text may hold what was stored
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
        return ExternalError("internal", kind=type(error).__name__)  # our fault, not the file's
    text = str(error)
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in text or "busy" in text:
            return DatabaseBusy(path=path)
        if "disk i/o error" in text:
            return ExternalError("disk_error", path=path)
        if "full" in text:
            return ExternalError("disk_full", path=path)
        if "readonly" in text or "unable to open" in text:
            return ExternalError("database_unwritable", path=path)
    return DatabaseDamaged(path=path, detail=text)


class Database:
    """One connection, opened for one command or one thread. Reads never take a lock that a writer could wait for."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return a gateway to the file at `path`; raises DatabaseDamaged or ExternalError("database_unwritable")."""
        try:
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise translated(error, str(path)) from error
        connection.row_factory = sqlite3.Row
        for function in FUNCTIONS:
            connection.create_function(*function, deterministic=True)
        try:
            connection.executescript(PRAGMAS)
        except sqlite3.Error as error:
            connection.close()
            raise translated(error, str(path)) from error
        return cls(connection, path)

    @classmethod
    def open_to_read(cls, path: Path) -> Self:
        """Return a gateway to a file that cannot be written, as it stands; nothing beside it is made.

        Raises ExternalError("database_unwritable") while the WAL still holds what the file lacks.
        """
        wal = path.with_name(path.name + "-wal")
        if wal.exists() and wal.stat().st_size:
            raise ExternalError("database_unwritable", path=str(path))
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None)
        connection.row_factory = sqlite3.Row
        for function in FUNCTIONS:
            connection.create_function(*function, deterministic=True)
        return cls(connection, path)

    @property
    def path(self) -> Path:
        """The file behind this gateway."""
        return self._path

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and COMMIT."""
        return self._connection.in_transaction

    def all(self, query: Query[T]) -> list[T]:
        """Return every decoded row."""
        try:
            return [query.decode(row) for row in self._connection.execute(query.sql, dict(query.params)).fetchall()]
        except FAILURES as error:
            raise translated(error, str(self._path)) from error

    def first(self, query: Query[T]) -> T | None:
        """Return the first decoded row, or None."""
        rows = self.all(query)
        return rows[0] if rows else None

    def run(self, *statements: Statement) -> int:
        """Run the statements in order and return the number of rows the last group changed."""
        changed = 0
        try:
            for sql, params in groups(statements):
                changed = self._connection.executemany(sql, params).rowcount
        except FAILURES as error:
            raise translated(error, str(self._path)) from error
        return changed

    @contextmanager
    def any_text(self) -> Iterator[None]:
        """Read text that is no UTF-8 too, what cannot be decoded as U+FFFD: other hands wrote the files of the original."""
        strict = self._connection.text_factory
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            yield
        finally:
            self._connection.text_factory = strict

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Hold the write lock: commit when the block ends, roll back on anything that leaves it, cancellation included."""
        with self._block("BEGIN IMMEDIATE"):
            yield self

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """See one state of the file across several reads, without any lock a writer would wait for."""
        with self._block("BEGIN"):
            yield self

    @contextmanager
    def _block(self, begin: str) -> Iterator[None]:
        try:
            self._connection.execute(begin)
        except sqlite3.Error as error:
            raise translated(error, str(self._path)) from error
        try:
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error, str(self._path)) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def script(self, sql: str) -> None:
        """Run DDL or pragmas; only migrations and the checkpoint use it."""
        try:
            for statement in _statements(sql):
                self._connection.execute(statement)
        except sqlite3.Error as error:
            raise translated(error, str(self._path)) from error

    def image(self) -> bytes:
        """Return every page of the file, free ones too, as this connection sees them.

        SQLite hands them out itself: closing a descriptor of our own would drop the locks it holds on the file (POSIX).
        """
        try:
            return self._connection.serialize()
        except sqlite3.Error as error:
            raise translated(error, str(self._path)) from error

    @contextmanager
    def copied(self) -> Iterator[Self]:
        """A copy of the file in memory, as it stands: for a check that writes, while nobody waits for it."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            try:
                self._connection.backup(copy)
            except sqlite3.Error as error:
                raise translated(error, str(self._path)) from error
            yield type(self)(copy, self._path)

    def data_version(self) -> int:
        """Return a number that changes when another connection commits (3 µs: cheap enough for every tick)."""
        try:
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error as error:
            raise translated(error, str(self._path)) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _statements(script: str) -> Iterator[str]:
    """Split a script at complete statements; executescript would commit the migration's transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
