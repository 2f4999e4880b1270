"""Finding memories by words, slot and time, without a model or a network (seed 004 §5.1, product B2, P2)."""

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import InvalidInput
from mex_pipeline.store import search

MAX_LIMIT = 1000


def find(
    app: App,
    *,
    keyword: str | None = None,
    topic: str | None = None,
    sub_topic: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
) -> list[Memory]:
    """Return the memories that match every given condition, the best or newest first.

    `since` and `until` take local dates, date-times and spans (`7d`). A blank keyword counts as none. Raises InvalidInput.
    """
    if sub_topic is not None and topic is None:
        raise InvalidInput("sub_topic_without_topic")
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=MAX_LIMIT)
    now = app.clock.now()
    return app.db.all(
        search.find(
            iso(now),
            Selection(
                keyword=(keyword or "").strip() or None,
                topic=topic,
                sub_topic=sub_topic,
                since=iso(parse_moment(since, now)) if since else None,
                until=iso(parse_moment(until, now, end_of_day=True)) if until else None,
            ),
            limit=limit,
        )
    )
