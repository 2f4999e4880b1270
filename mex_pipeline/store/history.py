"""SQL of the `history` table (seed 004 ADR-7; product B8)."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry
from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.sql import Query, Row, Statement, value, where

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


def last_purge() -> Query[int]:
    """The number of the newest line that tells of a purge; 0 when nothing was ever purged."""
    return Query("SELECT coalesce(max(seq), 0) AS n FROM history WHERE event = 'delete'", {}, value("n"))


def purged_ids(prefix: str) -> Query[str]:
    """Ids, at most two, that begin with `prefix` and whose memory was forgotten for good: only a `delete` line is left."""
    return Query(
        "SELECT DISTINCT memory_id FROM history WHERE memory_id >= :low AND memory_id < :high AND event = 'delete' "
        "AND NOT EXISTS (SELECT 1 FROM memories WHERE memories.id = history.memory_id) LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        value("memory_id"),
    )


def deleted(since: str, until: str) -> Query[str]:
    """The ids of the memories that were deleted for good after `since` and up to `until`, in that order."""
    return Query(
        "SELECT memory_id FROM history WHERE event = 'delete' AND created_at > :since AND created_at <= :until "
        "AND memory_id NOT IN (SELECT id FROM memories) ORDER BY seq",
        {"since": since, "until": until},
        value("memory_id"),
    )


def confirmed_before_doubt(now: str, ids: Iterable[str] | None = None) -> Query[tuple[str, str]]:
    """(memory id, earlier content) of active doubtful values that stand where a confirmed one stood (product C6).

    Of the memories with these ids, or of all. A doubt that replaced a doubt does not hide the confirmed value before
    both. What came after the doubt when it was first written, and was undone, tells nothing about it (product P6).
    """
    return Query(
        "SELECT m.id AS id, json_extract(h.before, '$.content') AS content FROM memories m JOIN history h ON h.seq = "
        "(SELECT max(seq) FROM history WHERE memory_id = m.id AND event = 'update' AND old_content <> new_content "
        "AND json_extract(before, '$.confidence') <> 'uncertain' AND seq <= coalesce((SELECT min(seq) FROM history "
        "WHERE memory_id = m.id AND new_content = m.content AND json_extract(after, '$.valid_from') = m.valid_from "
        "AND json_extract(after, '$.confidence') = 'uncertain'), seq)) "
        f"WHERE m.is_ai_inferred = 1 AND m.confidence = 'uncertain' AND {ACTIVE} "
        "AND json_extract(h.before, '$.confidence') = 'confirmed'"
        + ("" if ids is None else " AND m.id IN (SELECT value FROM json_each(:ids))"),
        {"now": now} | ({} if ids is None else {"ids": json.dumps(list(ids))}),
        lambda row: (row["id"], row["content"]),
    )


def of_jobs(job_ids: Iterable[str]) -> Query[HistoryEntry]:
    """What the jobs have written, oldest first."""
    return Query(
        "SELECT * FROM history WHERE job_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq",
        {"ids": json.dumps(list(job_ids))},
        _decode,
    )


def latest(memory_ids: Iterable[str]) -> Query[HistoryEntry]:
    """The last line of each of the memories."""
    return Query(
        "SELECT * FROM history WHERE seq IN (SELECT max(seq) FROM history "
        "WHERE memory_id IN (SELECT value FROM json_each(:ids)) GROUP BY memory_id)",
        {"ids": json.dumps(list(memory_ids))},
        _decode,
    )


def named_jobs(prefix: str) -> Query[str]:
    """The jobs that history names and whose id begins with `prefix`, at most two: their rows may have been pruned."""
    return Query(
        "SELECT DISTINCT job_id FROM history WHERE job_id >= :low AND job_id < :high LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        value("job_id"),
    )


def newest_job() -> Query[str]:
    """The job that changed memories last and is still listed."""
    return Query(
        "SELECT id FROM jobs WHERE state = 'succeeded' AND ((kind = 'restore' AND outcome = 'committed') "
        "OR EXISTS (SELECT 1 FROM history h WHERE h.job_id = jobs.id AND (h.actor = 'ai' OR h.event = 'undo'))) "
        "ORDER BY finished_at DESC, seq DESC LIMIT 1",
        {},
        value("id"),
    )


class Filter(NamedTuple):
    """Which changes are meant: of these jobs, of memories that are in a topic, by whom, in a time (UTC ISO, both ends in)."""

    jobs: tuple[str, ...] | None = None
    topic: str | None = None
    actor: Actor | None = None
    since: str | None = None
    until: str | None = None


def journal(wanted: Filter, *, limit: int, offset: int = 0) -> Query[tuple[HistoryEntry, str | None, str | None]]:
    """(line, agent and session whose words its job read) of all changes that are meant, newest first."""
    clause, values = where(
        {
            "job_id IN (SELECT value FROM json_each(:jobs))": None if wanted.jobs is None else json.dumps(wanted.jobs),
            "+memory_id IN (SELECT id FROM memories WHERE topic = :topic)": wanted.topic,
            "actor = :actor": wanted.actor,
            "created_at >= :since": wanted.since,
            "created_at <= :until": wanted.until,
        }
    )
    page = f"SELECT seq FROM history {clause} ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset"
    said = "FROM memory_sources s WHERE s.memory_id = h.memory_id AND s.job_id = h.job_id ORDER BY s.seq DESC LIMIT 1"
    return Query(
        "SELECT h.*, coalesce((SELECT json_extract(j.payload, '$.adapter') FROM jobs j WHERE j.id = h.job_id), "
        f"(SELECT s.agent {said})) AS agent, (SELECT s.session_id {said}) AS session_id "
        f"FROM history h WHERE h.seq IN ({page}) ORDER BY h.created_at DESC, h.seq DESC",
        values | {"limit": limit, "offset": offset},
        lambda row: (_decode(row), row["agent"], row["session_id"]),
    )
