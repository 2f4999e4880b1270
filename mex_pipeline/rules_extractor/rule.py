"""What a rule is (the pattern of a clause, the slots its words fill) and what tells a plain statement from others."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from mex_pipeline.rules_extractor.value import is_code, is_plain, said, stands_alone

Slot = tuple[str, str]
Fits = Callable[[str], bool]
Words = re.Match[str]
Read = Callable[[Words], list[str]]
"""Takes the values out of a matched clause; an empty list when the words are not of the slot's kind."""

PREFERENCES = "interaction.preferences or interaction.communication_style"
"""Where a wish how to be answered goes."""

_AND = re.compile(r"\s*(?:,\s*and\b|、|，|,|/|和|以及|及|跟|与|\band\b|&)\s*")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class Fill:
    """Values for a slot: the first of `slots` that the schema has takes them."""

    slots: tuple[Slot, ...]
    read: Read


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement about oneself. `pattern` covers a clause from the subject on; `guard` may still refuse the match.

    A pattern with a group `me` also knows the statement without its subject, which counts only behind a clause that
    said something about the person. A `whole` one covers the rest of the sentence, commas included. What is `fleeting`
    may hold for a few days only (a place, a job): a sentence that speaks of a trip or of next week does not count.
    """

    pattern: re.Pattern[str]
    fills: tuple[Fill, ...]
    guard: Callable[[Words], bool] | None
    fleeting: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Signs:
    """The words of one language that tell whether a clause is a plain statement of the person.

    `silent` shuts the turn (a text to work on, a role to play), `unreal` the rest of its sentence (conditions, reported
    speech, the past), `asks` its clause, `undone` and `tag` (the last clause of a question) the sentence; `future` (up to
    the clause) and `passing` (anywhere in the sentence) shut what is fleeting. `lead` is skipped at the start of a
    clause, an `aside` does not end what a subject is carried over; `label` may stand before a colon without making the
    rest somebody else's words. `remember` has the groups `firm` and `x`: a firm request keeps any words, a loose one
    only those about `oneself`. `serves` tells a wish how to be answered, `task` finds talk about the work at hand.
    """

    lead: re.Pattern[str]
    aside: re.Pattern[str]
    label: re.Pattern[str]
    silent: re.Pattern[str]
    unreal: re.Pattern[str]
    asks: re.Pattern[str]
    undone: re.Pattern[str]
    tag: re.Pattern[str]
    future: re.Pattern[str]
    passing: re.Pattern[str]
    remember: re.Pattern[str]
    oneself: re.Pattern[str]
    task: re.Pattern[str]
    serves: Fits


def rule(
    pattern: str,
    *fills: Fill,
    guard: Callable[[Words], bool] | None = None,
    fleeting: bool = False,
    whole: bool = False,
) -> Rule:
    """Return one row of a table of rules."""
    return Rule(re.compile(pattern), fills, guard, fleeting, whole)


def fill(slots: str, read: Read) -> Fill:
    """Return a row's fill of "topic.sub_topic or other.slot"."""
    return Fill(slots_of(slots), read)


def slots_of(names: str) -> tuple[Slot, ...]:
    """Return the slots of "topic.sub_topic or other.slot", best first."""
    return tuple((topic, sub_topic) for topic, sub_topic in (name.split(".") for name in names.split(" or ")))


def one(fits: Fits, limit: int, group: str = "x") -> Read:
    """Return a reader of a single value of at most `limit` characters that `fits`."""

    def read(words: Words) -> list[str]:
        value = said(words[group] or "")
        return [value] if len(value) <= limit and is_plain(value) and fits(value) else []

    return read


def each(fits: Fits, limit: int) -> Read:
    """Return a reader of a list ("a, b and c"): all its parts when all fit; "和牛", which has a missing part, is one word."""

    def read(words: Words) -> list[str]:
        parts = [said(part) for part in _AND.split(said(words["x"]))]
        if not all(parts):
            parts = [said(words["x"])]
        return parts if all(len(part) <= limit and is_plain(part) and fits(part) for part in parts) else []

    return read


def phrase(fits: Fits, limit: int = 200) -> Read:
    """Return a reader that keeps a wish as it was said, "me" and "you" included."""

    def read(words: Words) -> list[str]:
        value = said(words["x"])
        return [value] if len(value) <= limit and stands_alone(value) and not is_code(value) and fits(value) else []

    return read


def goal(words: Words) -> list[str]:
    """Return the structured value of `goals.short_term_goal` (seed 004 §3.4) from the groups x, y (year), m (month)."""
    aim, month = said(words["x"]), _month(words["m"])
    if not (is_plain(aim) and len(aim) <= 80) or month is None:
        return []
    return [json.dumps({"goal": aim, "deadline": f"{words['y']}{month}"}, ensure_ascii=False)]


def _month(text: str | None) -> str | None:
    """Return "-04" for "April", "Apr" or "4", "" for no month, None for what is none."""
    if not text:
        return ""
    name = text[:3].lower()
    number = _MONTHS.index(name) + 1 if name in _MONTHS else int(text) if text.isdecimal() else 0
    return f"-{number:02}" if 1 <= number <= 12 else None
