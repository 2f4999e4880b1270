"""Relative time in English: the words, and what they are mistaken for (product B4)."""

import re
from datetime import datetime

from mex_pipeline.domain.span import (
    Found,
    Span,
    between,
    day,
    month,
    of_day,
    of_month,
    rule,
    stepped,
    stretch,
    weekday,
    year,
)

_JOINT = " to "
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)} | {"a": 1, "an": 1}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "day before yesterday": -2}

_FIGURE = rf"[0-9]{{1,3}}|{'|'.join(_WORDS)}"
_NUMBER = rf"(?P<number>(?i:{_FIGURE}|an?))"
_UNIT = r"(?P<unit>minute|hour|day|week|fortnight|month|year)s?"
_DAY = rf"(?P<day>{'|'.join(_WEEKDAYS)})"
_VAGUE = (
    rf"(?P<amount>(?i:a few|several|some|many|a couple of|a couple|couple of|half an?|(?:{_FIGURE}) and a half|"
    r"[0-9]+\.[0-9]+) (?:minute|hour|day|week|month|year)s?|(?i:an?|one) (?:day|week|month|year) and a half)"
)
_HOLDER = r"(?<!\bthe )(?<!\bThe )(?<!\bmy )(?<!\bMy )(?<!\bhis )(?<!\bher )(?<!\bour )(?<!\btheir )(?<!\byour )"
_NO_PART = r"\b(?!\s+of\b)(?!-)"
_START = r"(?<![\w@/.#-])"
_END = r"(?![\w@/]|-\w|\.\w)"

# "Wrote it in three days" tells how long it took, not when.
_TOOK = re.compile(
    r"\b(?!(?:need|scheduled|planned|excited|supposed|married|booked|expected|invited|engaged)\b)\w+ed\b|\b(?:ran|wrote|"
    r"built|made|did|got|won|lost|read|took|learnt|was|were|grew|became|had|went|sold|finished|can|could|able|within|"
    r"did|done|spent|rode|swam|beat|found|taught|cut)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:will|going to|about to|plan\w*|leav\w+|mov\w+|fl(?:ies|ying)|start\w*|due|deadline|expires?|exam|appointment|"
    r"wedding|trip|visit\w*|return\w*|arriv\w+|travel\w*|getting|scheduled|meet\w*)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(r"\b(?:every|each|always|usually|often|typically|normally|generally)\b", re.IGNORECASE)


def _named_day(found: Found, said: datetime) -> Span:
    return of_day(day(said, _DAYS[found["day"].lower()]))


def _night(found: Found, said: datetime) -> Span:
    return of_day(day(said, -1), " night") if found["back"] else of_day(said.date(), " evening")


def _part_of_day(found: Found, said: datetime) -> Span:
    return of_day(said.date(), f" {found['part']}")


def _today(_: Found, said: datetime) -> Span:
    return of_day(said.date())


def _unit(found: Found, said: datetime) -> Span:
    steps, unit = _pointed(found["which"]), found["unit"]
    if unit in ("month", "year"):
        return stepped(said, steps, unit)
    if unit == "quarter":
        first = month(said, 3 * steps)
        return Span(f"Q{(first.month + 2) // 3} {first.year}")
    return between(weekday(said, steps, 5 if unit == "weekend" else 0), weekday(said, steps, 6), _JOINT)


def _day_of_week(found: Found, said: datetime) -> Span:
    return of_day(weekday(said, _pointed(found["which"]), _WEEKDAYS.index(found["day"])))


def _weekday(found: Found, said: datetime) -> Span:
    """The last Friday is the one before today, this Friday the first from today on, the next one that of next week."""
    number, steps = _WEEKDAYS.index(found["day"]), _pointed(found["which"])
    if steps > 0:
        return of_day(weekday(said, 1, number))
    ahead = (number - said.weekday()) % 7
    return of_day(day(said, ahead if steps == 0 else ahead - 7))


def _month(found: Found, said: datetime) -> Span:
    number, steps = _MONTHS.index(found["month"]) + 1, _pointed(found["which"])
    is_over = {-1: number < said.month, 0: True, 1: number <= said.month}[steps]
    years = (0 if is_over else -1) if steps < 0 else (1 if is_over else 0) if steps > 0 else 0
    return of_month(said.date().replace(year=said.year + years, month=number, day=1))


def _season(found: Found, said: datetime) -> Span:
    """A season or a term has no dates of its own; it is tied to what is known."""
    where = {-1: f"before {said.date()}", 0: f"of {year(said, 0)}", 1: f"after {said.date()}"}
    return Span(f"the {found['season']} {where[_pointed(found['which'])]}")


def _end(found: Found, said: datetime) -> Span:
    return Span(f"end of {stepped(said, 0, found['unit']).text}")


def _counted(found: Found, said: datetime) -> Span:
    sign = -1 if found["back"] else 1
    unit = found["unit"]
    weeks = 2 if unit == "fortnight" else 1
    return stepped(said, sign * weeks * _number(found["number"]), "week" if unit == "fortnight" else unit)


def _vague(found: Found, said: datetime) -> Span:
    """What has no date of its own ("a few weeks ago") is tied to the day it was said on."""
    return Span(f"{found['amount']} {'before' if found['back'] else 'after'} {said.date()}")


def _vague_stretch(found: Found, said: datetime) -> Span:
    span = _vague(found, said)
    return Span(f"the {span.text}")


def _other_day(_: Found, said: datetime) -> Span:
    return Span(f"shortly before {said.date()}")


def _over(found: Found, said: datetime) -> Span:
    sign = 1 if found["way"].lower() in ("next", "coming") else -1
    return stretch(said, sign * _number(found["number"] or "a"), found["unit"], _JOINT)


def _pointed(which: str) -> int:
    """-1 for last and this past, 1 for next, 0 for this and coming."""
    words = which.lower()
    return -1 if words.endswith(("last", "past")) else 1 if words == "next" else 0


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _is_habit(found: Found) -> bool:
    return _HABIT.search(found.string) is not None


def _tells_how_long(found: Found) -> bool:
    """True for "in three days" behind a verb of the past, and for "in a day" without a word of the future."""
    before = found.string[: found.start()]
    is_single = "number" in found.re.groupindex and found["number"].lower() in ("a", "an")
    return _TOOK.search(before) is not None or (is_single and _AHEAD.search(found.string) is None)


def _is_name(found: Found) -> bool:
    """True for a capital that no sentence begins with: USA Today, the Tonight Show."""
    return (
        found.group()[0].isupper() and re.search(r"(?:\A|[.!?;:\n]|\A\W)\s*\Z", found.string[: found.start()]) is None
    )


NAMES = re.compile(r"[\"“‘'`][A-Z][\w ]*[\"”’'`]|\bToday [Ss]how\b|\bTonight [Ss]how\b|\bLast Week Tonight\b")
"""Words that only look like relative time: quoted titles and names."""

RULES = (
    rule(rf"(?:[Tt]he )?(?P<day>(?i:day after tomorrow|day before yesterday)){_END}", _named_day),
    rule(rf"{_START}(?:(?P<back>[Ll]ast night)|[Tt]onight){_END}", _night, _is_name),
    rule(
        rf"{_START}(?:(?:[Ee]arlier|[Ll]ater) )?(?P<day>[Tt]oday|[Tt]omorrow|[Yy]esterday){_END}", _named_day, _is_name
    ),
    rule(r"\b[Tt]his (?P<part>morning|afternoon|evening)\b", _part_of_day),
    rule(rf"\b{_DAY} (?P<which>last|this|next) week\b", _day_of_week),
    rule(
        rf"{_HOLDER}\b(?P<which>[Ll]ast|[Tt]his(?: coming| past)?|[Nn]ext) (?P<unit>weekend|week|month|year|quarter){_NO_PART}",
        _unit,
    ),
    rule(
        rf"(?:\b[Tt]he )?\b(?P<which>[Ll]ast|[Tt]his(?: coming| past)?|[Nn]ext|[Cc]oming) {_DAY}{_NO_PART}(?!s\b)",
        _weekday,
    ),
    rule(rf"{_HOLDER}\b(?P<which>[Ll]ast|[Tt]his|[Nn]ext) (?P<month>{'|'.join(_MONTHS)})\b", _month),
    rule(
        rf"{_HOLDER}\b(?P<which>[Ll]ast|[Tt]his|[Nn]ext) (?P<season>spring|summer|autumn|fall|winter|semester){_NO_PART}",
        _season,
    ),
    rule(r"\b[Ee]nd of the (?P<unit>month|year)\b", _end, _is_habit),
    rule(rf"(?<![\w.])(?:{_VAGUE}) (?:(?P<back>ago)|from now)\b", _vague),
    rule(rf"(?<![\w.]){_NUMBER} {_UNIT} (?:(?P<back>ago)|from now)\b", _counted),
    rule(r"(?<![\w.])(?P<amount>[Dd]ays|[Ww]eeks|[Mm]onths|[Yy]ears) (?P<back>ago)\b", _vague),
    rule(
        rf"\b[Ii]n (?P<amount>(?:a few|several|a couple of) {_UNIT})\b(?P<back>(?!))?(?:['’] time)?",
        _vague,
        _tells_how_long,
    ),
    rule(rf"\b[Ii]n {_NUMBER} {_UNIT}\b(?P<back>(?!))?(?:['’]s? time)?", _counted, _tells_how_long),
    rule(
        rf"(?:\b[Tt]he )?\b(?P<way>[Ll]ast|[Pp]ast|[Nn]ext|[Cc]oming) (?P<number>{_FIGURE}) "
        rf"(?P<unit>day|week|month|year)s{_NO_PART}",
        _over,
    ),
    rule(
        rf"\b[Tt]he (?:(?P<back>last|past)|next|coming) (?P<amount>(?:few|several|couple of) (?:day|week|month|year)s){_NO_PART}",
        _vague_stretch,
    ),
    rule(r"\b[Tt]he (?P<way>past|coming) (?P<number>(?!))?(?P<unit>day|week|month|year)\b", _over),
    rule(r"(?:(?<=\b[Ii]n )|(?<=\b[Oo]ver ))the (?P<way>next) (?P<number>(?!))?(?P<unit>week|month|year)\b", _over),
    rule(r"\b[Jj]ust now\b|\b(?:[Aa] moment|[Mm]oments) ago\b", _today),
    rule(r"\b[Tt]he other day\b", _other_day),
)
"""The phrases, the longer ones before those they contain."""
