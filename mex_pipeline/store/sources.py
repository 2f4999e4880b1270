"""SQL of `memory_sources`: where each memory was said (product B3)."""

import json
from collections.abc import Iterable

from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.said import Said
from mex_pipeline.store.sql import Query, Row, Statement, value

_COLUMNS = (
    "agent", "session_id", "message_id", "message_key", "role", "said_at", "quote", "quote_start", "quote_end",
    "verified", "project", "source_file", "job_id",
)  # fmt: skip


def insert(memory_id: str, source: Source, now: str) -> Statement:
    """Attach a source to a memory."""
    names = ("memory_id", *_COLUMNS, "created_at")
    values = source._asdict() | {"verified": int(source.verified), "memory_id": memory_id, "created_at": now}
    return Statement(
        f"INSERT INTO memory_sources ({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})", values
    )


def _decode(row: Row) -> Source:
    return Source(**{name: row[name] for name in _COLUMNS if name != "verified"}, verified=bool(row["verified"]))


def of_memory(memory_id: str) -> Query[Source]:
    """The sources of one memory, oldest first."""
    return Query("SELECT * FROM memory_sources WHERE memory_id = :id ORDER BY seq", {"id": memory_id}, _decode)


def of_memories(memory_ids: Iterable[str]) -> Query[tuple[str, Source]]:
    """(memory id, source) of several memories, oldest first."""
    return Query(
        "SELECT * FROM memory_sources WHERE memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq",
        {"ids": json.dumps(list(memory_ids))},
        lambda row: (row["memory_id"], _decode(row)),
    )


def named(agent: str, keys: Iterable[str]) -> Query[str]:
    """Those of the message keys on which a memory rests."""
    return Query(
        "SELECT DISTINCT message_key FROM memory_sources "
        "WHERE agent = :agent AND message_key IN (SELECT value FROM json_each(:keys))",
        {"agent": agent, "keys": json.dumps(sorted(set(keys)))},
        value("message_key"),
    )


def yielded(agent: str, keys: Iterable[str]) -> Query[tuple[str, str]]:
    """(message key, content) of everything the given messages have already yielded.

    The content is the one their job wrote, whatever the memory has become since: forgotten, corrected or replaced.
    """
    return Query(
        "SELECT DISTINCT s.message_key AS key, coalesce(h.new_content, h.old_content) AS content "
        "FROM memory_sources s JOIN history h ON h.memory_id = s.memory_id AND h.job_id = s.job_id "
        "WHERE s.agent = :agent AND s.message_key IN (SELECT value FROM json_each(:keys))",
        {"agent": agent, "keys": json.dumps(sorted(set(keys)))},
        lambda row: (row["key"], row["content"]),
    )


def said(agent: str, keys: Iterable[str], session: str | None, now: str) -> Query[Said]:
    """What the given messages have yielded, and what a session has without anybody knowing in which message."""
    return Query(
        "SELECT s.message_key, s.quote_start, s.quote_end, h.event, coalesce(h.new_content, h.old_content) AS content, "
        "m.topic, m.sub_topic, json_extract(coalesce(h.after, h.before), '$.topic') AS said_topic, "
        "json_extract(coalesce(h.after, h.before), '$.sub_topic') AS said_sub_topic, "
        "m.content = coalesce(h.new_content, h.old_content) AND m.forgotten_at IS NULL "
        "AND (m.expires_at IS NULL OR m.expires_at > :now) AS holds "
        "FROM memory_sources s JOIN memories m ON m.id = s.memory_id "
        "JOIN history h ON h.memory_id = s.memory_id AND h.job_id = s.job_id "
        "WHERE s.agent = :agent AND (s.message_key IN (SELECT value FROM json_each(:keys)) "
        "OR (s.message_key IS NULL AND s.session_id = :session))",
        {"agent": agent, "keys": json.dumps(sorted(set(keys))), "session": session, "now": now},
        lambda row: Said(
            row["message_key"],
            row["quote_start"],
            row["quote_end"],
            frozenset({(row["topic"], row["sub_topic"]), (row["said_topic"], row["said_sub_topic"])}),
            row["content"],
            bool(row["holds"]),
            row["event"] == "forget",
        ),
    )
