"""Taking over a file of the original meX: refused, or backed up and migrated (seed 004 §3.6, product B1).

A migration is one transaction: whatever ends it early leaves the file as it was.
"""

import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from mex_pipeline.clock import iso
from mex_pipeline.errors import DatabaseDamaged, ExternalError
from mex_pipeline.store import export, migrations, old_versions
from mex_pipeline.store.database import BUSY_SECONDS, Database

MIGRATION_SECONDS = 60
"""How long to wait for the write lock of an old file: whoever has it is probably migrating it, 5,000 memories a second."""


def take_over(database: Database) -> Path | None:
    """Migrate a file of an older version and return where its copy lies; None when another process was faster.

    Raises DatabaseDamaged for a file that is no meX database or too old, ExternalError as `ensure_current` says.
    """
    with database.snapshot():  # version and tables of one moment: another process may be migrating
        found = migrations.version(database)
        if found == migrations.VERSION:
            return None
        if not old_versions.is_original(database):
            raise DatabaseDamaged("database_foreign", path=str(database.path))
    if not old_versions.OLDEST <= found <= old_versions.NEWEST:
        facts = {"path": str(database.path), "found": found, "known": migrations.VERSION}
        raise DatabaseDamaged("database_older", **facts)
    return _migrate(database, found)


def _migrate(database: Database, found: int) -> Path | None:
    """Copy the old file and rewrite it, all under one write lock; None when another process was faster."""
    try:
        database.script(f"PRAGMA busy_timeout = {int(MIGRATION_SECONDS * 1000)};")
        migrations.use_wal(database)
        with database.transaction():
            if migrations.version(database) == migrations.VERSION:
                return None
            # A write that changes nothing: no copy of a file that then cannot be written.
            database.script(f"PRAGMA user_version = {found};")
            copy = _back_up(database, found)
            old = old_versions.read(database, found)
            old_versions.drop(database)
            migrations.make_tables(database)
            database.run(*old_versions.statements(old, iso(datetime.now(UTC))))
        return copy
    except ExternalError as error:
        if error.code == "database_unwritable":
            facts = {"path": str(database.path), "found": found, "known": migrations.VERSION}
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
            if migrations.one(read, question) != migrations.one(original, question):
                raise ExternalError("backup_failed", path=str(copy.parent), detail=question)


def _free_name(folder: Path, found: int) -> Path:
    stem = f"mex-v{found}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.db" for number in range(1, 1000))
    return next(name for name in names if not name.exists())
