"""SQL of the `memories` table (seed 004 §3.1)."""

import json
from collections.abc import Iterable
from typing import Any

from mex_pipeline.domain.folding import sought
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.store.sql import Query, Row, Statement, value
from mex_pipeline.store.tokens import segment

COLUMNS = (
    "id", "topic", "sub_topic", "content", "is_ai_inferred", "confidence", "evidence", "created_at", "updated_at",
    "valid_from", "valid_to", "forgotten_at", "forgotten_reason", "expires_at", "occurred_at", "times_seen",
    "last_seen_at", "is_pinned",
)  # fmt: skip
_FLAGS = ("is_ai_inferred", "is_pinned")
SELECT = "SELECT " + ", ".join(f"memories.{column}" for column in COLUMNS) + " FROM memories"
ACTIVE = "forgotten_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"

_WRITTEN = (*COLUMNS, "tokens", "sought")
_INSERT = f"INSERT INTO memories ({', '.join(_WRITTEN)}) VALUES ({', '.join(f':{column}' for column in _WRITTEN)})"
_UPDATE = f"UPDATE memories SET {', '.join(f'{column} = :{column}' for column in _WRITTEN[1:])} WHERE id = :id"

IN_PROJECT = (
    "SELECT memory_id FROM memory_sources WHERE (project = :project "
    "OR substr(project, 1, length(:project) + 1) IN (:project || '/', :project || '\\'))"
)
"""The memories that were said in the folder `:project` or below it."""


def decode(row: Row) -> Memory:
    """Return the memory of one row."""
    columns: dict[str, Any] = {column: row[column] for column in COLUMNS}
    columns |= {flag: bool(columns[flag]) for flag in _FLAGS}
    columns["confidence"] = Confidence(columns["confidence"])
    return Memory(**columns)


def _values(memory: Memory) -> dict[str, Any]:
    derived = {"tokens": segment(memory.content), "sought": sought(memory.content)}
    return memory._asdict() | {flag: int(getattr(memory, flag)) for flag in _FLAGS} | derived


def insert(memory: Memory) -> Statement:
    """Write a new row."""
    return Statement(_INSERT, _values(memory))


def replace_row(memory: Memory) -> Statement:
    """Write the whole state of an existing row."""
    return Statement(_UPDATE, _values(memory))


def by_prefix(prefix: str) -> Query[Memory]:
    """The memories whose id begins with `prefix`: at most two, so that the caller can tell none, one, several."""
    return Query(
        f"{SELECT} WHERE id >= :low AND id < :high ORDER BY id LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        decode,
    )


def in_slots(slots: Iterable[tuple[str, str]], now: str) -> Query[Memory]:
    """The active memories of the given slots, oldest first."""
    return Query(
        f"{SELECT} WHERE topic || '.' || sub_topic IN (SELECT value FROM json_each(:slots)) AND {ACTIVE} ORDER BY seq",
        {"slots": _names(slots), "now": now},
        decode,
    )


def retired_in_slots(slots: Iterable[tuple[str, str]]) -> Query[Memory]:
    """The forgotten memories of the given slots that carry a `valid_to`: dated marks of what was taken back."""
    return Query(
        f"{SELECT} WHERE topic || '.' || sub_topic IN (SELECT value FROM json_each(:slots)) "
        "AND forgotten_at IS NOT NULL AND valid_to IS NOT NULL ORDER BY seq",
        {"slots": _names(slots)},
        decode,
    )


def expired(now: str) -> Query[Memory]:
    """The memories past their expiry that nobody has forgotten, oldest first (seed 004 ADR-11)."""
    return Query(f"{SELECT} WHERE forgotten_at IS NULL AND expires_at <= :now ORDER BY seq", {"now": now}, decode)


def _names(slots: Iterable[tuple[str, str]]) -> str:
    return json.dumps(sorted({f"{topic}.{sub_topic}" for topic, sub_topic in slots}))


def by_ids(ids: Iterable[str]) -> Query[Memory]:
    """The memories with the given ids, in the order in which they were stored."""
    return Query(
        f"{SELECT} WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY seq", {"ids": json.dumps(list(ids))}, decode
    )


def every() -> Query[Memory]:
    """Every memory there is, forgotten and expired ones too, in the order in which they were stored."""
    return Query(f"{SELECT} ORDER BY seq", {}, decode)


def slot_memories(now: str) -> Query[Memory]:
    """Every active memory with a slot, oldest first: the raw material of the profile."""
    return Query(f"{SELECT} WHERE sub_topic IS NOT NULL AND {ACTIVE} ORDER BY seq", {"now": now}, decode)


def slot_counts(now: str) -> Query[tuple[tuple[str, str], int]]:
    """(slot, how many active memories it holds) of every slot that holds any."""
    return Query(
        f"SELECT topic, sub_topic, count(*) AS n FROM memories WHERE topic <> '' AND sub_topic <> '' AND {ACTIVE} "
        "GROUP BY topic, sub_topic",
        {"now": now},
        lambda row: ((row["topic"], row["sub_topic"]), row["n"]),
    )


def best_of_slots(slots: Iterable[tuple[str, str]], most: int, now: str) -> Query[Memory]:
    """The first `most` active memories of each slot as the profile ranks them (domain/profile.py); newest stored first."""
    best = (
        "SELECT seq FROM memories WHERE topic = json_extract(slot.value, '$[0]') "
        f"AND sub_topic = json_extract(slot.value, '$[1]') AND {ACTIVE} "
        "ORDER BY is_pinned DESC, confidence, updated_at DESC, seq DESC LIMIT :most"
    )
    return Query(
        f"{SELECT.replace('FROM', 'FROM json_each(:slots) AS slot CROSS JOIN')} WHERE memories.seq IN ({best}) "
        "ORDER BY memories.seq DESC",
        {"slots": json.dumps(list(slots)), "most": most, "now": now},
        decode,
    )


def recent_records(
    now: str, since: str, limit: int, topics: Iterable[str] | None, but: Iterable[str] = ()
) -> Query[Memory]:
    """The pinned active records, then the newest created at or after `since`, newest first (seed 004 §6.2 step 4).

    Of `topics` only, and none of the topics `but`; a negative limit means all.
    """
    meant = (
        f"sub_topic IS NULL AND {ACTIVE} AND (:topics IS NULL OR topic IN (SELECT value FROM json_each(:topics))) "
        "AND ifnull(topic, '') NOT IN (SELECT value FROM json_each(:but))"
    )
    pinned = f"SELECT seq FROM memories INDEXED BY memories_pinned WHERE is_pinned = 1 AND {meant}"
    newest = f"SELECT seq FROM memories WHERE is_pinned = 0 AND created_at >= :since AND {meant}"
    order = "created_at DESC, seq DESC LIMIT :limit"
    return Query(
        f"{SELECT} WHERE seq IN ({pinned}) OR seq IN ({newest} ORDER BY {order}) ORDER BY is_pinned DESC, {order}",
        {
            "now": now, "since": since, "limit": limit, "but": json.dumps(list(but)),
            "topics": None if topics is None else json.dumps(list(topics)),
        },
        decode,
    )  # fmt: skip


def recent_counts(now: str, since: str, topics: Iterable[str]) -> Query[tuple[str, int]]:
    """(topic, how many records of it `recent_records` finds in all) of those of the topics that have any."""
    return Query(
        "SELECT topic, count(*) AS n FROM memories WHERE topic IN (SELECT value FROM json_each(:topics)) "
        f"AND sub_topic IS NULL AND (created_at >= :since OR is_pinned = 1) AND {ACTIVE} GROUP BY topic",
        {"now": now, "since": since, "topics": json.dumps(list(topics))},
        lambda row: (row["topic"], row["n"]),
    )


def in_project(project: str) -> Query[str]:
    """The ids of the memories that were said in a folder or below it (product B3)."""
    return Query(IN_PROJECT, {"project": project}, value("memory_id"))
