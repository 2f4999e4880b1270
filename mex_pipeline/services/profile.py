"""The profile, as an agent puts it into its context (seed 004 §6.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import from_iso, iso
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.profile import explain, fit
from mex_pipeline.domain.profile import project as project_view
from mex_pipeline.domain.render import profile_text
from mex_pipeline.domain.view import Weighed
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.search import MAX_NUMBER, folder
from mex_pipeline.store import history, memories, search
from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class Profile:
    """The text, its estimated tokens and the budget; where asked for, each line that is shown or not, and why."""

    text: str
    tokens: int
    max_tokens: int
    lines: tuple[Weighed, ...] = ()

    def explained_plain(self) -> dict[str, Any]:
        """Return the JSON keys of the explanation: `kept`, `cut`, `tokens`, `max_tokens` (product E1)."""
        kept = [_weighed_plain(one) for one in self.lines if one.reason is None]
        cut = [_weighed_plain(one) | {"reason": one.reason} for one in self.lines if one.reason is not None]
        return {"kept": kept, "cut": cut, "tokens": self.tokens, "max_tokens": self.max_tokens}


def _weighed_plain(line: Weighed) -> dict[str, Any]:
    memory = line.memory
    shape = {key: getattr(memory, key) for key in ("id", "topic", "sub_topic", "content", "confidence")}
    return shape | {"tokens": line.tokens}


@dataclass(frozen=True, slots=True)
class Past:
    """The memories of another moment `at` (UTC ISO), in the order of their rows; services/timeline.py makes it.

    By validity a record's time is when it was said, by knowledge when it was learned (product B11). `earlier` as in
    `domain.profile.project`.
    """

    at: str
    by_validity: bool
    memories: tuple[Memory, ...]
    earlier: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The key of the moment in JSON."""
        return "as_of" if self.by_validity else "known_at"

    def records_since(self, since: str) -> list[Memory]:
        """Return the records of that time, newest first."""
        dated = [(one.valid_from if self.by_validity else one.created_at, one) for one in self.memories[::-1]]
        recent = [pair for pair in dated if pair[1].slot is None and since <= pair[0] <= self.at]
        return [one for _, one in sorted(recent, key=lambda pair: pair[0], reverse=True)]


@dataclass(frozen=True, slots=True)
class _Material:
    """What the profile is made of: slot memories, of equal moments the newest first, and records newest first."""

    held: list[Memory]
    recent: list[Memory]
    earlier: Mapping[str, str]


def show(
    app: App,
    *,
    topics: Sequence[str] | None = None,
    max_tokens: int | None = None,
    recent_days: int | None = None,
    recent_limit: int | None = None,
    project: str | None = None,
    past: Past | None = None,
    is_explained: bool = False,
) -> Profile:
    """Return the profile; what is not given comes from the settings, `past` instead of now where it is given.

    The recent section looks back whole local days, so that the text stays the same all day while the memory does
    (product E1). Raises InvalidSlot for an unknown topic and InvalidInput for a number out of range.
    """
    limits = app.settings.profile
    budget = limits.max_tokens if max_tokens is None else max_tokens
    days = limits.recent_days if recent_days is None else recent_days
    limit = limits.recent_limit if recent_limit is None else recent_limit
    if not (1 <= budget <= MAX_NUMBER and 1 <= days <= MAX_NUMBER and 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("profile_number_out_of_range")
    moment = app.clock.now() if past is None else from_iso(past.at)
    now = iso(moment)
    since = iso(_days_back(moment, days))
    # Who filters or explains needs the records that are not shown too.
    offered = limit if project is None and not is_explained else -min(limit, 1)
    with app.db.snapshot() as view:
        found = (
            _current(view, now, since, offered, None if is_explained else topics) if past is None else _of(past, since)
        )
        if project is not None:
            found = _within(found, set(view.all(search.in_project(folder(project)))))
    projected = project_view(
        app.schema, found.held, now, topics, recent=found.recent, recent_limit=limit, earlier=found.earlier
    )
    fitted = fit(projected, budget, app.language)
    lines: list[Weighed] = []
    if is_explained:
        active = [one for one in (*found.held, *found.recent) if one.is_active(now)]
        lines = explain(app.schema, fitted, active, topics, app.language)
    return Profile(profile_text(fitted, app.language), fitted.tokens, budget, tuple(lines))


def _current(view: Database, now: str, since: str, limit: int, topics: Sequence[str] | None) -> _Material:
    held = view.all(memories.slot_memories(now))[::-1]
    recent = view.all(memories.recent_records(now, since, limit, topics)) if limit else []
    return _Material(held, recent, dict(view.all(history.confirmed_before_doubt(now))))


def _of(past: Past, since: str) -> _Material:
    held = [one for one in past.memories[::-1] if one.slot is not None]
    return _Material(held, past.records_since(since), past.earlier)


def _within(found: _Material, ids: set[str]) -> _Material:
    held, recent = ([one for one in some if one.id in ids] for some in (found.held, found.recent))
    return _Material(held, recent, found.earlier)


def _days_back(moment: datetime, days: int) -> datetime:
    """The start of the local day `days` days ago, at the earliest the first day a datetime can name."""
    today = moment.astimezone().date()
    start = today - timedelta(days=min(days, today.toordinal() - 2))
    return datetime.combine(start, time()).astimezone()
