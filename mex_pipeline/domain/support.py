"""The evidence lock: what the words of one answer's candidates prove, taken together (product B3, C11)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.domain.coverage import COVERED, as_said, changes_language, coverage
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.rules import TOPICS_OF_OTHERS, at_most
from mex_pipeline.domain.schema import Slot
from mex_pipeline.domain.stance import Stance, stance
from mex_pipeline.domain.structured import text_fields

MAX_OWN_WORDS = 80
"""Characters up to which a quote can stand for a value that a model has translated."""

_FOR_WISHES = ("goal", "plan", "idea", "wish", "search", "focus", "concern")
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


def out_of_place(candidate: Candidate, slot: Slot | None, turn: Turn | None) -> Stance | None:
    """Return why the words around a value keep it out of its slot, as `domain.stance` tells, or None.

    Records may tell of others and of days that pass; family and relationship slots of others, slots for goals and
    plans of wishes and of what is looked for, slots with a `ttl` of what passes.
    """
    source = candidate.source
    if slot is None or turn is None or source is None or candidate.action is Action.RETIRE:
        return None
    start, end = source.quote_start, source.quote_end
    if start is None or end is None:
        return None
    reason = stance(turn.text, start, end, candidate.content)
    is_wished = any(word in slot.name for word in _FOR_WISHES)
    is_exempt = {
        Stance.ABOUT_OTHER: slot.topic in TOPICS_OF_OTHERS,
        Stance.HYPOTHETICAL: is_wished,
        Stance.ASKED_FOR: is_wished or slot.topic == _SERVICE,
        Stance.TEMPORARY: slot.policy.ttl is not None,
    }
    return None if reason is None or is_exempt.get(reason, False) else reason


@dataclass(frozen=True, slots=True)
class _Claim:
    """A candidate and whether the turn it names proves it: quoted from it, its value in the user's own words there."""

    candidate: Candidate
    is_verified: bool
    is_covered: bool

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
    is_covered = candidate.action is Action.RETIRE or coverage(candidate.content, words) >= COVERED
    return _Claim(candidate, source is not None and source.verified, is_covered)


def _verdict(claim: _Claim, proven: Sequence[Candidate]) -> Candidate | Discarded:
    candidate = claim.candidate
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
