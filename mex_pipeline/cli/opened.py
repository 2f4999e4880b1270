"""The home as a command opens it, and what is said about it on the way."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mex_pipeline import messages
from mex_pipeline.bootstrap import open_app, open_home
from mex_pipeline.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mex_pipeline.app import App, OpenHome


@contextmanager
def session() -> Iterator[App]:
    """Open the home for a command; a home that had to be made is told once, on stderr (product A3)."""
    with open_app(messages.active()) as app:
        _tell(app)
        for notice in app.notices:
            output.note(messages.text(f"note.{notice.code}", path=notice.path))
        yield app


@contextmanager
def home() -> Iterator[OpenHome]:
    """Open the home for a request, which needs no schema."""
    with open_home(messages.active()) as it:
        _tell(it)
        yield it


def _tell(it: OpenHome) -> None:
    if it.is_new:
        output.note(messages.text("note.home_made", path=it.home.root))
    for copy in it.migrated:
        output.note(messages.text("note.migrated", path=copy))
