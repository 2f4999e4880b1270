"""SQL of the audit: memories and kept turns a page at a time, and their texts written anew (product F2, F5)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, COLUMNS, decode
from mex_pipeline.store.sql import Query, Statement, value
from mex_pipeline.store.turns import SESSION

PAGE = 2_000
"""Rows read at once: a database of any size passes in pieces."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who has written a memory: whether an extraction did, and whether a model or an agent ever had a hand in it."""

    memory_id: str
    is_extracted: bool
    is_ai: bool


@dataclass(frozen=True, slots=True)
class TurnText:
    """The words of a kept turn: its row, whose it is, and the session it belongs to."""

    seq: int
    agent: str
    key: str
    session: str
    role: str
    text: str


def page(after: int, topic: str | None) -> Query[tuple[int, Memory]]:
    """The next memories behind the row `after`, forgotten ones too, with their rows' numbers."""
    return Query(
        f"SELECT seq, {', '.join(COLUMNS)} FROM memories WHERE seq > :after AND (:topic IS NULL OR topic = :topic) "
        "ORDER BY seq LIMIT :limit",
        {"after": after, "topic": topic, "limit": PAGE},
        lambda row: (row["seq"], decode(row)),
    )


def writers(ids: Iterable[str]) -> Query[Writer]:
    """Who has written the memories; one without history is left out."""
    return Query(
        "SELECT memory_id, max(job_id IS NOT NULL AND event IN ('add', 'update')) AS extracted, max(actor = 'ai') AS ai "
        "FROM history WHERE memory_id IN (SELECT value FROM json_each(:ids)) GROUP BY memory_id",
        {"ids": json.dumps(list(ids))},
        lambda row: Writer(row["memory_id"], bool(row["extracted"]), bool(row["ai"])),
    )


def earlier_values(ids: Iterable[str]) -> Query[tuple[str, str]]:
    """(memory id, content) of the values that gave way to others."""
    return Query(
        "SELECT DISTINCT memory_id, old_content FROM history WHERE memory_id IN (SELECT value FROM json_each(:ids)) "
        "AND old_content <> new_content",
        {"ids": json.dumps(list(ids))},
        lambda row: (row["memory_id"], row["old_content"]),
    )


def _turn(row: Any) -> TurnText:
    return TurnText(row["seq"], row["agent"], row["key"], row["session"], row["role"], row["text"])


_TURNS = f"SELECT seq, agent, key, {SESSION} AS session, role, text FROM turns"


def turns_page(after: int) -> Query[TurnText]:
    """The next kept turns behind the row `after`."""
    return Query(f"{_TURNS} WHERE seq > :after ORDER BY seq LIMIT :limit", {"after": after, "limit": PAGE}, _turn)


def turns_of(sessions: Iterable[tuple[str, str]]) -> Query[TurnText]:
    """The kept turns of the (agent, session) pairs."""
    return Query(
        f"{_TURNS} WHERE (agent, {SESSION}) IN "
        "(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:pairs)) ORDER BY seq",
        {"pairs": json.dumps(sorted(sessions))},
        _turn,
    )


def unproven(now: str) -> Query[int]:
    """How many active memories an extraction wrote as the user's own words, though code found no such words."""
    return Query(
        f"SELECT count(*) AS n FROM memories m WHERE {ACTIVE} AND is_ai_inferred = 0 AND confidence IN ('explicit', 'inferred') "
        "AND EXISTS (SELECT 1 FROM memory_sources s WHERE s.memory_id = m.id) "
        "AND NOT EXISTS (SELECT 1 FROM memory_sources s WHERE s.memory_id = m.id AND s.verified = 1)",
        {"now": now},
        value("n"),
    )


def history_rows(ids: Iterable[str]) -> Query[dict[str, Any]]:
    """The texts of the memories' history, by row: `seq`, contents, evidence and the states as JSON."""
    return Query(
        "SELECT seq, old_content, new_content, evidence, before, after FROM history "
        "WHERE memory_id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(list(ids))},
        dict,
    )


def rewrite_history(row: dict[str, Any]) -> Statement:
    """Write the texts of one line of history anew."""
    return Statement(
        "UPDATE history SET old_content = :old_content, new_content = :new_content, evidence = :evidence, "
        "before = :before, after = :after WHERE seq = :seq",
        row,
    )


def source_rows(ids: Iterable[str], messages: Iterable[tuple[str, str]]) -> Query[dict[str, Any]]:
    """The quotes of the memories, and of all that rest on the (agent, message key) pairs, with their places."""
    return Query(
        "SELECT seq, memory_id, agent, message_key, quote, quote_start, quote_end FROM memory_sources WHERE quote IS NOT NULL "
        "AND (memory_id IN (SELECT value FROM json_each(:ids)) OR (agent, message_key) IN "
        "(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:messages)))",
        {"ids": json.dumps(list(ids)), "messages": json.dumps(sorted(messages))},
        dict,
    )


def rewrite_source(row: dict[str, Any]) -> Statement:
    """Write a quote and its place anew."""
    return Statement(
        "UPDATE memory_sources SET quote = :quote, quote_start = :quote_start, quote_end = :quote_end WHERE seq = :seq",
        row,
    )


def held() -> Query[dict[str, Any]]:
    """The candidates that are held back, as JSON, by row."""
    return Query("SELECT seq, candidate FROM proposals WHERE candidate IS NOT NULL", {}, dict)


def rewrite_held(row: dict[str, Any]) -> Statement:
    """Write such a candidate anew."""
    return Statement("UPDATE proposals SET candidate = :candidate WHERE seq = :seq", row)


def asked_pairs() -> Query[frozenset[str]]:
    """The pairs of memory ids of which a person is asked already whether they are one."""
    return Query(
        "SELECT memory_id, other_id FROM proposals WHERE kind = 'merge'",
        {},
        lambda row: frozenset((row["memory_id"], row["other_id"])),
    )
