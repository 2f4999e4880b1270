"""Candidates, known values and what reconcile makes of them, in a few words each."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.changes import ChangeSet
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.reconcile import Snapshot, Told, reconcile
from tests.domain.examples import NOW, memory, proposal, seed_schema

SCHEMA = seed_schema()
COMPANY, SKILL = "work.company", "work.tech_stack"
T = [f"2026-07-0{day}T12:00:00Z" for day in range(10)]
"""Moments in the past, each a day after the one before."""

_numbers = count(1)


def said(at: str | None, key: str | None = None, **changes: Any) -> Source:
    """The user's verified words at a moment."""
    values: dict[str, Any] = {"role": "user", "verified": True, "said_at": at, "message_key": key}
    return Source("claude", **(values | changes))


def heard(slot: str | None, content: str, at: str | None = T[5], key: str | None = None, **changes: Any) -> Candidate:
    """A candidate with the user's verified words behind it."""
    return proposal(slot, content, **({"source": said(at, key)} | changes))


def held(slot: str | None, content: str, at: str = T[5], **changes: Any) -> Memory:
    """A value that has been known since a moment."""
    values = {"valid_from": at, "last_seen_at": at, "confidence": Confidence.EXPLICIT} | changes
    return memory(next(_numbers), slot, content)._replace(**values)


def decide(
    candidates: Iterable[Candidate], *active: Memory, retired: Iterable[Memory] = (), told: Iterable[Told] = ()
) -> ChangeSet:
    snapshot = Snapshot(active, tuple(retired), frozenset(told))
    return reconcile(candidates, snapshot, SCHEMA, now=NOW, new_id=lambda: f"n{next(_numbers)}")


def kinds(decided: ChangeSet) -> list[type]:
    return [type(change) for change in decided.changes]


def reasons(decided: ChangeSet) -> list[str]:
    return [one.reason for one in decided.discarded]


def after(decided: ChangeSet, *active: Memory) -> list[Memory]:
    """The active memories once the changes are written."""
    rows = {one.id: one for one in active} | {change.after.id: change.after for change in decided.changes}
    return [one for one in rows.values() if one.forgotten_at is None]


def contents(decided: ChangeSet, *active: Memory) -> list[str]:
    return sorted(one.content for one in after(decided, *active))
