"""Bringing mex.db to the version this code knows, in order, each step in one transaction (seed 004 §3.6, product B1)."""

import time
from importlib.resources import files

from mex_pipeline.clock import monotonic
from mex_pipeline.errors import DatabaseBusy, DatabaseDamaged, DatabaseNewer
from mex_pipeline.store.database import BUSY_SECONDS, Database
from mex_pipeline.store.sql import Query, value

VERSION = 6


def version(database: Database) -> int:
    """Return the file's structure version; 0 for an empty file."""
    found = database.first(Query("PRAGMA user_version", {}, value("user_version")))
    return int(found or 0)


def ensure_current(database: Database) -> bool:
    """Create the tables when the file is empty; return True when it was. A current file is only read, never written.

    Raises DatabaseNewer for a file of a later version and DatabaseDamaged for a file that is no meX database.
    """
    found = version(database)
    if found == VERSION:
        return False
    if found > VERSION:
        raise DatabaseNewer(path=str(database.path), found=found, known=VERSION)
    if found != 0:
        raise DatabaseDamaged("database_older", path=str(database.path), found=found, known=VERSION)
    if database.first(Query("SELECT name FROM sqlite_master LIMIT 1", {}, value("name"))) is not None:
        raise DatabaseDamaged("database_foreign", path=str(database.path))
    _use_wal(database)
    with database.transaction():
        if version(database) != 0:
            return False
        database.script((files(__package__) / "ddl" / "0006_initial.sql").read_text(encoding="utf-8"))
        database.script(f"PRAGMA user_version = {VERSION};")
    return True


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
