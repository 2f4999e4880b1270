"""A home's beginning: what it lacks is made, what is there stays (product A3, A6)."""

import os
from collections.abc import Callable
from pathlib import Path

from mex_pipeline.errors import ExternalError
from mex_pipeline.paths import Home, write_private
from mex_pipeline.resources import shipped
from mex_pipeline.store import migrations
from mex_pipeline.store.database import Database


def initialise(
    home: Home, language: str, *, may_make_parents: bool = False, migrated: Callable[[Path], None] = lambda _: None
) -> tuple[Database, bool]:
    """Make whatever the home lacks (folders, config.yaml, schema.yaml, mex.db) and return (its database, it is new).

    Nothing that exists is changed, and a whole home that may only be read is left as it is and opened to be read
    (product P2); but a database of the original is migrated, and `migrated` told where its copy lies (product B1).
    Raises InvalidInput when the folder above is missing (product A6), unless `may_make_parents`.
    """
    if not may_make_parents:
        home.require_parent()
    is_read_only = home.database.exists() and not os.access(home.root, os.W_OK)
    if not is_read_only:
        home.make()
    try:
        if not home.config.exists():
            text = shipped("config.yaml").read_text(encoding="utf-8")
            marker = 'language: ""'
            write_private(home.config, text.replace(marker, f'language: "{language}"'.ljust(len(marker)), 1))
        if not home.schema.exists():
            write_private(home.schema, shipped("schema", f"{language}.yaml").read_text(encoding="utf-8"))
    except OSError as error:
        raise ExternalError("home_unwritable", path=str(home.root), detail=error.strerror or "") from error
    if home.database.is_dir():
        raise ExternalError("database_is_folder", path=str(home.database))
    database = Database.open_to_read(home.database) if is_read_only else Database.open(home.database)
    try:
        return database, migrations.ensure_current(database, migrated)
    except BaseException:
        database.close()
        raise
