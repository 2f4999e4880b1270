"""Relative time words into absolute dates: "明天" means nothing to whoever reads it next week (product B4).

Table-driven: a table of phrases per language, read against the local moment the words were said at. Habits ("每天",
"every Friday") and what is vague by nature ("最近", "recently") point to no day and are left alone.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from mex_pipeline.domain import when_en, when_zh
from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.span import Found, Rule, Span
from mex_pipeline.domain.structured import text_fields

_SIMPLER = str.maketrans("後週個這兩時鐘頭禮來過幾剛間號", "后周个这两时钟头礼来过几刚间号")
_TWICE = re.compile(r"([0-9]{4}(?:-[0-9]{2}){0,2})\s?[（(]\1[）)]")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A content in absolute time, and the dates of the single days, months and years that it names now."""

    content: str
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The first word that cannot be told."""

    word: str


def in_absolute_time(candidate: Candidate, said: datetime | None) -> Candidate | Discarded:
    """Return the candidate with its content in absolute dates, `relative_time` with the word when that cannot be told.

    `said` is the local moment its words were said at, None when nobody knows. `occurred_at` is filled in when the
    content names one date and the candidate has none. A `retire` repeats a known value and is left as it is; quote and
    evidence keep the words that were said.
    """
    if candidate.action is Action.RETIRE:
        return candidate
    fields = text_fields(candidate.content)
    parts = fields or {"": candidate.content}
    resolved = {name: resolve(value, said) for name, value in parts.items()}
    dates: set[str] = set()
    for one in resolved.values():
        if isinstance(one, Unresolved):
            return Discarded(candidate.content, "relative_time", {"word": one.word})
        dates.update(one.dates)
    contents = {name: one.content for name, one in resolved.items() if isinstance(one, Resolved)}
    if contents == parts:
        return candidate
    return replace(
        candidate,
        content=json.dumps(contents, ensure_ascii=False) if fields else contents[""],
        occurred_at=candidate.occurred_at or (dates.pop() if len(dates) == 1 else None),
    )


def resolve(content: str, said: datetime | None) -> Resolved | Unresolved:
    """Return `content` with every relative time word as the date it meant at the local moment `said`."""
    spans: list[tuple[Found, Span]] = []
    for found, rule in _phrases(content.translate(_SIMPLER)):
        try:
            if said is None:
                return Unresolved(content[slice(*found.span())])
            spans.append((found, rule.read(found, said)))
        except (ValueError, OverflowError, KeyError):
            return Unresolved(content[slice(*found.span())])
    dates = tuple(span.at for _, span in spans if span.at)
    if len(spans) == 1 and dates and content[slice(*spans[0][0].span())] == content.strip():
        return Resolved(dates[0], dates)  # nothing but the time, as in a field that holds a date
    return Resolved(_replaced(content, spans) if spans else content, dates)


def _phrases(content: str) -> Iterator[tuple[Found, Rule]]:
    """Yield the relative phrases from left to right; the first rule that takes a word has it."""
    taken = [name.span() for names in (when_zh.NAMES, when_en.NAMES) for name in names.finditer(content)]
    phrases: list[tuple[Found, Rule]] = []
    for rule in (*when_zh.RULES, *when_en.RULES):
        for found in rule.pattern.finditer(content):
            is_free = all(found.end() <= start or end <= found.start() for start, end in taken)
            if is_free and not (rule.unless and rule.unless(found)):
                taken.append(found.span())
                phrases.append((found, rule))
    yield from sorted(phrases, key=lambda phrase: phrase[0].start())


def _replaced(content: str, spans: list[tuple[Found, Span]]) -> str:
    """Put the spans in; a figure or a letter beside one is kept apart from it by a space."""
    text = ""
    at = 0
    for found, span in spans:
        text = _beside(text + content[at : found.start()], span.text)
        at = found.end()
        if at < len(content) and _touch(text[-1], content[at]):
            text += " "
    return _TWICE.sub(r"\1", text + content[at:])


def _beside(left: str, right: str) -> str:
    return f"{left} {right}" if left and _touch(left[-1], right[0]) else left + right


def _touch(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
