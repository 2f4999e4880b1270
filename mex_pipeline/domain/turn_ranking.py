"""In which order kept turns that hold words of a question are shown (docs/search.md).

score = (words + beside) x session x speaker. A question and its answer are two turns, and talk stays with its matter for a
while: a word counts in part where it is said shortly before or after.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import log
from typing import Any

from mex_pipeline.domain.folding import folded
from mex_pipeline.domain.ranking import By, Word

BESIDE = (0.3, 0.15)
"""What a word counts that is said one turn before or after, and two: so many turns belong to a turn on each side."""
MOST_RANKED = 500
"""Turns that are looked at closer, with those beside them: the ones that hold the most and the rarest of the words."""
_SATURATED = 1.2
"""How often a word must be said around a turn for a little less than half of what it can count (BM25's k1)."""
_SESSION = 0.5
"""What the session adds that holds most of the words."""
_SPEAKER = 1.25
"""What a turn counts that is said by the one whom the question names."""
LABEL = 48
"""Characters in which a turn says who speaks."""
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002a6d6]+")
_NAMED = re.compile(r"[*\[(【「]{0,2}([^\W\d_][^:：\n*\])】」]{0,39}?)[*\])】」]{0,2}\s?[:：]")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: its row, its (agent, session), its position in there, and the beginning of its text.

    `is_meant` is false for one that is only there because a neighbour was found.
    """

    seq: int
    session: tuple[str, str]
    position: int
    head: str
    is_meant: bool = True


@dataclass(frozen=True, slots=True)
class TurnScore:
    """The parts of a score, and the words of the question that the turn itself holds."""

    words: float
    beside: float
    session: float
    speaker: float
    held: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The score: the higher, the earlier it is shown."""
        return round((self.words + self.beside) * self.session * self.speaker, 4)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{words, beside, session, speaker, held}`."""
        parts = {name: round(getattr(self, name), 4) for name in ("words", "beside", "session", "speaker")}
        return parts | {"held": list(self.held)}


Held = Mapping[str, Set[int]]
"""The rows that hold a word, by word."""


def is_han(word: str) -> bool:
    """True for Chinese characters alone: the index of words finds every turn in which they stand, whatever is around."""
    return _HAN.fullmatch(word) is not None


def rarity(holders: int, turns: int) -> float:
    """Return what a word tells that so many of all turns hold (BM25's idf); never less than 0."""
    return log(1 + max(0, turns - holders + 0.5) / (holders + 0.5))


def foremost(held: Held, turns: int) -> list[int]:
    """Return the rows to look at closer, at most MOST_RANKED: the best by their own words, of equal ones the newest."""
    own: dict[int, float] = {}
    for rows in held.values():
        tells = rarity(len(rows), turns)
        for seq in rows:
            own[seq] = own.get(seq, 0.0) + tells
    return sorted(own, key=lambda seq: (own[seq], seq), reverse=True)[:MOST_RANKED]


def ranked(held: Held, turns: int, places: Iterable[Place], question: str) -> list[tuple[int, TurnScore]]:
    """Return (row, score) of every place that is meant and has a word of the question in or beside it, the best first.

    Of equal ones the newest comes first. `turns` is the number of all kept turns.
    """
    found = list(places)
    tells = {word: rarity(len(rows), turns) for word, rows in held.items()}
    at = {(place.session, place.position): place.seq for place in found}
    known = {place.seq for place in found}
    holds: dict[int, list[str]] = {}
    for word, rows in held.items():
        for seq in rows & known:
            holds.setdefault(seq, []).append(word)
    shares = _sessions(holds, found)
    named = _named({name for place in found if (name := speaker(place.head))}, question)
    scores = []
    for place in found:
        words, beside = _said(place, holds, tells, at)
        if place.is_meant and words + beside > 0:
            factor = _SPEAKER if named and speaker(place.head) == named else 1.0
            own = tuple(holds.get(place.seq, ()))
            scores.append((place.seq, TurnScore(words, beside, 1 + _SESSION * shares[place.session], factor, own)))
    return sorted(scores, key=lambda pair: (pair[1].total, pair[0]), reverse=True)


def speaker(head: str) -> str | None:
    """Return who speaks in a turn that begins with a name and a colon, folded; None when it does not."""
    match = _NAMED.match(head)
    return None if match is None else folded(match[1])


def _named(speakers: Iterable[str], question: str) -> str | None:
    """The one speaker that a question names; None when it names none or several."""
    asked = folded(question)
    found = [name for name in speakers if Word(name).found_in(asked) is By.EXACT]
    return found[0] if len(found) == 1 else None


def _said(
    place: Place,
    holds: Mapping[int, Sequence[str]],
    tells: Mapping[str, float],
    at: Mapping[tuple[tuple[str, str], int], int],
) -> tuple[float, float]:
    """What the words count that a turn holds, and what those add that are said around it."""
    times = dict.fromkeys(holds.get(place.seq, ()), 1.0)
    words = sum(tells[word] for word in times)
    for distance, share in enumerate(BESIDE, 1):
        for position in (place.position - distance, place.position + distance):
            for word in holds.get(at.get((place.session, position), -1), ()):
                times[word] = times.get(word, 0.0) + share
    return words, sum(tells[word] * _saturated(count) for word, count in times.items()) - words


def _saturated(times: float) -> float:
    """What a word counts that is said so often: 1 for once, and never as much as _SATURATED + 1."""
    return times * (_SATURATED + 1) / (times + _SATURATED)


def _sessions(holds: Mapping[int, Sequence[str]], places: Sequence[Place]) -> dict[tuple[str, str], float]:
    """What each session holds of the words, as a share of the one that holds most: 0 to 1.

    A word that most of these sessions hold does not tell which is meant.
    """
    said: dict[tuple[str, str], Counter[str]] = {}
    for place in places:
        said.setdefault(place.session, Counter()).update(holds.get(place.seq, ()))
    sessions = Counter(word for words in said.values() for word in words)
    shares = {
        session: sum(rarity(sessions[word], len(said)) * _saturated(count) for word, count in words.items())
        for session, words in said.items()
    }
    most = max(shares.values(), default=0.0) or 1.0
    return {session: share / most for session, share in shares.items()}
