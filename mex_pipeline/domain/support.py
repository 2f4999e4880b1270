"""The evidence lock: what the words of one answer's candidates prove, taken together (product B3, C11)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.domain.coverage import COVERED, as_said, changes_language, coverage
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.rules import TOPICS_OF_OTHERS, at_most
from mex_pipeline.domain.schema import Slot
from mex_pipeline.domain.stance import Stance, stance
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import find_quote

MAX_OWN_WORDS = 80
"""Characters up to which a quote can stand for a value that a model has translated."""

_FOR_WISHES = ("goal", "plan", "idea", "wish", "search", "focus", "concern")
_ENDS = re.compile(
    r"""n['’]t\b|\b(?:no|not|never|nothing|none|stop\w*|quit\w*|g[ai]ven?\ up|giving\ up|end(?:ed|s)?|done|over|former\w*|ex
    |used\ to|instead|switch\w*|chang\w*|mov\w*|left|leav\w*|sold|lost|los\w+|drop\w*|cancel\w*|finish\w*|forget|longer|now
    |already|remove|replac\w*|rather|delete|wrong|actually|without|broke|died|gone|dead|since|until|return\w*|retir\w*|only|bor\w+|hat\w+)\b
    |[不没别戒停改换辞离卖丢弃消忘删错完退搬掉死走转只无]|结束|分手|毕业|去世|已经|现在|以前|曾经|讨厌|腻""",
    re.VERBOSE | re.IGNORECASE,
)
"""What says that something has ended or changed."""

_FOR_DENIALS = ("avoid", "dislike", "taboo", "past", "former", "previous", "history", "experience")
_SERVICE = "interaction"
"""The topic of how to be served: what is asked for there is the very thing to remember."""


def in_own_words(candidate: Candidate) -> Candidate:
    """Return the candidate with its value as the user put it: never an article or a full stop more."""
    quote = _quote(candidate)
    return candidate if quote is None else replace(candidate, content=as_said(candidate.content, quote))


def in_own_language(candidate: Candidate) -> Candidate | Discarded:
    """Return the candidate in the language it was said in: a translated value gives way to the quote.

    A long or structured one is discarded with `other_language`.
    """
    quote = _quote(candidate)
    if quote is None or not changes_language(candidate.content, quote):
        return candidate
    if text_fields(candidate.content) is not None or len(quote) > MAX_OWN_WORDS:
        return Discarded(candidate.content, "other_language")
    return replace(candidate, content=quote.strip())


def _quote(candidate: Candidate) -> str | None:
    """The words a value rests on, when they were said; a `retire` repeats a known value and is left as it is."""
    source = candidate.source
    is_said = source is not None and source.verified and candidate.action is not Action.RETIRE
    return source.quote if source and is_said else None


def out_of_place(candidate: Candidate, slot: Slot | None, turns: Sequence[Turn]) -> Stance | None:
    """Return why the words around a value keep it out of its slot, as `domain.stance` tells, or None.

    `turns` are what its words may stand in. Where its quote was not said, the words are those around the value itself,
    and one place where it is plainly said is enough. A value is not taken back by what is only wished for.

    Records may tell of others and of days that pass; family and relationship slots of others, slots for goals and
    plans of wishes and of what is looked for, slots with a `ttl` of what passes.
    """
    if slot is None:
        return None
    places = _places(candidate, turns)
    if candidate.action is Action.RETIRE:
        ended = next((stance(turn.text, start, end, "") for turn, start, end in places), None)
        return ended if ended in (Stance.HYPOTHETICAL, Stance.QUOTED) else None
    reasons = [stance(turn.text, start, end, candidate.content) for turn, start, end in places]
    reason = None if None in reasons else next(iter(reasons), None)
    is_wished = any(word in slot.name for word in _FOR_WISHES)
    is_exempt = {
        Stance.ABOUT_OTHER: slot.topic in TOPICS_OF_OTHERS,
        Stance.HYPOTHETICAL: is_wished,
        Stance.ASKED_FOR: is_wished or slot.topic == _SERVICE,
        Stance.TEMPORARY: slot.policy.ttl is not None,
        Stance.DENIED: any(word in slot.name for word in _FOR_DENIALS),
    }
    return None if reason is None or is_exempt.get(reason, False) else reason


def _places(candidate: Candidate, turns: Sequence[Turn]) -> Iterator[tuple[Turn, int, int]]:
    """Yield where its quote stands; where that was not said, each place of its value."""
    source = candidate.source
    if source is not None and source.quote_start is not None and source.quote_end is not None:
        yield from ((one, source.quote_start, source.quote_end) for one in turns if one.key == source.message_key)
        return
    for turn in turns:
        at = 0
        while found := find_quote(turn.text[at:], candidate.content):
            yield turn, at + found[0], at + found[1]
            at += found[1]


@dataclass(frozen=True, slots=True)
class _Claim:
    """A candidate and whether the turn it names proves it: quoted from it, its value in the user's own words there.

    `ends_unsaid`: it takes a value back, of which the turn says nothing, nor that anything has ended or changed.
    """

    candidate: Candidate
    is_verified: bool
    is_covered: bool
    ends_unsaid: bool = False

    @property
    def is_proven(self) -> bool:
        return self.is_verified and self.is_covered


def supported(
    candidates: Sequence[Candidate], chunk: Chunk, *, beside: Sequence[Candidate] = ()
) -> list[Candidate | Discarded]:
    """Return the candidates of one answer as far as the user's words carry them; `beside` are all the answer proposed.

    What does not stand in the words it claims is a paraphrase at best: its tier is `inferred`. A slot's value is an
    invention (`unsupported`) where the same words already prove another candidate; records retell, so they stay.
    """
    texts = {turn.key: turn.text for turn in chunk.turns}
    anything = "\n".join(turn.text for turn in chunk.turns if turn.role == "user")
    proven = [claim.candidate for one in beside if (claim := _claim(one, texts, anything)).is_proven]
    return [_verdict(_claim(one, texts, anything), proven) for one in candidates]


def _claim(candidate: Candidate, texts: dict[str, str], anything: str) -> _Claim:
    source = candidate.source
    words = texts.get((source and source.message_key) or "", anything)
    share, is_retire = coverage(candidate.content, words), candidate.action is Action.RETIRE
    ends_unsaid = is_retire and not share and _ENDS.search(words) is None
    return _Claim(candidate, source is not None and source.verified, is_retire or share >= COVERED, ends_unsaid)


def _verdict(claim: _Claim, proven: Sequence[Candidate]) -> Candidate | Discarded:
    candidate = claim.candidate
    if claim.ends_unsaid:
        return Discarded(candidate.content, "retire_unverified")
    if claim.is_covered or candidate.is_ai_inferred:
        return candidate
    if candidate.slot is not None and any(_rests_on_the_same(candidate, other) for other in proven):
        return Discarded(candidate.content, "unsupported")
    return replace(candidate, confidence=at_most(Confidence.INFERRED, candidate.confidence))


def _rests_on_the_same(candidate: Candidate, other: Candidate) -> bool:
    """True when the other's words are the candidate's too; a quote that nobody said may be any words of its turn."""
    one, two = candidate.source, other.source
    if one is None or two is None or one.message_key not in (None, two.message_key):
        return False
    if not one.verified or one.quote_start is None or one.quote_end is None:
        return True
    if two.quote_start is None or two.quote_end is None:
        return False
    return one.quote_start < two.quote_end and two.quote_start < one.quote_end
