"""`mex compact` as a request: what would be condensed, what that costs, and the job that does it (product B8, C10)."""

import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import in_zone, iso
from mex_pipeline.domain.compact import Group, groups
from mex_pipeline.domain.memory import Memory
from mex_pipeline.errors import InvalidInput
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.services.jobs import COMPACT, Request
from mex_pipeline.settings import Settings
from mex_pipeline.store import compact as rows

_AGE = re.compile(r"([1-9][0-9]{0,3})([dwmy])")
_MONTHS = {"m": 1, "y": 12}
_DAYS = {"d": 1, "w": 7}


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a compaction would send: its groups, one call each."""

    groups: tuple[Group, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object; `tokens` are those of the records, the prompt around them not counted."""
        shown = [
            {"topic": one.topic, "period": one.period, "records": len(one.records), "tokens": one.tokens}
            for one in self.groups
        ]
        return {
            "groups": shown,
            "records": sum(len(one.records) for one in self.groups),
            "tokens": sum(one.tokens for one in self.groups),
            "calls": len(self.groups),
        }


def request(app: App, older_than: str, topic: str | None) -> Request:
    """Return the request to condense the records of a topic, or of all, that are older than `6m`, `1y`, `8w`, `90d`.

    Raises InvalidInput: `compact_bad_age` (`value`), `compact_needs_model`.
    """
    before = cutoff(app.clock.now().astimezone().date(), older_than)
    if not app.settings.llm.is_configured:
        raise InvalidInput("compact_needs_model")
    return Request(COMPACT, {"before": before, "topic": topic}, f"{COMPACT}:{topic or ''}")


def cutoff(today: date, older_than: str) -> str:
    """Return the local date before which a record is old enough; raises InvalidInput("compact_bad_age").

    Months are those of the calendar: six before August 31 is the last day of February.
    """
    match = _AGE.fullmatch(older_than.strip())
    if match is None:
        raise InvalidInput("compact_bad_age", value=older_than)
    count, unit = int(match[1]), match[2]
    try:
        if unit in _DAYS:
            return (today - timedelta(days=count * _DAYS[unit])).isoformat()
        year, month = divmod(today.year * 12 + today.month - 1 - count * _MONTHS[unit], 12)
        return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1])).isoformat()
    except (ValueError, OverflowError) as error:
        raise InvalidInput("compact_bad_age", value=older_than) from error


def forecast(app: App, asked: Request) -> Forecast:
    """Return what the job would send now; raises InvalidSlot for a topic that is not declared and has no record."""
    now, topic = iso(app.clock.now()), asked.payload["topic"]
    found = app.db.all(rows.records(now))
    if topic is not None and all(one.topic != topic for one in found):
        app.schema.locate(topic, None)
    return Forecast(grouped(found, asked.payload, app.settings, now))


def grouped(records: Iterable[Memory], payload: dict[str, Any], settings: Settings, now: str) -> tuple[Group, ...]:
    """Return the groups of a job, their texts as they may be sent."""
    return groups(
        records,
        before=payload["before"],
        now=now,
        limit=settings.extraction.chunk_tokens,
        topic=payload["topic"],
        day_of=lambda moment: f"{in_zone(moment):%Y-%m-%d}",
        as_sent=redacted if settings.privacy.redact_secrets else str,
    )
