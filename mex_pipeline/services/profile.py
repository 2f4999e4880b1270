"""The profile, as an agent puts it into its context (seed 004 §6.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.profile import fit, project
from mex_pipeline.domain.render import profile_text
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.memories import MAX_NUMBER
from mex_pipeline.store import history, memories


@dataclass(frozen=True, slots=True)
class Profile:
    """The text and its estimated tokens."""

    text: str
    tokens: int


def show(
    app: App,
    *,
    topics: Sequence[str] | None = None,
    max_tokens: int | None = None,
    recent_days: int | None = None,
    recent_limit: int | None = None,
) -> Profile:
    """Return the profile; what is not given comes from the settings.

    The recent section looks back whole local days, so that the text stays the same all day while the memory does
    (product E1). Raises InvalidSlot for an unknown topic and InvalidInput for a number out of range.
    """
    limits = app.settings.profile
    budget = limits.max_tokens if max_tokens is None else max_tokens
    days = limits.recent_days if recent_days is None else recent_days
    limit = limits.recent_limit if recent_limit is None else recent_limit
    if not (1 <= budget <= MAX_NUMBER and 1 <= days <= MAX_NUMBER and 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("profile_number_out_of_range")
    moment = app.clock.now()
    now = iso(moment)
    with app.db.snapshot() as view:
        held = view.all(memories.slot_memories(now))[::-1]  # of equal moments the newest first
        recent = view.all(memories.recent_records(now, iso(_days_back(moment, days)), limit, topics)) if limit else []
        earlier = dict(view.all(history.confirmed_before_doubt(now)))
    projected = project(app.schema, held, now, topics, recent=recent, recent_limit=limit, earlier=earlier)
    fitted = fit(projected, budget, app.language)
    return Profile(profile_text(fitted, app.language), fitted.tokens)


def _days_back(moment: datetime, days: int) -> datetime:
    """The start of the local day `days` days ago, at the earliest the first day a datetime can name."""
    today = moment.astimezone().date()
    start = today - timedelta(days=min(days, today.toordinal() - 2))
    return datetime.combine(start, time()).astimezone()
