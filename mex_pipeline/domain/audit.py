"""What in an existing database deserves a second look: suspects by kind, and why (product F1, F5, B3, B4; peers §3)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from mex_pipeline.domain.boilerplate import boilerplate
from mex_pipeline.domain.coverage import changes_language
from mex_pipeline.domain.instruction import poison
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.when import Unresolved, resolve


class Kind(StrEnum):
    """What may be wrong with a memory, in the order of the report."""

    UNVERIFIED = "unverified"
    ASSISTANT_CLAIMED = "assistant_claimed"
    INSTRUCTION = "instruction"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    BOILERPLATE = "boilerplate"
    FOREIGN_LANGUAGE = "foreign_language"
    RELATIVE_TIME = "relative_time"
    DUPLICATE = "duplicate"


class Remedy(StrEnum):
    """What `--fix` does with the suspects of a kind: nobody's memory is confirmed, changed in value or lost by it."""

    REVIEW = "review"
    FORGET = "forget"
    REDACT = "redact"
    MERGE = "merge"


REMEDIES: Mapping[Kind, Remedy] = MappingProxyType(
    {
        Kind.UNVERIFIED: Remedy.REVIEW,
        Kind.ASSISTANT_CLAIMED: Remedy.FORGET,
        Kind.INSTRUCTION: Remedy.FORGET,
        Kind.SECRET: Remedy.REDACT,
        Kind.BOILERPLATE: Remedy.FORGET,
        Kind.FOREIGN_LANGUAGE: Remedy.REVIEW,
        Kind.RELATIVE_TIME: Remedy.REVIEW,
        Kind.DUPLICATE: Remedy.MERGE,
    }
)


@dataclass(frozen=True, slots=True)
class Told:
    """A memory with where it was said, and who wrote it.

    `is_extracted` says that an extraction wrote it, `is_typed` that no model or agent ever did. `heard` are the roles of
    the kept turns in which its unverified quotes stand.
    """

    memory: Memory
    sources: tuple[Source, ...] = ()
    is_extracted: bool = False
    is_typed: bool = False
    heard: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A memory that deserves a second look: the reason is a message id, `facts` its parameters.

    Of a duplicate `other` is the memory that would stay; only of a kept turn with a secret `memory` is None.
    """

    kind: Kind
    memory: Memory | None
    reason: str
    facts: Mapping[str, str] = field(default_factory=dict)
    other: Memory | None = None


Finding = tuple[str, dict[str, str]]
"""(reason, facts)"""


def suspects(told: Told, kinds: Iterable[Kind]) -> list[Suspect]:
    """Return what is suspicious about an active memory by itself; secrets and duplicates are found elsewhere."""
    found = ((kind, _CHECKS[kind](told)) for kind in kinds if kind in _CHECKS)
    return [Suspect(kind, told.memory, *finding) for kind, finding in found if finding]


def needs_turns(told: Told) -> bool:
    """True when only the kept turns can tell who said the words: there are quotes, and none was found."""
    return any(one.quote for one in told.sources) and not any(one.verified for one in told.sources)


def in_review(memory: Memory) -> Memory:
    """Return the memory as one that waits for a person: inferred at best (product C6, F1)."""
    weak = memory.confidence.weight < Confidence.INFERRED.weight
    return memory._replace(is_ai_inferred=True, confidence=memory.confidence if weak else Confidence.INFERRED)


def _unverified(told: Told) -> Finding | None:
    """What nobody has found in a conversation, though it was taken from one; not what waits for review already."""
    memory = told.memory
    if memory.is_ai_inferred or memory.confidence not in (Confidence.EXPLICIT, Confidence.INFERRED):
        return None
    if told.sources:
        return None if any(one.verified for one in told.sources) else ("quote_not_found", {})
    return ("no_source", {}) if told.is_extracted else None


def _assistant_claimed(told: Told) -> Finding | None:
    if _is_vouched_for(told.memory) or not told.sources:
        return None
    if all(one.role == "assistant" for one in told.sources):
        return "said_by_assistant", {}
    return ("heard_from_assistant", {}) if needs_turns(told) and told.heard == {"assistant"} else None


def _instruction(told: Told) -> Finding | None:
    memory, said = told.memory, [one for one in told.sources if one.verified and one.role == "user"]
    texts = (memory.content, memory.evidence, *(one.quote for one in told.sources))
    found = poison(texts, topic=memory.topic, is_users=bool(said) or told.is_typed)
    return ("reads_as_instruction", {"signs": ", ".join(sorted(found))}) if found else None


def _foreign_language(told: Told) -> Finding | None:
    quotes = [one.quote for one in told.sources if one.quote and one.verified]
    if _waits_or_stands(told.memory) or not quotes:
        return None
    is_foreign = all(changes_language(told.memory.content, quote) for quote in quotes)
    return ("other_language", {}) if is_foreign else None


def _relative_time(told: Told) -> Finding | None:
    if _waits_or_stands(told.memory):
        return None
    fields = text_fields(told.memory.content)
    for value in fields.values() if fields else [told.memory.content]:
        if _POINTING.search(value) and _UNIT.search(value):
            read = resolve(value, None)
            if isinstance(read, Unresolved):
                return "relative_word", {"word": read.word}
    return None


def _boilerplate(told: Told) -> Finding | None:
    found = None if _is_vouched_for(told.memory) else boilerplate(told.memory.content)
    return (found, {}) if found else None


def _is_vouched_for(memory: Memory) -> bool:
    return memory.confidence is Confidence.CONFIRMED


def _waits_or_stands(memory: Memory) -> bool:
    """True when a person has decided about a memory, or will: then there is nothing to put into review."""
    return _is_vouched_for(memory) or memory.is_ai_inferred


_POINTING = re.compile(
    r"[今明昨前后後上下这這本去来來过過未近刚剛方底末]"
    r"|\b(?:to(?:day|morrow|night)|yesterday|last|this|next|coming|past|ago|now|in|end|other)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    "[天日儿兒晚早晨夜周週期禮礼月季学學年钟鐘头頭時时才半]|day|night|morrow|morning|afternoon|evening|week|month|year"
    "|quarter|minute|hour|spring|summer|autumn|fall|winter|semester|moment|now|january|february|march|april|may|june|july"
    "|august|september|october|november|december",
    re.IGNORECASE,
)
"""Every relative phrase holds a word of both; reading a text against all of them takes far longer."""

_CHECKS: Mapping[Kind, Callable[[Told], Finding | None]] = {
    Kind.UNVERIFIED: _unverified,
    Kind.ASSISTANT_CLAIMED: _assistant_claimed,
    Kind.INSTRUCTION: _instruction,
    Kind.BOILERPLATE: _boilerplate,
    Kind.FOREIGN_LANGUAGE: _foreign_language,
    Kind.RELATIVE_TIME: _relative_time,
}
