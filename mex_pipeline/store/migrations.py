"""Bringing mex.db to the version this code knows: made, refused, or handed to store/takeover.py (seed 004 §3.6, product B1)."""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mex_pipeline.clock import monotonic
from mex_pipeline.errors import DatabaseBusy, DatabaseNewer
from mex_pipeline.store.database import BUSY_SECONDS, Database
from mex_pipeline.store.sql import Query, value

FIRST, VERSION = 6, 10
_DDL = {
    6: "0006_initial.sql",
    7: "0007_queue.sql",
    8: "0008_kept_turns.sql",
    9: "0009_trust.sql",
    10: "0010_search.sql",
}
"""What each version of ours adds; a file that has landed is final (product H14)."""

Told = Callable[[Path], None]
"""What is told of the copy of the old file, once a migration is through."""


def version(database: Database) -> int:
    """Return the file's structure version; 0 for an empty file."""
    return database.first(version_query()) or 0


def version_query() -> Query[int]:
    """The file's structure version, for a look inside a transaction of either gateway."""
    return Query("PRAGMA user_version", {}, value("user_version"))


def refuse_newer(found: int | None, path: Path) -> None:
    """Raise DatabaseNewer for a structure that a later version of meX has made."""
    if found is not None and found > VERSION:
        raise DatabaseNewer(path=str(path), found=found, known=VERSION)


def ensure_current(database: Database, told: Told = lambda _: None) -> bool:
    """Create the tables when the file is empty; return True when it was. A current file is only read, never written.

    A file of the original (versions 2 to 5) is copied into `backups/` beside it and migrated, and `told` of the copy.
    Raises DatabaseNewer for a file of a later version and DatabaseDamaged for a file that is no meX database, both
    untouched; ExternalError (`database_older_unwritable`, `backup_failed`) when an old file cannot be migrated here.
    """
    found = version(database)
    if found == VERSION:
        return False
    if FIRST <= found < VERSION:
        _step_up(database)
        return False
    refuse_newer(found, database.path)
    if found == 0 and one(database, "SELECT name FROM sqlite_master LIMIT 1") is None:
        return _create(database)
    # Only a file of another version pays for what reads it.
    copy: Path | None = import_module("mex_pipeline.store.takeover").take_over(database)
    if copy is not None:
        told(copy)
    return False


def _create(database: Database) -> bool:
    use_wal(database)
    with database.transaction():
        if version(database) != 0:
            return False
        make_tables(database)
    return True


def make_tables(database: Database) -> None:
    """Make the tables of this version; runs in the transaction of the caller."""
    _apply(database, range(FIRST, VERSION + 1))


def _step_up(database: Database) -> None:
    """Bring a file of an earlier version of ours up to this one, in one transaction."""
    with database.transaction():
        _apply(database, range(version(database) + 1, VERSION + 1))


def _apply(database: Database, versions: range) -> None:
    for one_version in versions:
        database.script((Path(__file__).parent / "ddl" / _DDL[one_version]).read_text(encoding="utf-8"))
    database.script(f"PRAGMA user_version = {VERSION};")


def one(database: Database, sql: str) -> Any:
    """Return the only column of the first row, None when there is no row."""
    return database.first(Query(sql, {}, lambda row: next(iter(dict(row).values()))))


def use_wal(database: Database) -> None:
    """Switch the file to WAL. Here SQLite does not wait while another process does the same, so it is asked again."""
    deadline = monotonic() + BUSY_SECONDS
    while True:
        try:
            database.script("PRAGMA journal_mode = WAL;")
        except DatabaseBusy:
            if monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return
