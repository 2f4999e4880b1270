"""In which order what a search has found is shown: one score, made of parts that can be told (docs/search.md).

score = relevance x confidence x recency x pinned. Hits by all words: how each word was found, and how much else the content
says. Hits by some words: bm25.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.selection import forms
from mex_pipeline.domain.words import is_cjk

HALF_LIFE = 365
"""Days after which half of what recency adds is gone."""
_TIMELESS = 0.8
"""What is left of a score when a memory is very old."""
_LEAST_SURE = 0.6
"""What is left of a score when a memory is not trusted at all; `Confidence.weight` adds the rest."""
_PINNED = 2.0
_BRIEF = 24
"""Bytes of a content that are not too many for what it says: eight Chinese characters, or four English words."""
_DOUBLED = 0.85
"""What each doubling of a content beyond them leaves of its relevance."""
MOST_POSTINGS = 20_000
"""Rows of the index that are looked at for a search by some of the words, the rarest words first."""


MOST_TERMS = 200
"""Words that are searched by at most, the rarest ones: of a longer text, the others hardly count."""


class By(StrEnum):
    """How a word was found: as it is, by its stem, as a part of another word, or in the words a memory rests on."""

    EXACT = "exact"
    STEM = "stem"
    PART = "part"
    QUOTE = "quote"


WORTH = {By.EXACT: 1.0, By.STEM: 0.9, By.PART: 0.6, By.QUOTE: 0.5}
"""What a word counts by how it was found."""


class Candidate(NamedTuple):
    """What the score of a memory is made of. `seq` is its row, `sought` what parts of its content are looked for in,
    `size` the bytes of the content; times are UTC ISO. `bm25` is its rank in a search by some of the words, the higher the
    better; `by` says how the words were found that do not stand in the content as words.
    """

    seq: int
    sought: str
    size: int
    confidence: Confidence
    created_at: str
    last_seen_at: str | None
    is_pinned: bool
    bm25: float | None = None
    by: By = By.PART


class Score(NamedTuple):
    """The parts of a score, and each word with how it was found."""

    relevance: float
    confidence: float
    recency: float
    pinned: float
    words: tuple[tuple[str, By], ...] = ()

    @property
    def value(self) -> float:
        """The score: the higher, the earlier it is shown."""
        return self.relevance * self.confidence * self.recency * self.pinned

    @property
    def total(self) -> float:
        """The score as it is told."""
        return round(self.value, 4)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{relevance, confidence, recency, pinned, words: [{word, by}]}`."""
        parts = {name: round(getattr(self, name), 4) for name in ("relevance", "confidence", "recency", "pinned")}
        return parts | {"words": [{"word": word, "by": by.value} for word, by in self.words]}


Ranked = tuple[Candidate, Score]


class Word:
    """One word that is looked for, as it is written: compared once, found in many."""

    __slots__ = ("_forms", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._forms = forms(text)

    def found_in(self, sought: str) -> By | None:
        """Return whether it stands in a memory's `sought` as a word or as a part of one; None when it does not."""
        held = [form for form in self._forms if form in sought]
        if not held:
            return None
        return By.EXACT if any(_is_whole(form, sought) for form in held) else By.PART


def _is_whole(form: str, text: str) -> bool:
    """True when a form stands somewhere in `text` as no part of a longer word; CJK has no bounds between words."""
    starts, ends = _is_letter(form[0]), _is_letter(form[-1])
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        if not (starts and at and _is_letter(text[at - 1])) and not (ends and _is_letter(text[end : end + 1])):
            return True
        at = text.find(form, at + 1)
    return False


@lru_cache
def _is_letter(char: str) -> bool:
    return char.isalnum() and not is_cjk(char)


def score(one: Candidate, words: Sequence[Word], today: date) -> Score:
    """Return the score of a memory on a day, for the words that were asked for; of a hit by some words, they do not count."""
    found: tuple[tuple[str, By], ...] = ()
    if one.bm25 is None:
        found = tuple((word.text, _way(word, one)) for word in words)
        relevance = sum(WORTH[by] for _, by in found) / max(1, len(found)) * _brevity(one.size)
    else:
        relevance = one.bm25
    sure = _LEAST_SURE + (1 - _LEAST_SURE) * one.confidence.weight
    recency = _recency((one.last_seen_at or one.created_at)[:10], today)
    return Score(relevance, sure, recency, _PINNED if one.is_pinned else 1.0, found)


def _way(word: Word, one: Candidate) -> By:
    """How a word was found that is there: as a part of another at least, which may have its stem."""
    by = word.found_in(one.sought)
    return one.by if by is None or (by is By.PART and one.by is By.STEM) else by


def told(page: Iterable[Ranked], words: Iterable[str], others: Iterable[tuple[int, str, By]] = ()) -> list[Ranked]:
    """Return hits by some words with those that were found: as they are written, and (row, word, how) where they are not."""
    asked = [Word(word) for word in words]
    ways = {(seq, word): by for seq, word, by in sorted(others, key=lambda other: WORTH[other[2]])}
    shown = []
    for one, made in page:
        found = ((word.text, word.found_in(one.sought) or ways.get((one.seq, word.text))) for word in asked)
        shown.append((one, made._replace(words=tuple((word, by) for word, by in found if by))))
    return shown


def _brevity(size: int) -> float:
    doublings = 0
    while size > _BRIEF << doublings:
        doublings += 1
    return math.pow(_DOUBLED, doublings)


@lru_cache
def _recency(said: str, today: date) -> float:
    """1 for what was said today, less by whole days, so that a score is the same all day."""
    try:
        age = max(0, (today - date.fromisoformat(said)).days)
    except ValueError:  # another hand wrote the row
        return _TIMELESS
    return _TIMELESS + (1 - _TIMELESS) * math.pow(0.5, age / HALF_LIFE)


def ranked(candidates: Iterable[Candidate], words: Iterable[str], today: date) -> list[Ranked]:
    """Return candidates with their scores, the best first; of equal ones the newest, then what was stored last."""
    asked = [Word(word) for word in words]
    scored = [(one, score(one, asked, today)) for one in candidates]
    return sorted(scored, key=lambda pair: (pair[1].value, pair[0].created_at, pair[0].seq), reverse=True)


def rarest(counts: Mapping[str, int]) -> list[str]:
    """Return the words to search by, of {word: rows that hold it}: the rarest, at least one, while they (MOST_TERMS) and
    their rows (MOST_POSTINGS) are few enough; words that nothing holds are left out.
    """
    chosen: list[str] = []
    rows = 0
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        rows += count
        if count and (not chosen or (rows <= MOST_POSTINGS and len(chosen) < MOST_TERMS)):
            chosen.append(word)
    return chosen
