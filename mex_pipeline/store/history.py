"""SQL of the `history` table (seed 004 ADR-7; product B8)."""

import json
from collections.abc import Iterable

from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry
from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.sql import Query, Row, Statement, value

_INSERT = (
    "INSERT INTO history (id, memory_id, event, old_content, new_content, actor, evidence, created_at, job_id, before, after) "
    "VALUES (:id, :memory_id, :event, :old_content, :new_content, :actor, :evidence, :created_at, :job_id, :before, :after)"
)


def append(entry: HistoryEntry) -> Statement:
    """Write one line of history."""
    return Statement(
        _INSERT,
        {
            "id": new_id(),
            "memory_id": entry.memory_id,
            "event": entry.event,
            "old_content": entry.old_content,
            "new_content": entry.new_content,
            "actor": entry.actor,
            "evidence": entry.evidence,
            "created_at": entry.created_at,
            "job_id": entry.job_id,
            "before": None if entry.before is None else json.dumps(entry.before, ensure_ascii=False),
            "after": None if entry.after is None else json.dumps(entry.after, ensure_ascii=False),
        },
    )


def _decode(row: Row) -> HistoryEntry:
    return HistoryEntry(
        memory_id=row["memory_id"],
        event=Event(row["event"]),
        old_content=row["old_content"],
        new_content=row["new_content"],
        actor=Actor(row["actor"]),
        evidence=row["evidence"],
        created_at=row["created_at"],
        job_id=row["job_id"],
        before=None if row["before"] is None else json.loads(row["before"]),
        after=None if row["after"] is None else json.loads(row["after"]),
    )


def of_memory(memory_id: str) -> Query[HistoryEntry]:
    """The history of one memory, oldest first."""
    return Query("SELECT * FROM history WHERE memory_id = :id ORDER BY seq", {"id": memory_id}, _decode)


def of_memories(memory_ids: Iterable[str]) -> Query[HistoryEntry]:
    """The history of several memories, oldest first."""
    return Query(
        "SELECT * FROM history WHERE memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq",
        {"ids": json.dumps(list(memory_ids))},
        _decode,
    )


def every() -> Query[HistoryEntry]:
    """The history of all memories, oldest first: what time travel reads (product B8).

    The state before a change is left out where the row before has it as its state after.
    """
    columns = "seq, memory_id, event, old_content, new_content, actor, evidence, created_at, job_id, after"
    is_told = "lag(after) OVER (PARTITION BY memory_id ORDER BY seq) IS NOT NULL"
    return Query(
        f"SELECT {columns}, CASE WHEN {is_told} THEN NULL ELSE before END AS before FROM history ORDER BY seq",
        {},
        _decode,
    )


def with_other_values() -> Query[str]:
    """The ids of the memories that may have held another value than now, or were taken back."""
    return Query(
        "SELECT memory_id FROM history WHERE old_content IS NOT NULL OR before IS NOT NULL UNION "
        "SELECT id FROM memories WHERE valid_to IS NOT NULL",
        {},
        value("memory_id"),
    )


def changed(since: str, until: str) -> Query[str]:
    """The ids of the memories that are not as they were at `since`, or whose expiry lies between it and `until`."""
    return Query(
        "SELECT memory_id FROM history WHERE created_at > :since UNION "
        "SELECT id FROM memories WHERE created_at > :since OR (expires_at > :since AND expires_at <= :until)",
        {"since": since, "until": until},
        value("memory_id"),
    )


def ids(prefix: str) -> Query[str]:
    """The ids that begin with `prefix` among memories and history, at most two; those deleted for good are in history."""
    return Query(
        "SELECT id FROM memories WHERE id >= :low AND id < :high UNION "
        "SELECT memory_id FROM history WHERE memory_id >= :low AND memory_id < :high ORDER BY 1 LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        value("id"),
    )


def deleted(since: str, until: str) -> Query[str]:
    """The ids of the memories that were deleted for good after `since` and up to `until`, in that order."""
    return Query(
        "SELECT memory_id FROM history WHERE event = 'delete' AND created_at > :since AND created_at <= :until "
        "AND memory_id NOT IN (SELECT id FROM memories) ORDER BY seq",
        {"since": since, "until": until},
        value("memory_id"),
    )


def confirmed_before_doubt(now: str) -> Query[tuple[str, str]]:
    """(memory id, earlier content) of active doubtful values that stand where a confirmed one stood (product C6).

    A doubt that replaced a doubt does not hide the confirmed value before both.
    """
    return Query(
        "SELECT m.id AS id, json_extract(h.before, '$.content') AS content FROM memories m JOIN history h ON h.seq = "
        "(SELECT max(seq) FROM history WHERE memory_id = m.id AND event = 'update' AND old_content <> new_content "
        "AND json_extract(before, '$.confidence') <> 'uncertain') "
        f"WHERE m.is_ai_inferred = 1 AND m.confidence = 'uncertain' AND {ACTIVE} "
        "AND json_extract(h.before, '$.confidence') = 'confirmed'",
        {"now": now},
        lambda row: (row["id"], row["content"]),
    )
