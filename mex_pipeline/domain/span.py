"""Stretches of the calendar, counted from the local moment something was said (product B4).

Every function may raise ValueError or OverflowError: beyond the calendar there is no date.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_LENGTHS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(1), "week": timedelta(7)}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time as it is written into a content.

    `at` is its date (YYYY, YYYY-MM or YYYY-MM-DD) when it is one day, month or year, else None.
    """

    text: str
    at: str | None = None


Found = re.Match[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A relative phrase: its words, how they are read at a local moment, and when they are no relative time at all."""

    pattern: re.Pattern[str]
    read: Callable[[Found, datetime], Span]
    unless: Callable[[Found], bool] | None = None


def rule(pattern: str, read: Callable[[Found, datetime], Span], unless: Callable[[Found], bool] | None = None) -> Rule:
    """Return one row of a table of phrases."""
    return Rule(re.compile(pattern), read, unless)


def day(said: datetime, days: int) -> date:
    """Return the local day so many days after the one something was said on."""
    return said.date() + timedelta(days)


def month(said: datetime, months: int) -> date:
    """Return the first day of the month so many months after the one something was said in."""
    count = said.year * 12 + said.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def year(said: datetime, years: int) -> str:
    """Return the year so many years after the one something was said in, in four digits."""
    return date(said.year + years, 1, 1).isoformat()[:4]


def weekday(said: datetime, weeks: int, number: int) -> date:
    """Return a day (0 is Monday, the first) of the week so many weeks after the one something was said in."""
    return day(said, weeks * 7 + number - said.weekday())


def of_day(one: date, suffix: str = "") -> Span:
    """Return a day, with a part of the day behind it."""
    return Span(one.isoformat() + suffix, one.isoformat())


def of_month(first: date) -> Span:
    """Return a month, given any day of it."""
    return Span(first.isoformat()[:7], first.isoformat()[:7])


def between(first: date, last: date, joint: str) -> Span:
    """Return a stretch of days with both its ends."""
    return Span(f"{first.isoformat()}{joint}{last.isoformat()}")


def stepped(said: datetime, number: int, unit: str) -> Span:
    """Return the day, month or year `number` units (minute, hour, day, week, month, year) away."""
    if unit == "month":
        return of_month(month(said, number))
    if unit == "year":
        return Span(year(said, number), year(said, number))
    return of_day((said + number * _LENGTHS[unit]).date())


def stretch(said: datetime, number: int, unit: str, joint: str) -> Span:
    """Return the `number` units up to now (negative) or from now on (positive) with both their ends."""
    first, last = sorted((stepped(said, 0, unit).text, stepped(said, number, unit).text))
    return Span(f"{first}{joint}{last}")
