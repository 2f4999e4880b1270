"""The journal of all changes, newest first, as `mex log` shows it (product B8, H13)."""

from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment, to_local
from mex_pipeline.domain.memory import Actor, HistoryEntry
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.bounds import MAX_NUMBER
from mex_pipeline.services.results import history_plain
from mex_pipeline.services.undo import named
from mex_pipeline.store import history
from mex_pipeline.store.history import Filter


@dataclass(frozen=True, slots=True)
class Logged:
    """One change: its line of history, and the agent and session whose words its job read, where a job made it."""

    line: HistoryEntry
    agent: str | None
    session_id: str | None

    @property
    def place(self) -> tuple[str | None, str | None]:
        """(topic, sub_topic) after the change; of what was forgotten for good nobody knows."""
        state = self.line.after or self.line.before or {}
        return state.get("topic"), state.get("sub_topic")

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the line of history without states, `topic`, `sub_topic`, `agent` and `session_id`."""
        topic, sub_topic = self.place
        said = {"agent": self.agent, "session_id": self.session_id}
        return history_plain(self.line) | {"topic": topic, "sub_topic": sub_topic} | said


def page(
    app: App,
    *,
    since: str | None = None,
    until: str | None = None,
    job: str | None = None,
    topic: str | None = None,
    actor: Actor | None = None,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Logged], bool]:
    """Return one page of the changes that are meant, newest first, and whether older ones follow; `limit` 0 means all.

    `topic` means memories that are in it now, `job` a job or a batch. Raises InvalidInput for a time or number that is
    none (`since_after_until`, `number_out_of_range`), InvalidSlot for an unknown topic that holds nothing, NotFound for
    an unknown job.
    """
    if not (0 <= limit <= MAX_NUMBER and 0 <= offset <= MAX_NUMBER):
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)
    now = app.clock.now()
    start = None if since is None else iso(parse_moment(since, now))
    end = None if until is None else iso(parse_moment(until, now, end_of_day=True))
    if start is not None and end is not None and start > end:
        raise InvalidInput("since_after_until", since=to_local(start), until=to_local(end))
    wanted = Filter(None if job is None else named(app, job), topic, actor, start, end)
    found = app.db.all(history.journal(wanted, limit=limit + 1 if limit else -1, offset=offset))
    if not found and topic is not None:
        app.schema.locate(topic, None)
    kept = found[:limit] if limit else found
    return [Logged(*one) for one in kept], len(found) > len(kept)
