"""Time: one source of now, UTC in storage, local time for people (seed 004 §3.7)."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from mex_pipeline import faults
from mex_pipeline.errors import InvalidInput

_SPAN = r"(\d{1,6})([smhdw])"
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Clock(Protocol):
    """What the services ask for the time; tests inject their own."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        moment = datetime.now(UTC)
        offset = faults.clock_offset()
        return moment + timedelta(seconds=offset) if offset else moment


def iso(moment: datetime) -> str:
    """Return `moment` as the stored form: UTC, whole seconds, `2026-08-06T08:30:00Z` (seed 004 §3.7)."""
    # strftime would write the year 999 in three digits, which sort behind 2026.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def millis(moment: datetime) -> int:
    """Return `moment` as integer milliseconds since the epoch: the form inside jobs and workers (product H10)."""
    return int(moment.timestamp() * 1000)


def from_iso(text: str) -> datetime:
    """Return the aware UTC moment of a stored or foreign ISO 8601 string; raises ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def in_zone(stored: str, zone: str | None = None) -> datetime:
    """Return a stored or foreign moment as the user's clock showed it: in the IANA `zone`, or the machine's.

    A zone that this machine does not know is as good as none. Raises ValueError as `from_iso`.
    """
    moment = from_iso(stored)
    if zone is None:
        return moment.astimezone()
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - 2 ms that no query needs

    try:
        return moment.astimezone(ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        return moment.astimezone()


def iso_of_millis(value: int | None) -> str | None:
    """Return integer milliseconds in the stored ISO form; None stays None."""
    return None if value is None else iso(datetime.fromtimestamp(value / 1000, UTC))


def to_local(stored: str) -> str:
    """Return a stored UTC string as local `YYYY-MM-DD HH:MM` for people."""
    return from_iso(stored).astimezone().strftime("%Y-%m-%d %H:%M")


def parse_span(text: str) -> timedelta:
    """Return the length of `7d`, `12h`, `3w`, `15m`, `2s`; raises InvalidInput for anything else."""
    match = re.fullmatch(_SPAN, text.strip())
    if match is None:
        raise InvalidInput("bad_span", value=text)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def parse_local(text: str, *, end_of_day: bool = False) -> datetime:
    """Return the UTC moment of a local date (`2026-08-01`) or date-time (`2026-08-01 09:30`, seconds and `T` allowed).

    A bare date means the start of that local day, with `end_of_day` its last second (product G2).
    Raises InvalidInput when the text is neither.
    """
    value = text.strip()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?", value) is None:
        raise InvalidInput("bad_date", value=text)
    try:
        moment = datetime.fromisoformat(value)
        if end_of_day and len(value) == 10:
            moment = moment.replace(hour=23, minute=59, second=59)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput("bad_date", value=text) from error


def local_midnight(moment: datetime, days: int = 0) -> datetime:
    """Return the UTC moment at which the local day of `moment` began, or the day so many days later."""
    day = moment.astimezone().date() + timedelta(days=days)
    return datetime(day.year, day.month, day.day).astimezone(UTC)


def parse_moment(text: str, now: datetime, *, end_of_day: bool = False) -> datetime:
    """Return the moment of `--since`/`--until`: a local date, a date-time, or a span back from `now` (product G2)."""
    if re.fullmatch(_SPAN, text.strip()):
        try:
            return now - parse_span(text)
        except OverflowError as error:
            raise InvalidInput("bad_span", value=text) from error
    return parse_local(text, end_of_day=end_of_day)


def monotonic() -> float:
    """Return seconds of a clock that no one can set; only differences mean something."""
    return time.monotonic()
