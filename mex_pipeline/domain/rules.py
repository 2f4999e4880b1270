"""Who may write what: the checks every memory passes before it is written or reconciled (seed 004 §3.3, §3.5, §7.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import About, Action, Candidate, Discarded
from mex_pipeline.domain.memory import Actor, Confidence, Memory
from mex_pipeline.domain.schema import Schema, Slot
from mex_pipeline.domain.structured import is_json, normalise, require_fits, require_storable
from mex_pipeline.errors import InvalidContent, InvalidSlot

TOPICS_OF_OTHERS = frozenset({"family", "relationship"})
"""Where other people are described; everywhere else a slot is the user's own (product C11)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A write that may go ahead: its slot (None for a record), the content as stored, and the tier it gets."""

    slot: Slot | None
    content: str
    confidence: Confidence


def check_write(
    schema: Schema,
    *,
    topic: str | None,
    sub_topic: str | None,
    content: str,
    confidence: Confidence | None,
    actor: Actor,
) -> Checked:
    """Return what `mex add` may write: a person may give any tier, a model at most `explicit` (product F4).

    Without a tier it is the highest the actor may give: a person's word is `confirmed` (seed 004 §3.3, §5.1). What was
    typed is stored exactly or refused. Raises InvalidSlot as `Schema.locate`, InvalidContent as `normalise`,
    `require_fits` and `require_storable` of `structured`.
    """
    slot = schema.locate(topic, sub_topic)
    require_fits(content)
    require_storable(slot, content)
    return Checked(slot, normalise(slot, content), given_by(actor, confidence))


def given_by(actor: Actor, confidence: Confidence | None) -> Confidence:
    """Return the tier as this actor may give it; without one the highest (seed 004 §3.3, product F4)."""
    highest = Confidence.CONFIRMED if actor is Actor.USER else Confidence.EXPLICIT
    return at_most(highest, confidence or highest)


def is_guarded(memory: Memory) -> bool:
    """True for a confirmed value, and for a doubt, which may stand over one: only a person changes these (product C6, P7)."""
    is_doubt = memory.is_ai_inferred and memory.confidence is Confidence.UNCERTAIN
    return is_doubt or memory.confidence is Confidence.CONFIRMED


def check_candidate(schema: Schema, candidate: Candidate) -> Candidate | Discarded:
    """Return the candidate as the rules let it stand, or why it is discarded (seed 004 §6.1 step 5, §7.2).

    The tier is never `confirmed`; an `uncertain_update` is `uncertain` and inferred whatever the model says. A record
    has nothing to update, so there both updates become `new`, the uncertain one keeping its doubt. Discarded with
    `hypothetical`, `about_other`, `retire_unique`, `retire_needs_slot`, `content_not_text` (JSON where no fields are
    declared: several values in one array, an object for a plain value), or the code and facts of the InvalidSlot or
    InvalidContent that a person's write would have raised.
    """
    try:
        slot = schema.locate(candidate.topic, candidate.sub_topic)
        reason = _refusal(candidate, slot)
        if reason is not None:
            return Discarded(candidate.content, reason, {"slot": slot.path} if slot else {})
        require_fits(candidate.content)
        content = normalise(slot, candidate.content)
        if not (slot and slot.fields) and is_json(content):
            return Discarded(candidate.content, "content_not_text")
    except (InvalidSlot, InvalidContent) as error:
        return Discarded(candidate.content, error.code, _facts(error.params))
    is_doubtful = candidate.action is Action.UNCERTAIN_UPDATE
    return replace(
        candidate,
        content=content,
        action=candidate.action if slot else Action.NEW,
        is_ai_inferred=candidate.is_ai_inferred or is_doubtful,
        confidence=Confidence.UNCERTAIN if is_doubtful else at_most(Confidence.EXPLICIT, candidate.confidence),
    )


def at_most(limit: Confidence, confidence: Confidence) -> Confidence:
    """Return the lower of the two tiers."""
    return min(limit, confidence, key=lambda tier: tier.weight)


def _refusal(candidate: Candidate, slot: Slot | None) -> str | None:
    if candidate.about is About.HYPOTHETICAL:
        return "hypothetical"
    if candidate.about is About.OTHER and slot is not None and slot.topic not in TOPICS_OF_OTHERS:
        return "about_other"
    if candidate.action is Action.RETIRE and slot is None:
        return "retire_needs_slot"
    if candidate.action is Action.RETIRE and slot is not None and slot.unique:
        return "retire_unique"
    return None


def _facts(params: Mapping[str, object]) -> dict[str, str]:
    return {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in params.items()}
