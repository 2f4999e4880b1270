"""What waits for a person's decision and is no memory yet: two values that may be one, a candidate held back (product B5, F5)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from mex_pipeline.domain.candidate import About, Action, Candidate
from mex_pipeline.domain.changes import Hold, Merge
from mex_pipeline.domain.memory import Confidence, Source

SIMILAR = "similar"
"""Why two values are proposed as one."""


class ProposalKind(StrEnum):
    """What a person is asked: whether two memories are one, or whether a candidate may become a memory."""

    MERGE = "merge"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One question to a person. A merge names two memories: `other_id` would go into `memory_id`; a hold has its candidate.

    `reason` is a message id (`similar`; of a hold why it is held: `instruction`, …), `created_at` UTC ISO.
    """

    id: str
    kind: ProposalKind
    reason: str
    created_at: str
    memory_id: str | None = None
    other_id: str | None = None
    candidate: Candidate | None = None
    job_id: str | None = None


def merge(stays: str, goes: str, *, now: str, new_id: Callable[[], str], job_id: str | None = None) -> Proposal:
    """Return the proposal that the memory `goes` be put into the memory `stays`; both are ids."""
    return Proposal(new_id(), ProposalKind.MERGE, SIMILAR, now, memory_id=stays, other_id=goes, job_id=job_id)


def hold(
    candidate: Candidate, reason: str, *, now: str, new_id: Callable[[], str], job_id: str | None = None
) -> Proposal:
    """Return the proposal that a candidate become a memory."""
    return Proposal(new_id(), ProposalKind.HOLD, reason, now, candidate=candidate, job_id=job_id)


def proposed(
    merges: Sequence[Merge], holds: Sequence[Hold], *, now: str, new_id: Callable[[], str], job_id: str | None = None
) -> list[Proposal]:
    """Return what a person is to be asked after an extraction, in the order in which it was decided."""
    pairs = [merge(one.memory.id, one.other.id, now=now, new_id=new_id, job_id=job_id) for one in merges]
    return pairs + [hold(one.candidate, one.reason, now=now, new_id=new_id, job_id=job_id) for one in holds]


def encode(candidate: Candidate) -> str:
    """Return a candidate, its source included, as one JSON object."""
    source = candidate.source and candidate.source._asdict()
    return json.dumps(asdict(candidate) | {"source": source}, ensure_ascii=False)


def decode(text: str) -> Candidate:
    """Return the candidate that `encode` wrote."""
    values = json.loads(text)
    source = values.pop("source")
    return Candidate(
        **values
        | {
            "action": Action(values["action"]),
            "confidence": Confidence(values["confidence"]),
            "about": About(values["about"]),
            "source": None if source is None else Source(**source),
        }
    )
