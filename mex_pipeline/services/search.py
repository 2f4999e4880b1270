"""Finding memories by words, slot and time, without a model or a network (seed 004 §5.1, product B2, P2)."""

from dataclasses import dataclass, replace
from pathlib import Path

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.query import Moment, joined, parse
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import InvalidInput
from mex_pipeline.store import search

MAX_LIMIT = 1000
MAX_NUMBER = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Dated:
    """A hit of a search through all times: a memory, or a value that was replaced or retired, with its dates."""

    memory: Memory
    is_superseded: bool


def wanted(
    app: App,
    *,
    query: str | None = None,
    keyword: str | None = None,
    topic: str | None = None,
    sub_topic: str | None = None,
    since: str | None = None,
    until: str | None = None,
    include_forgotten: bool = False,
    project: str | None = None,
) -> Selection:
    """Return the conditions as people give them: `query` with operators (domain/query.py), everything else literal.

    `since` and `until` take local dates, date-times and spans (`7d`); a blank keyword counts as none. Raises InvalidInput.
    """
    moment = _moments(app)
    given = Selection(
        topic=topic,
        sub_topic=sub_topic,
        since=None if since is None else moment(since),
        until=None if until is None else moment(until, end_of_day=True),
    )
    asked = joined(parse(query or "", moment), given)
    if asked.sub_topic is not None and asked.topic is None:
        raise InvalidInput("sub_topic_without_topic")
    return replace(
        asked,
        keyword=(keyword or "").strip() or None,
        include_forgotten=include_forgotten,
        project=None if project is None else folder(project),
    )


def find(app: App, asked: Selection, *, limit: int = 50, offset: int = 0) -> list[Memory]:
    """Return the memories that are meant, the best or newest first; raises InvalidInput for numbers out of range."""
    check_page(limit, offset)
    return app.db.all(search.find(iso(app.clock.now()), asked, limit=limit, offset=offset))


def check_page(limit: int, offset: int) -> None:
    """Raise InvalidInput for a page that cannot be asked for."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=MAX_LIMIT)
    if not 0 <= offset <= MAX_NUMBER:
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)


def folder(project: str) -> str:
    """Return a project's folder as sources name it: absolute, `.` and links resolved; "" for the root."""
    return str(Path(project).expanduser().resolve()).rstrip("/")


def _moments(app: App) -> Moment:
    now = app.clock.now()

    def moment(text: str, *, end_of_day: bool = False) -> str:
        return iso(parse_moment(text, now, end_of_day=end_of_day))

    return moment
