"""Reading the past: history, what was known at a moment, what held then, what changed since (product B8, B11, E2).

Time travel is imported only by commands that ask for it; a plain query does not pay for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment, to_local
from mex_pipeline.domain import timeline
from mex_pipeline.domain.ids import require_prefix
from mex_pipeline.domain.memory import HistoryEntry, Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.timeline import Gone, Step
from mex_pipeline.errors import InvalidInput, NotFound
from mex_pipeline.services.profile import Past
from mex_pipeline.services.results import deleted_plain, memory_plain
from mex_pipeline.services.search import Dated, all_words, check_page
from mex_pipeline.store import history, memories
from mex_pipeline.store.database import Database

SINCE = "7d"
"""What `mex diff` looks back when nothing is said."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed between two moments (UTC ISO); `deleted` are the ids of what was deleted for good between them."""

    since: str
    until: str
    added: tuple[Memory, ...]
    changed: tuple[tuple[Memory, Memory], ...]
    gone: tuple[Gone, ...]
    deleted: tuple[str, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{since, until, added, changed: [{before, after}], gone: [{memory, reason}]}`."""
        gone = [{"memory": memory_plain(one.memory), "reason": one.reason} for one in self.gone]
        return {
            "since": self.since,
            "until": self.until,
            "added": [memory_plain(one) for one in self.added],
            "changed": [{"before": memory_plain(old), "after": memory_plain(new)} for old, new in self.changed],
            "gone": gone + [{"memory": deleted_plain(one), "reason": "deleted"} for one in self.deleted],
        }


def history_of(app: App, prefix: str) -> list[HistoryEntry]:
    """Return all that happened to one memory, oldest first, also when it has been deleted for good (seed 004 ADR-7).

    Raises NotFound for an id that neither the memories nor history know, and for a prefix of several.
    """
    wanted = require_prefix(prefix)
    with app.db.snapshot() as view:
        found = view.all(history.ids(wanted))
        if not found:
            raise NotFound("memory_not_found", id=prefix)
        if len(found) > 1:
            raise NotFound("ambiguous_id", id=prefix)
        return view.all(history.of_memory(found[0]))


def past(app: App, *, as_of: str | None = None, known_at: str | None = None) -> Past:
    """Return what held at a moment (`as_of`), by today's knowledge, or what was known then (`known_at`) (product B11).

    A date means its end, today's means now. What will be known is not known: a `known_at` to come is now. Raises
    InvalidInput for a time that is none, and for both at once.
    """
    if as_of is not None and known_at is not None:
        raise InvalidInput("as_of_and_known_at")
    at = _moment(app, as_of or known_at or "")
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        tracks = _tracks(view)
    if as_of is None:
        at = min(at, now)
    then = (timeline.known_at if as_of is None else timeline.as_of)(tracks, at)
    return Past(at, as_of is not None, then.memories, then.earlier)


def find(app: App, asked: Selection, then: Past, *, limit: int, offset: int) -> list[Memory]:
    """Return the memories of another time that are meant, the newest first."""
    check_page(limit, offset)
    found = _meant(app, asked, then.memories[::-1], then.at)
    return sorted(found, key=lambda one: one.created_at, reverse=True)[offset : offset + limit]


def find_with_superseded(app: App, asked: Selection, *, limit: int, offset: int) -> list[Dated]:
    """Return the memories that are meant, then the values that were replaced or retired, the last to end first.

    Seed 004 roadmap 2, product E2.
    """
    check_page(limit, offset)
    found = [Dated(one, is_superseded=False) for one in all_words(app, asked, limit=offset + limit)]
    found += [Dated(one, is_superseded=True) for one in _superseded(app, asked)]
    return found[offset : offset + limit]


def _superseded(app: App, asked: Selection) -> list[Memory]:
    with app.db.snapshot() as view:
        values = timeline.superseded(_tracks(view, view.all(history.with_other_values())))
    found = _meant(app, asked, tuple(values[::-1]), "")
    return sorted(found, key=lambda one: one.valid_to or "", reverse=True)


def _meant(app: App, asked: Selection, values: tuple[Memory, ...], at: str) -> list[Memory]:
    found = [one for one in values if asked.holds(one, at)]
    if asked.project is None:
        return found
    ids = set(app.db.all(memories.in_project(asked.project)))
    return [one for one in found if one.id in ids]


def difference(app: App, *, since: str | None = None, until: str | None = None) -> Changed:
    """Return what changed of what is known, from `since` (a date: its beginning) to `until` (its end; else now).

    Raises InvalidInput for a time that is none, and for a `since` after `until`.
    """
    moment = app.clock.now()
    now = iso(moment)
    start = iso(parse_moment(SINCE if since is None else since, moment))
    end = now if until is None else min(now, iso(parse_moment(until, moment, end_of_day=True)))
    if start > end:
        raise InvalidInput("since_after_until", since=to_local(start), until=to_local(end))
    with app.db.snapshot() as view:
        tracks = _tracks(view, view.all(history.changed(start, end)))
        deleted = view.all(history.deleted(start, end))
    old, new = (timeline.known_at(tracks, at) for at in (start, end))
    found = timeline.difference(old, new, start, end)
    return Changed(start, end, found.added, found.changed, found.gone, tuple(deleted))


def _tracks(view: Database, ids: Sequence[str] | None = None) -> list[list[Step]]:
    """Return the steps of the memories with these ids, of all without them."""
    if ids is None:
        return timeline.tracks(view.all(memories.every()), view.all(history.every()))
    return timeline.tracks(view.all(memories.by_ids(ids)), view.all(history.of_memories(ids)))


def _moment(app: App, text: str) -> str:
    now = app.clock.now()
    is_today = text.strip() == now.astimezone().date().isoformat()
    return iso(now if is_today else parse_moment(text, now, end_of_day=True))
