"""The profile, as an agent puts it into its context (seed 004 §6.2)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple

from mex_pipeline.app import App
from mex_pipeline.clock import from_iso, iso
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.profile import explain, fit, most_lines, withheld, withhold
from mex_pipeline.domain.profile import project as project_view
from mex_pipeline.domain.render import profile_text
from mex_pipeline.domain.view import Weighed, Withheld
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.bounds import MAX_NUMBER, folder
from mex_pipeline.settings import ViewSettings, require_topics
from mex_pipeline.store import history, memories
from mex_pipeline.store.database import Database


class Profile(NamedTuple):
    """The text, its estimated tokens and the budget; where asked for, each line that is shown or not, and why.

    `view` is the name of the view it was made by, `withheld` what is left out because it is sensitive.
    """

    text: str
    tokens: int
    max_tokens: int
    lines: tuple[Weighed, ...] = ()
    view: str | None = None
    withheld: tuple[Withheld, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `profile`, `tokens`, `view`, `withheld`: [{topic, sub_topic, count}], no content."""
        withheld = [{"topic": one.topic, "sub_topic": one.sub_topic, "count": one.memories} for one in self.withheld]
        return {"profile": self.text, "tokens": self.tokens, "view": self.view, "withheld": withheld}

    def explained_plain(self) -> dict[str, Any]:
        """Return the JSON keys of the explanation: `kept`, `cut`, `tokens`, `max_tokens` (product E1)."""
        kept = [_weighed_plain(one) for one in self.lines if one.reason is None]
        cut = [_weighed_plain(one) | {"reason": one.reason} for one in self.lines if one.reason is not None]
        return {"kept": kept, "cut": cut, "tokens": self.tokens, "max_tokens": self.max_tokens}


def _weighed_plain(line: Weighed) -> dict[str, Any]:
    memory = line.memory
    shape = {key: getattr(memory, key) for key in ("id", "topic", "sub_topic", "content", "confidence")}
    return shape | {"tokens": line.tokens}


class Past(NamedTuple):
    """The memories of another moment `at` (UTC ISO), in the order of their rows; services/timeline.py makes it.

    By validity a record's time is when it was said, by knowledge when it was learned (product B11). `earlier` as in
    `domain.profile.project`.
    """

    at: str
    by_validity: bool
    memories: tuple[Memory, ...]
    earlier: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """The key of the moment in JSON."""
        return "as_of" if self.by_validity else "known_at"

    def records_since(self, since: str) -> list[Memory]:
        """Return the records of that time, newest first."""
        dated = [(one.valid_from if self.by_validity else one.created_at, one) for one in self.memories[::-1]]
        recent = [pair for pair in dated if pair[1].slot is None and since <= pair[0] <= self.at]
        return [one for _, one in sorted(recent, key=lambda pair: pair[0], reverse=True)]


class _Material(NamedTuple):
    """What the profile is made of: slot memories, of equal moments the newest first, and records newest first.

    `totals` tells how many a slot holds where only its best were read.
    """

    held: list[Memory]
    recent: list[Memory]
    earlier: Mapping[str, str]
    withheld: Sequence[Withheld] = ()
    totals: Mapping[tuple[str, str], int] | None = None

    def only(self, memories: Iterable[Memory]) -> "_Material":
        """Return the same with these memories alone."""
        ids = {one.id for one in memories}
        held, recent = ([one for one in some if one.id in ids] for some in (self.held, self.recent))
        return self._replace(held=held, recent=recent)


class _Scope(NamedTuple):
    """What is asked for, once the command line, the view and the settings have spoken, in that order."""

    topics: Sequence[str] | None
    max_tokens: int
    recent_days: int
    recent_limit: int
    includes_sensitive: bool


def show(
    app: App,
    *,
    view: str | None = None,
    topics: Sequence[str] | None = None,
    max_tokens: int | None = None,
    recent_days: int | None = None,
    recent_limit: int | None = None,
    include_sensitive: bool = False,
    project: str | None = None,
    past: Past | None = None,
    is_explained: bool = False,
) -> Profile:
    """Return the profile; what is not given comes from the view, then from the settings; `past` stands for now.

    The recent section looks back whole local days, so that the text stays the same all day while the memory does
    (product E1). Raises InvalidSlot for an unknown topic, InvalidInput for a number out of range, `unknown_view`,
    `no_views`, and `view_unknown_topic` with file, line and key.
    """
    chosen = ViewSettings() if view is None else _view(app, view)
    scope = _scope(app, chosen, topics, max_tokens, recent_days, recent_limit)
    hides = app.schema.has_sensitive and not (include_sensitive or scope.includes_sensitive)
    moment = app.clock.now() if past is None else from_iso(past.at)
    now = iso(moment)
    if past is None and project is None and not is_explained:
        found = _best(app, scope, moment, hides=hides)
    else:
        found = _material(app, scope, past, moment, project, needs_all=is_explained or hides)
        if hides:
            active = [one for one in (*found.held, *found.recent) if one.is_active(now)]
            left, kept_back = withhold(app.schema, active, scope.topics)
            found = found.only(left)._replace(withheld=kept_back)
    projected = project_view(
        app.schema, found.held, now, scope.topics,
        recent=found.recent, recent_limit=scope.recent_limit, earlier=found.earlier, totals=found.totals,
    )  # fmt: skip
    fitted = fit(projected, scope.max_tokens, app.language)
    lines: list[Weighed] = []
    if is_explained:
        active = [one for one in (*found.held, *found.recent) if one.is_active(now)]
        lines = explain(app.schema, fitted, active, scope.topics, app.language)
    text = profile_text(fitted, app.language)
    return Profile(text, fitted.tokens, scope.max_tokens, tuple(lines), view, tuple(found.withheld))


def _view(app: App, name: str) -> ViewSettings:
    known = app.settings.views
    if name not in known:
        raise InvalidInput("unknown_view" if known else "no_views", view=name, known=list(known))
    require_topics(app.home.config, name, known[name], app.schema.topics)
    return known[name]


def _scope(
    app: App,
    view: ViewSettings,
    topics: Sequence[str] | None,
    max_tokens: int | None,
    recent_days: int | None,
    recent_limit: int | None,
) -> _Scope:
    limits = app.settings.profile
    budget = _first(max_tokens, view.max_tokens, limits.max_tokens)
    days = _first(recent_days, view.recent_days, limits.recent_days)
    limit = _first(recent_limit, view.recent_limit, limits.recent_limit)
    if not (1 <= budget <= MAX_NUMBER and 1 <= days <= MAX_NUMBER and 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("profile_number_out_of_range")
    return _Scope(view.topics or None if topics is None else topics, budget, days, limit, view.include_sensitive)


def _first(*wishes: int | None) -> int:
    return next(wish for wish in wishes if wish is not None)


def _best(app: App, scope: _Scope, moment: datetime, *, hides: bool) -> _Material:
    """Read of each slot only as many memories as it shows, and only as many records: the store may hold any number."""
    schema, topics, now, since = app.schema, scope.topics, iso(moment), iso(_days_back(moment, scope.recent_days))
    shown = {
        (slot.topic, slot.name): most_lines(slot)
        for slot in schema.slots()
        if (topics is None or slot.topic in topics) and not (hides and slot.policy.is_sensitive)
    }
    closed = [topic.name for topic in schema.topics.values() if hides and topic.is_sensitive]
    counts: dict[tuple[str, str | None], int] = {}
    recent: list[Memory] = []
    with app.db.snapshot() as view:
        totals = dict(view.all(memories.slot_counts(now)))
        slots = shown.keys() & totals.keys()
        held = view.all(memories.best_of_slots(sorted(slots), max((shown[one] for one in slots), default=0), now))
        if scope.recent_limit:
            recent = view.all(memories.recent_records(now, since, scope.recent_limit, topics, closed))
        if hides:
            counts.update(totals.items())
        if closed and scope.recent_limit:
            counts |= {(topic, None): count for topic, count in view.all(memories.recent_counts(now, since, closed))}
        earlier = _earlier(view, now, held)
    return _Material(held, recent, earlier, withheld(schema, counts, topics), totals)


def _earlier(view: Database, now: str, held: Sequence[Memory]) -> dict[str, str]:
    """The confirmed contents that doubtful ones stand in for."""
    doubtful = [one.id for one in held if one.is_ai_inferred and one.confidence is Confidence.UNCERTAIN]
    return dict(view.all(history.confirmed_before_doubt(now, doubtful))) if doubtful else {}


def _material(
    app: App, scope: _Scope, past: Past | None, moment: datetime, project: str | None, *, needs_all: bool
) -> _Material:
    """Read what the profile may show; who filters, hides or explains needs the records that are not shown too."""
    since = iso(_days_back(moment, scope.recent_days))
    limit = scope.recent_limit
    offered = limit if project is None and not needs_all else -min(limit, 1)
    with app.db.snapshot() as view:
        if past is None:
            found = _current(view, iso(moment), since, offered, None if needs_all else scope.topics)
        else:
            found = _of(past, since)
        if project is None:
            return found
        ids = set(view.all(memories.in_project(folder(project))))
    return found.only(one for one in (*found.held, *found.recent) if one.id in ids)


def _current(view: Database, now: str, since: str, limit: int, topics: Sequence[str] | None) -> _Material:
    held = view.all(memories.slot_memories(now))[::-1]
    recent = view.all(memories.recent_records(now, since, limit, topics)) if limit else []
    return _Material(held, recent, _earlier(view, now, held))


def _of(past: Past, since: str) -> _Material:
    held = [one for one in past.memories[::-1] if one.slot is not None]
    return _Material(held, past.records_since(since), past.earlier)


def _days_back(moment: datetime, days: int) -> datetime:
    """The start of the local day `days` days ago, at the earliest the first day a datetime can name."""
    today = moment.astimezone().date()
    start = today - timedelta(days=min(days, today.toordinal() - 2))
    return datetime.combine(start, time()).astimezone()
