"""Databases that `opencode` reads: whose tables they have, which sessions, how one stands and what it holds."""

import sqlite3
from pathlib import Path
from typing import Protocol

from mex_pipeline.adapters import foreign_db, opencode_go, opencode_tables
from mex_pipeline.adapters.opencode_shapes import Session
from mex_pipeline.adapters.port import Look
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable


class _Layout(Protocol):
    """A module that knows the tables of one program."""

    COLUMNS: dict[str, set[str]]

    def sessions(self, connection: sqlite3.Connection) -> list[str]: ...
    def look(self, connection: sqlite3.Connection, session: str) -> Look | None: ...
    def load(self, connection: sqlite3.Connection, session: str, path: Path) -> Session | None: ...


_LAYOUTS: tuple[_Layout, ...] = (opencode_tables, opencode_go)


def detect(path: Path) -> bool:
    """True when the database has the tables of a known layout; raises SourceGone, and SourceUnreadable when it is busy."""
    try:
        return foreign_db.read(path, _layout) is not None
    except SourceUnreadable as error:
        if error.code == "source_db_damaged":
            return False
        raise


def sessions(path: Path, adapter: str) -> list[str]:
    """Return the ids of the sessions, oldest first; raises SourceGone, SourceUnreadable, SourceFormat."""
    return foreign_db.read(path, lambda connection: _known(connection, path, adapter).sessions(connection))


def look(path: Path, session: str, adapter: str) -> Look:
    """Return how a session stands; raises SourceGone when it is not there, SourceUnreadable, SourceFormat."""
    found = foreign_db.read(path, lambda connection: _known(connection, path, adapter).look(connection, session))
    if found is None:
        raise SourceGone(path=f"{path}#{session}")
    return found


def load(path: Path, session: str, adapter: str) -> Session:
    """Return a session; raises as `look`, and SourceUnreadable (`source_too_large`), SourceFormat as its layout does."""
    found = foreign_db.read(path, lambda connection: _known(connection, path, adapter).load(connection, session, path))
    if found is None:
        raise SourceGone(path=f"{path}#{session}")
    return found


def _known(connection: sqlite3.Connection, path: Path, adapter: str) -> _Layout:
    layout = _layout(connection)
    if layout is None:
        raise SourceFormat(path=str(path), adapter=adapter)
    return layout


def _layout(connection: sqlite3.Connection) -> _Layout | None:
    """Return whose tables these are; views are none: what they would compute is the file's choice."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for layout in _LAYOUTS:
        if tables >= layout.COLUMNS.keys() and all(
            columns <= {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
            for table, columns in layout.COLUMNS.items()
        ):
            return layout
    return None
