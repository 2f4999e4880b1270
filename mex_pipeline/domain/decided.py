"""What a person's yes to a proposal makes of the memories: two become one, a held candidate is written (product B5, F5)."""

from collections.abc import Callable, Sequence

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.changes import Add, Change, Reinforce, Retire, Revise
from mex_pipeline.domain.likeness import are_same
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.policy import last_said
from mex_pipeline.domain.reconcile import RETIRED
from mex_pipeline.domain.schema import Schema

MERGED = "merged"
"""Why a memory that went into another is forgotten."""


def fuller(memory: Memory, other: Memory) -> Memory:
    """Return the one whose content a merge keeps unless a person says otherwise: confirmed, then longer, then newer."""
    return max(
        memory, other, key=lambda one: (one.confidence is Confidence.CONFIRMED, len(one.content), one.updated_at)
    )


def merged(memory: Memory, other: Memory, content: str, now: str) -> tuple[Memory, Memory]:
    """Return both memories after their merge: `memory` stays with one of the two contents, `other` is forgotten softly.

    What stays was seen as often as both, is as sure as the surer one, and holds as long as the one that holds longer.
    """
    worded = memory if memory.content == content else other
    surer = max(memory, other, key=lambda one: one.confidence.weight)
    ends = (memory.expires_at, other.expires_at)
    stays = memory._replace(
        content=content,
        evidence=worded.evidence,
        occurred_at=worded.occurred_at,
        confidence=surer.confidence,
        is_ai_inferred=surer.is_ai_inferred,
        updated_at=now,
        valid_from=min(memory.valid_from, other.valid_from),
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        times_seen=memory.times_seen + other.times_seen,
        last_seen_at=max(last_said(memory), last_said(other)),
        is_pinned=memory.is_pinned or other.is_pinned,
    )
    return stays, other._replace(updated_at=now, forgotten_at=now, forgotten_reason=MERGED)


def in_the_way(candidate: Candidate, held: Sequence[Memory], schema: Schema) -> Memory | None:
    """Return the active memory of the candidate's slot that a yes changes: the same value, or the one it replaces."""
    if candidate.slot is None:
        return None
    slot = schema.find(*candidate.slot)
    same = next((memory for memory in held if are_same(memory.content, candidate.content)), None)
    if same is not None or candidate.action is Action.RETIRE:
        return same
    if slot is not None and slot.unique:
        return max(held, key=last_said, default=None)
    named = [memory for memory in held if candidate.replaces and _names(candidate.replaces, memory)]
    return named[0] if len(named) == 1 else None


def _names(target: str, memory: Memory) -> bool:
    """True for the handle of a memory, `#` and the first characters of its id, and for its content (product C11)."""
    if target.startswith("#"):
        return len(target) > 4 and memory.id.startswith(target[1:].lower())
    return are_same(target, memory.content)


def accepted(
    candidate: Candidate, held: Sequence[Memory], schema: Schema, *, now: str, new_id: Callable[[], str]
) -> Change | None:
    """Return the change that a person's yes to a held candidate is, None for a retire that finds nothing.

    `held` are the active memories of its slot. It holds since it was said, or since now where a later statement gives
    way to it; a person vouches for it, so it is `confirmed`.
    """
    said = (candidate.source.said_at if candidate.source else None) or now
    before = in_the_way(candidate, held, schema)
    if candidate.action is Action.RETIRE:
        if before is None:
            return None
        gone = before._replace(updated_at=now, valid_to=now, forgotten_at=now, forgotten_reason=RETIRED)
        return Retire(before, gone, candidate.source)
    if before is not None and are_same(before.content, candidate.content):
        again = before._replace(
            confidence=Confidence.CONFIRMED,
            updated_at=now,
            times_seen=before.times_seen + 1,
            last_seen_at=max(said, last_said(before)),
        )
        return Reinforce(before, again, candidate.source)
    valid_from = now if before is not None and last_said(before) > said else said
    after = Memory(
        id=new_id() if before is None else before.id,
        topic=candidate.topic,
        sub_topic=candidate.sub_topic,
        content=candidate.content,
        is_ai_inferred=candidate.is_ai_inferred,
        confidence=Confidence.CONFIRMED,
        evidence=candidate.evidence or candidate.quote,
        created_at=now if before is None else before.created_at,
        updated_at=now,
        valid_from=valid_from,
        occurred_at=candidate.occurred_at,
        expires_at=schema.policy_of(candidate.topic, candidate.sub_topic).expiry(now),
        last_seen_at=valid_from,
        is_pinned=before is not None and before.is_pinned,
    )
    return Add(after, candidate.source) if before is None else Revise(before, after, candidate.source)
