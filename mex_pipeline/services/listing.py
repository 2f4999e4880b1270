"""Memories by the page: list (seed 004 §5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mex_pipeline.clock import iso
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.bounds import MAX_NUMBER, folder
from mex_pipeline.store import search

if TYPE_CHECKING:
    from mex_pipeline.app import App
    from mex_pipeline.domain.memory import Memory


class Page(NamedTuple):
    """Some memories of a list, and how many there are in all."""

    memories: tuple[Memory, ...]
    total: int
    offset: int


def page(
    app: App,
    *,
    topic: str | None = None,
    sub_topic: str | None = None,
    include_forgotten: bool = False,
    project: str | None = None,
    limit: int | None = 10,
    offset: int = 0,
) -> Page:
    """Return one page of memories, newest created first; `limit` None or 0 means all (seed 004 §5.1)."""
    if sub_topic is not None and topic is None:
        raise InvalidInput("sub_topic_without_topic")
    if not 0 <= offset <= MAX_NUMBER or (limit is not None and not 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)
    now = iso(app.clock.now())
    asked = Selection(
        topic=topic,
        sub_topic=sub_topic,
        include_forgotten=include_forgotten,
        project=None if project is None else folder(project),
    )
    with app.db.snapshot() as view:
        rows = view.all(search.find(now, asked, limit=limit or -1, offset=offset))
        total = view.first(search.count(now, asked))
    return Page(tuple(rows), total or 0, offset)
