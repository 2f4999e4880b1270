"""SQL of `proposals`: what waits for a person and is no memory yet (product B5, F5)."""

import json
from collections.abc import Iterable
from typing import Any

from mex_pipeline.domain.proposal import Proposal, ProposalKind, decode, encode
from mex_pipeline.store.sql import Query, Row, Statement

_COLUMNS = ("id", "kind", "reason", "created_at", "memory_id", "other_id", "candidate", "job_id")
_SELECT = "SELECT " + ", ".join(f"p.{column}" for column in _COLUMNS) + " FROM proposals p"

_SAME = {
    # A pair that is turned round is the same question.
    ProposalKind.MERGE: "(memory_id, other_id) IN (VALUES (:memory_id, :other_id), (:other_id, :memory_id))",
    ProposalKind.HOLD: " AND ".join(
        f"json_extract(candidate, '$.{key}') IS json_extract(:candidate, '$.{key}')"
        for key in ("content", "topic", "sub_topic", "action")
    ),
}
_INSERTS = {
    kind: f"INSERT INTO proposals ({', '.join(_COLUMNS)}) SELECT {', '.join(':' + column for column in _COLUMNS)} "
    f"WHERE NOT EXISTS (SELECT 1 FROM proposals WHERE kind = '{kind}' AND {same})"
    for kind, same in _SAME.items()
}

_WAITING = (
    "(p.kind = 'hold' AND (:topic IS NULL OR json_extract(p.candidate, '$.topic') = :topic) OR EXISTS "
    "(SELECT 1 FROM memories a JOIN memories b ON b.topic IS a.topic AND b.sub_topic IS a.sub_topic "
    "WHERE a.id = p.memory_id AND b.id = p.other_id AND (:topic IS NULL OR a.topic = :topic) "
    "AND a.forgotten_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > :now) "
    "AND b.forgotten_at IS NULL AND (b.expires_at IS NULL OR b.expires_at > :now)))"
)
"""A merge waits while both memories hold in one place; what was forgotten may be restored, and then waits again."""


def insert(proposal: Proposal) -> Statement:
    """Ask a person; nothing is written when the same is asked already."""
    values: dict[str, Any] = {column: getattr(proposal, column) for column in _COLUMNS}
    candidate = None if proposal.candidate is None else encode(proposal.candidate)
    return Statement(_INSERTS[proposal.kind], values | {"candidate": candidate})


def waiting(now: str, topic: str | None = None) -> Query[Proposal]:
    """The proposals that can be decided, newest first."""
    return Query(f"{_SELECT} WHERE {_WAITING} ORDER BY p.seq DESC", {"now": now, "topic": topic}, _decode)


def by_prefix(prefix: str) -> Query[Proposal]:
    """The proposals whose id begins with `prefix`: at most two, so that the caller can tell none, one, several."""
    return Query(
        f"{_SELECT} WHERE p.id >= :low AND p.id < :high ORDER BY p.id LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        _decode,
    )


def of_memories(memory_ids: Iterable[str]) -> Query[Proposal]:
    """The merges that name one of these memories, oldest first."""
    return Query(
        f"{_SELECT} WHERE p.memory_id IN (SELECT value FROM json_each(:ids)) "
        "OR p.other_id IN (SELECT value FROM json_each(:ids)) ORDER BY p.seq",
        {"ids": json.dumps(list(memory_ids))},
        _decode,
    )


def of_jobs(job_ids: Iterable[str]) -> Query[Proposal]:
    """What the jobs have asked a person, oldest first."""
    return Query(
        f"{_SELECT} WHERE p.job_id IN (SELECT value FROM json_each(:ids)) ORDER BY p.seq",
        {"ids": json.dumps(list(job_ids))},
        _decode,
    )


def every() -> Query[Proposal]:
    """Every proposal, oldest first, those that cannot be decided just now too."""
    return Query(f"{_SELECT} ORDER BY p.seq", {}, _decode)


def delete(ids: Iterable[str]) -> Statement:
    """Take proposals away: they were decided, or their words must go."""
    return Statement(
        "DELETE FROM proposals WHERE id IN (SELECT value FROM json_each(:ids))", {"ids": json.dumps(list(ids))}
    )


def _decode(row: Row) -> Proposal:
    values = {column: row[column] for column in _COLUMNS}
    candidate = None if row["candidate"] is None else decode(row["candidate"])
    return Proposal(**values | {"kind": ProposalKind(row["kind"]), "candidate": candidate})
