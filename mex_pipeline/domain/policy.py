"""What schema.yaml says about a slot beyond its kind: how long its values hold, when they want a look, who sees them.

Days are local days, so that what follows from a policy changes at midnight only (product E1).
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NamedTuple

from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.errors import InvalidInput, as_written

SHOWN = 3
"""How many memories of a slot of many are shown where the schema says nothing else (seed 004 §6.2)."""

MOST_DAYS, MOST_ITEMS = 36_500, 1_000
KEYS = ("ttl", "review_every", "sensitive", "priority", "max_items")
"""The keys of a slot in schema.yaml that are policies."""

_SPAN = r"([1-9][0-9]{0,5})([dw])"
_DAYS = {"d": 1, "w": 7}


class Priority(StrEnum):
    """What the budget of the profile cuts last, and first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        """The number that sorts the priorities, the lowest first."""
        return (Priority.LOW, Priority.NORMAL, Priority.HIGH).index(self)


class Policy(NamedTuple):
    """What holds for the values of one slot; without a declaration nothing does. `ttl` and `review_every` are days."""

    ttl: int | None = None
    review_every: int | None = None
    is_sensitive: bool = False
    priority: Priority = Priority.NORMAL
    max_items: int | None = None

    @property
    def most(self) -> int:
        """How many memories the profile shows of a slot of many."""
        return SHOWN if self.max_items is None else self.max_items

    def expiry(self, said: str) -> str | None:
        """Return the end (UTC ISO) of the local day `ttl` days after `said` (UTC ISO); None without a ttl.

        It may lie in the past: what is learned late is filed as expired. Beyond the calendar there is no expiry.
        """
        if self.ttl is None:
            return None
        try:
            end = datetime.combine(local_day(said) + timedelta(self.ttl), time(23, 59, 59)).astimezone(UTC)
        except (OverflowError, ValueError):
            return None
        return end.replace(tzinfo=None).isoformat() + "Z"

    def renewed(self, memory: Memory, said: str) -> str | None:
        """Return the expiry of a value that was said again: a ttl counts anew, what a person has set stays."""
        last = last_said(memory)
        is_from_ttl = memory.expires_at is not None and memory.expires_at == self.expiry(last)
        return self.expiry(max(said, last)) if is_from_ttl else memory.expires_at

    def taken_over(self, memory: Memory, earlier: "Policy") -> str | None:
        """Return the expiry of a value that moves here from a slot of the `earlier` policy: what a person has set stays."""
        last = last_said(memory)
        is_set = memory.expires_at is not None and memory.expires_at != earlier.expiry(last)
        return memory.expires_at if is_set else self.expiry(last)

    def due_since(self, memory: Memory, now: str) -> str | None:
        """Return when a value was checked last (UTC ISO), if that lies `review_every` or more local days before `now`.

        Checked is what was said again, approved, edited or added by a person (peers §3 #7): for a confirmed value every
        change of its row counts, for others the last statement. None while nothing is due.
        """
        if self.review_every is None:
            return None
        is_vouched = memory.confidence is Confidence.CONFIRMED
        checked = max(last_said(memory), memory.updated_at if is_vouched else "")
        return checked if (local_day(now) - local_day(checked)).days >= self.review_every else None


NO_POLICY = Policy()


def last_said(memory: Memory) -> str:
    """Return when the value was last stated, UTC ISO."""
    return max(memory.valid_from, memory.last_seen_at or "")


def local_day(at: str) -> date:
    """Return the local day of a stored moment; at the ends of the calendar, where there is no other zone, that of UTC."""
    moment = datetime.fromisoformat(at)
    try:
        return moment.astimezone().date()
    except (OverflowError, ValueError):
        return moment.date()


def parse_policy(entry: Mapping[str, object], path: str, *, is_sensitive: bool) -> Policy:
    """Return the policy that the keys of a slot in schema.yaml declare; `is_sensitive` is what its topic says.

    Raises InvalidInput with the `path` of the key: `schema_bad_span`, `schema_not_flag`, `schema_bad_priority`,
    `schema_bad_count`.
    """
    return Policy(
        ttl=_span(entry, "ttl", path),
        review_every=_span(entry, "review_every", path),
        is_sensitive=flag(entry, "sensitive", path, default=is_sensitive),
        priority=_priority(entry, path),
        max_items=_count(entry, path),
    )


def flag(entry: Mapping[str, object], key: str, path: str, *, default: bool) -> bool:
    """Return a true or false of schema.yaml; raises InvalidInput("schema_not_flag") for anything else."""
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise InvalidInput("schema_not_flag", path=f"{path}.{key}")
    return value


def _span(entry: Mapping[str, object], key: str, path: str) -> int | None:
    """Whole days: of an `m` nobody could say whether it means minutes or months."""
    if key not in entry:
        return None
    value = entry[key]
    found = re.fullmatch(_SPAN, value) if isinstance(value, str) else None
    days = int(found[1]) * _DAYS[found[2]] if found else 0
    if not 1 <= days <= MOST_DAYS:
        raise InvalidInput("schema_bad_span", path=f"{path}.{key}", value=as_written(value))
    return days


def _priority(entry: Mapping[str, object], path: str) -> Priority:
    value = entry.get("priority", Priority.NORMAL)
    if not isinstance(value, str) or value not in list(Priority):
        known = [str(one) for one in Priority]
        raise InvalidInput("schema_bad_priority", path=f"{path}.priority", value=as_written(value), known=known)
    return Priority(value)


def _count(entry: Mapping[str, object], path: str) -> int | None:
    if "max_items" not in entry:
        return None
    value = entry["max_items"]
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_ITEMS:
        raise InvalidInput("schema_bad_count", path=f"{path}.max_items", value=as_written(value), most=MOST_ITEMS)
    return value
