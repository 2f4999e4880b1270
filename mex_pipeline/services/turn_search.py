"""Finding what was said, in the kept turns, without a model or a network (product B10, P2)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain import highlight, turn_ranking
from mex_pipeline.domain.kept import KeptTurn, matching
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.ranking import rarest
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.turn_ranking import MOST_RANKED, TurnScore, is_han
from mex_pipeline.domain.words import pieces, terms
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.search import check_page
from mex_pipeline.store import turn_search, turns
from mex_pipeline.store.database import Database
from mex_pipeline.store.turns import Which

_ONE_WORD = 2
"""What a single word is cut into at most: who looks for one wants it itself, not what is said beside it."""

Ranked = tuple[int, TurnScore | None]
"""A row and its score; None: all words stand in it as parts of others, or none was asked for."""


@dataclass(frozen=True, slots=True)
class TurnHit:
    """A kept turn that was found, the kept turns beside it, and the active memories that rest on it.

    `words` are those by which it was found.
    """

    turn: KeptTurn
    score: TurnScore | None
    words: tuple[str, ...]
    before: KeptTurn | None
    after: KeptTurn | None
    memories: tuple[Memory, ...]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the words that it was found by stand in a text of it, as (start, end)."""
        return highlight.spans(text, self.words)

    def to_plain(self, *, is_explained: bool) -> dict[str, Any]:
        """Return the JSON object: the turn, those beside it, its memories, `score` and, when asked for, `explained`."""
        one = self.turn
        shape: dict[str, Any] = {
            "agent": one.agent, "session": one.session, "message_id": one.message_id, "role": one.role,
            "kind": one.kind, "said_at": one.said_at, "kept_at": one.kept_at, "project": one.project,
            "source_file": one.source_file, "text": one.text, "before": _beside(self.before), "after": _beside(self.after),
            "memories": [
                {"id": memory.id, "topic": memory.topic, "sub_topic": memory.sub_topic, "content": memory.content}
                for memory in self.memories
            ],
            "score": None if self.score is None else self.score.total,
        }  # fmt: skip
        return shape | ({"explained": self.score and self.score.to_plain()} if is_explained else {})


def _beside(turn: KeptTurn | None) -> dict[str, Any] | None:
    return None if turn is None else {"role": turn.role, "said_at": turn.said_at, "text": turn.text}


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """One page of hits, and how many there are in all; of more than that, only so many of the best were looked at."""

    hits: tuple[TurnHit, ...]
    total: int
    is_more: bool = False


def within(app: App, *, session: str | None, agent: str | None) -> Which:
    """Return where to search; a session by its id or the beginning of it. Raises as `kept.matching`."""
    if session is not None:
        known = set(app.db.all(turn_search.sessions(agent)))
        agent, session = matching(session, known, "--agent")
    return Which(agent=agent, session=session)


def find(app: App, wanted: Selection, within: Which, *, limit: int = 50, offset: int = 0) -> FoundTurns:
    """Return one page of the kept turns that hold words of a question, the best first; without words the newest.

    `phrases`, `keyword` and what is excluded are literal. Turns in which all words stand, be it as parts of others, are
    always found, the newest first: behind the rest, or before it when a word is one that nobody said whole. Raises InvalidInput
    for numbers out of range, and `turns_condition` (`condition`) for one that only memories have.
    """
    check_page(limit, offset)
    _only_of_turns(wanted)
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        if not (wanted.literal or wanted.words):
            newest = view.all(turn_search.newest(wanted, within, limit=limit, offset=offset))
            total = view.first(turn_search.count(wanted, within)) or 0
            return FoundTurns(_hits(view, [(seq, None) for seq in newest], wanted, now), total)
        found, is_more = _ranked(view, wanted, within, offset + limit + 1)
        hits = _hits(view, found[offset : offset + limit], wanted, now)
    return FoundTurns(hits, len(found), is_more)


def _only_of_turns(wanted: Selection) -> None:
    given = {
        "topic": wanted.topic, "sub-topic": wanted.sub_topic, "inferred": wanted.ai_inferred,
        "confidence": wanted.confidence, "include-forgotten": wanted.include_forgotten or None,
    }  # fmt: skip
    condition = next((name for name, value in given.items() if value is not None), None)
    if condition is not None:
        raise InvalidInput("turns_condition", condition=condition)


def _ranked(view: Database, wanted: Selection, within: Which, least: int) -> tuple[list[Ranked], bool]:
    """Return what was found in its order, and whether there may be more; so many are enough as `least`."""
    asked = (*wanted.literal, *wanted.words)
    question = " ".join(asked)
    counts = dict(view.all(turn_search.counts(terms(question))))
    held = {term: set(view.all(turn_search.holders(term, wanted, within))) for term in rarest(counts)}
    turns_in_all = view.first(turn_search.total()) or 0
    top = turn_ranking.foremost(held, turns_in_all)
    places = view.all(turn_search.around(top, wanted, within))
    found: list[Ranked] = list(turn_ranking.ranked(held, turns_in_all, places, question))
    if len(asked) == 1 and len(counts) <= _ONE_WORD:
        found = [one for one in found if one[1] and one[1].held]
    is_more = len(top) == MOST_RANKED
    if held:
        # Of a common word more turns have it than are ranked.
        found += _unscored(set.intersection(*held.values()) - {seq for seq, _ in found})
    if _is_new(asked, counts):
        parts = dict.fromkeys(view.all(turn_search.holding(wanted, within, limit=least)))
        scores = dict(found)
        found = [*((seq, scores.get(seq)) for seq in parts), *(one for one in found if one[0] not in parts)]
        is_more = is_more or len(parts) == least
    elif any(map(_may_be_part, asked)):
        but = [seq for seq, _ in found]
        if len(found) < least:
            found += _unscored(view.all(turn_search.holding(wanted, within, limit=least - len(found), but=but)))
        is_more = is_more or len(found) >= least
    if wanted.words and len(found) < least and any(map(_may_be_part, wanted.literal)):
        # The index does not tell which turns hold these and only some of the words.
        alone, but = wanted._replace(words=()), [seq for seq, _ in found]
        found += _unscored(view.all(turn_search.holding(alone, within, limit=least - len(found), but=but)))
        is_more = is_more or len(found) >= least
    return found, is_more


def _unscored(seqs: Collection[int]) -> list[Ranked]:
    """The rows without a score, the newest first."""
    return [(seq, None) for seq in sorted(seqs, reverse=True)]


def _is_new(asked: Sequence[str], counts: Mapping[str, int]) -> bool:
    """True when a word of the question is one that the index of words does not have, or no word at all but signs."""
    unknown = any(not count and not is_cjk for term, count in counts.items() for is_cjk, _ in pieces(term))
    return unknown or not all(any(True for _ in pieces(word)) for word in asked)


def _may_be_part(word: str) -> bool:
    """True when a turn may hold a word that the index of words does not find in it: as a part of another."""
    return not all(is_han(piece) for _, piece in pieces(word))


def _hits(view: Database, page: Sequence[Ranked], wanted: Selection, now: str) -> tuple[TurnHit, ...]:
    seqs = [seq for seq, _ in page]
    rows = dict(view.all(turn_search.rows(seqs)))
    memories: dict[int, list[Memory]] = {}
    for seq, memory in view.all(turn_search.produced(seqs, now)):
        memories.setdefault(seq, []).append(memory)
    return tuple(
        TurnHit(
            turn=rows[seq],
            score=score,
            words=_words(score, wanted),
            before=view.first(turns.nearest(rows[seq], earlier=True)),
            after=view.first(turns.nearest(rows[seq], earlier=False)),
            memories=tuple(memories.get(seq, ())),
        )
        for seq, score in page
    )


def _words(score: TurnScore | None, wanted: Selection) -> tuple[str, ...]:
    """What to mark in a turn: single Chinese characters only where nothing longer was found."""
    if score is None:
        return (*wanted.literal, *wanted.words)
    told = [word for word in score.held if len(word) > 1 or not is_han(word)]
    return (*wanted.literal, *(told or score.held))
