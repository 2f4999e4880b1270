"""Bringing mex.db to the version this code knows: made, refused, or backed up and migrated (seed 004 §3.6, product B1).

A migration is one transaction: whatever ends it early leaves the file as it was.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from mex_pipeline.clock import iso, monotonic
from mex_pipeline.errors import DatabaseBusy, DatabaseDamaged, DatabaseNewer, ExternalError
from mex_pipeline.store import export, old_versions
from mex_pipeline.store.database import BUSY_SECONDS, Database
from mex_pipeline.store.sql import Query

VERSION = 6
MIGRATION_SECONDS = 60
"""How long to wait for the write lock of an old file: whoever has it is probably migrating it, 5,000 memories a second."""

Told = Callable[[Path], None]
"""What is told of the copy of the old file, once a migration is through."""


def version(database: Database) -> int:
    """Return the file's structure version; 0 for an empty file."""
    return int(_one(database, "PRAGMA user_version") or 0)


def ensure_current(database: Database, told: Told = lambda _: None) -> bool:
    """Create the tables when the file is empty; return True when it was. A current file is only read, never written.

    A file of the original (versions 2 to 5) is copied into `backups/` beside it and migrated, and `told` of the copy.
    Raises DatabaseNewer for a file of a later version and DatabaseDamaged for a file that is no meX database, both
    untouched; ExternalError (`database_older_unwritable`, `backup_failed`) when an old file cannot be migrated here.
    """
    found = version(database)
    if found == VERSION:
        return False
    if found > VERSION:
        raise DatabaseNewer(path=str(database.path), found=found, known=VERSION)
    if found == 0 and _one(database, "SELECT name FROM sqlite_master LIMIT 1") is None:
        return _create(database)
    if not old_versions.is_original(database):
        raise DatabaseDamaged("database_foreign", path=str(database.path))
    if not old_versions.OLDEST <= found <= old_versions.NEWEST:
        raise DatabaseDamaged("database_older", path=str(database.path), found=found, known=VERSION)
    copy = _migrate(database, found)
    if copy is not None:
        told(copy)
    return False


def _create(database: Database) -> bool:
    _use_wal(database)
    with database.transaction():
        if version(database) != 0:
            return False
        _make_tables(database)
    return True


def _make_tables(database: Database) -> None:
    database.script((files(__package__) / "ddl" / "0006_initial.sql").read_text(encoding="utf-8"))
    database.script(f"PRAGMA user_version = {VERSION};")


def _migrate(database: Database, found: int) -> Path | None:
    """Copy the old file and rewrite it, all under one write lock; None when another process was faster."""
    try:
        database.script(f"PRAGMA busy_timeout = {int(MIGRATION_SECONDS * 1000)};")
        _use_wal(database)
        with database.transaction():
            if version(database) == VERSION:
                return None
            # A write that changes nothing: no copy of a file that then cannot be written.
            database.script(f"PRAGMA user_version = {found};")
            copy = _back_up(database, found)
            old = old_versions.read(database, found)
            old_versions.drop(database)
            _make_tables(database)
            database.run(*old_versions.statements(old, iso(datetime.now(UTC))))
        return copy
    except ExternalError as error:
        if error.code == "database_unwritable":
            facts = {"path": str(database.path), "found": found, "known": VERSION}
            raise ExternalError("database_older_unwritable", **facts) from error
        raise
    finally:
        database.script(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)};")


def _back_up(database: Database, found: int) -> Path:
    """Return a checked copy of the file in `backups/`, private to its owner; an earlier one is never overwritten.

    Called under the write lock: no other process writes the database or makes such a copy meanwhile.
    """
    folder = database.path.with_name("backups")
    unfinished = folder / f"mex-v{found}.part"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        unfinished.unlink(missing_ok=True)  # of a process that died here
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        export.copy_file(database.path, unfinished)
        _verify(unfinished, database)
        return unfinished.rename(_free_name(folder, found))
    except OSError as error:
        raise ExternalError("backup_failed", path=str(folder), detail=error.strerror or "") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _verify(copy: Path, original: Database) -> None:
    with closing(Database.open_to_read(copy)) as read:
        if (fault := read.first(export.quick_check())) != "ok":
            raise DatabaseDamaged(path=str(original.path), detail=fault)
        for question in ("PRAGMA user_version", *(f"SELECT count(*) FROM {one}" for one in ("memories", "history"))):
            if _one(read, question) != _one(original, question):
                raise ExternalError("backup_failed", path=str(copy.parent), detail=question)


def _free_name(folder: Path, found: int) -> Path:
    stem = f"mex-v{found}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.db" for number in range(1, 1000))
    return next(name for name in names if not name.exists())


def _one(database: Database, sql: str) -> Any:
    """Return the only column of the first row, None when there is no row."""
    return database.first(Query(sql, {}, lambda row: next(iter(dict(row).values()))))


def _use_wal(database: Database) -> None:
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
