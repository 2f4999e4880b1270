"""SQL that removes memories for good, from files of any structure version (product B6)."""

import json
from collections.abc import Iterable
from typing import Any

from mex_pipeline.store.sql import Query, Statement, value
from mex_pipeline.store.turns import SESSION

OWNED = {"memories": "id", "memory_sources": "memory_id", "history": "memory_id"}
"""The tables whose rows belong to one memory, and the column that names it."""

_IS_MARK = "event = 'delete' AND coalesce(old_content, new_content, evidence) IS NULL"


def tables() -> Query[str]:
    """The names of every table of the file."""
    return Query("SELECT name FROM sqlite_master WHERE type = 'table'", {}, value("name"))


def owned_rows(table: str, ids: Iterable[str]) -> Query[dict[str, Any]]:
    """The rows of an `OWNED` table that belong to the memories, whatever columns its version has."""
    return Query(f"SELECT * FROM {table} WHERE {_is_of(table)}", {"ids": json.dumps(sorted(ids))}, dict)


def delete_owned(table: str, ids: Iterable[str]) -> Statement:
    """Delete the rows of an `OWNED` table that belong to the memories; a line that says no more than `delete` stays."""
    spared = f" AND NOT ({_IS_MARK})" if table == "history" else ""
    return Statement(f"DELETE FROM {table} WHERE {_is_of(table)}{spared}", {"ids": json.dumps(sorted(ids))})


def unmarked(ids: Iterable[str]) -> Query[str]:
    """Those of the ids that have a memory, or no line of history that says no more than `delete`."""
    return Query(
        "SELECT value FROM json_each(:ids) AS given WHERE EXISTS (SELECT 1 FROM memories WHERE id = given.value) "
        f"OR NOT EXISTS (SELECT 1 FROM history WHERE memory_id = given.value AND {_IS_MARK})",
        {"ids": json.dumps(sorted(ids))},
        value("value"),
    )


def purged(ids: Iterable[str]) -> Query[str]:
    """Those of the ids whose memory was forgotten for good: history knows them, and no memory is left."""
    return Query(
        "SELECT DISTINCT memory_id FROM history WHERE memory_id IN (SELECT value FROM json_each(:ids)) "
        "AND memory_id NOT IN (SELECT id FROM memories)",
        {"ids": json.dumps(sorted(ids))},
        value("memory_id"),
    )


def _is_of(table: str) -> str:
    return f"{_bare(OWNED[table])} IN (SELECT {_bare('value')} FROM json_each(:ids))"


def _bare(column: str) -> str:
    """An id without its hyphens: the original wrote most of its own so."""
    return f"replace(lower({column}), '-', '')"


def arrays(table: str, column: str, slots: Iterable[tuple[str, str]]) -> Query[tuple[int, str]]:
    """(row id, text) of what may be a JSON array in a column of `memories` or `history` of the original, in the slots."""
    return Query(
        f"SELECT rowid AS n, {column} AS text FROM {table} WHERE {column} LIKE '[%' AND {OWNED[table]} IN "
        "(SELECT id FROM memories WHERE topic || '.' || sub_topic IN (SELECT value FROM json_each(:slots)))",
        {"slots": json.dumps(sorted(".".join(slot) for slot in slots))},
        lambda row: (row["n"], row["text"]),
    )


def rewrite_array(table: str, column: str, row: int, text: str) -> Statement:
    """Write one such text anew."""
    return Statement(f"UPDATE {table} SET {column} = :text WHERE rowid = :row", {"row": row, "text": text})


def wordy_jobs() -> Query[dict[str, Any]]:
    """The jobs that may hold words: id, result, errors (JSON), given_text, and whether that is a conversation's turns."""
    return Query(
        "SELECT id, result, errors, given_text, json_extract(payload, '$.session') IS NOT NULL AS has_turns FROM jobs "
        "WHERE result IS NOT NULL OR given_text IS NOT NULL OR errors <> '[]'",
        {},
        dict,
    )


def rewrite_job(job: dict[str, Any]) -> Statement:
    """Write a job's result, errors and given text anew."""
    return Statement("UPDATE jobs SET result = :result, errors = :errors, given_text = :given_text WHERE id = :id", job)


def replies() -> Query[tuple[str, str]]:
    """(key, reply) of every kept reply."""
    return Query("SELECT key, reply FROM kept_replies", {}, lambda row: (row["key"], row["reply"]))


def drop_reply(key: str) -> Statement:
    """Delete one kept reply."""
    return Statement("DELETE FROM kept_replies WHERE key = :key", {"key": key})


def proposals() -> Query[dict[str, Any]]:
    """`{id, memory_id, other_id, candidate}` of everything that waits for a person, candidates as JSON text."""
    return Query("SELECT id, memory_id, other_id, candidate FROM proposals", {}, dict)


def drop_proposal(proposal_id: str) -> Statement:
    """Delete what a person was to be asked."""
    return Statement("DELETE FROM proposals WHERE id = :id", {"id": proposal_id})


def every_turn() -> Query[dict[str, Any]]:
    """`{seq, text}` of every kept turn."""
    return Query("SELECT seq, text FROM turns ORDER BY seq", {}, dict)


def other_messages(ids: Iterable[str]) -> Query[dict[str, Any]]:
    """`{memory_id, agent, message_key}`: the messages on which other memories rest."""
    return Query(
        "SELECT DISTINCT memory_id, agent, message_key FROM memory_sources WHERE message_key IS NOT NULL "
        f"AND NOT {_is_of('memory_sources')}",
        {"ids": json.dumps(sorted(ids))},
        dict,
    )


def turns(sessions: Iterable[tuple[str, str]], messages: Iterable[tuple[str, str]]) -> Query[dict[str, Any]]:
    """The kept turns of the (agent, session) pairs, and of the sessions in which the (agent, message key) pairs are kept.

    A fork's message is kept with the session that was extracted first. Without a session its file or job is one.
    """
    return Query(
        f"SELECT * FROM turns WHERE {_is_among(SESSION, 'sessions')} OR (agent, {SESSION}) IN "
        f"(SELECT agent, {SESSION} FROM turns WHERE {_is_among('key', 'messages')}) ORDER BY agent, seq",
        {"sessions": json.dumps(sorted(sessions)), "messages": json.dumps(sorted(messages))},
        dict,
    )


def _is_among(column: str, pairs: str) -> str:
    return f"(agent, {column}) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:{pairs}))"


def rewrite_turn(seq: int, text: str) -> Statement:
    """Write a kept turn's text anew."""
    return Statement("UPDATE turns SET text = :text WHERE seq = :seq", {"seq": seq, "text": text})


def drop_turn(seq: int) -> Statement:
    """Delete one kept turn."""
    return Statement("DELETE FROM turns WHERE seq = :seq", {"seq": seq})


def paid_calls(jobs: Iterable[str]) -> Query[int]:
    """How many calls of a model these jobs have made."""
    return Query(
        "SELECT count(*) AS n FROM llm_usage WHERE job_id IN (SELECT value FROM json_each(:jobs))",
        {"jobs": json.dumps(sorted(jobs))},
        value("n"),
    )


def full_text_indexes() -> Query[str]:
    """The names of the FTS5 indexes."""
    return Query(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'",
        {},
        value("name"),
    )


def rebuild(index: str) -> Statement:
    """Make an index anew: deleted tokens stay in its segments until they are merged."""
    return Statement(f'INSERT INTO "{index}" ("{index}") VALUES (\'rebuild\')')


def empty_wal() -> Query[int]:
    """Bring the WAL into the file and empty it; 1 when a reader or writer did not let it."""
    return Query("PRAGMA wal_checkpoint(TRUNCATE)", {}, value("busy"))


def columns() -> Query[tuple[str, str]]:
    """(table, column) of every ordinary table, and of the list of tables itself."""
    return Query(
        "SELECT t.name AS t, c.name AS c FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c "
        "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND NOT EXISTS (SELECT 1 FROM sqlite_master AS v "
        "WHERE v.sql LIKE 'CREATE VIRTUAL%' AND substr(t.name, 1, length(v.name) + 1) = v.name || '_') "
        "UNION ALL SELECT 'sqlite_master', 'sql'",
        {},
        lambda row: (row["t"], row["c"]),
    )


def holding(table: str, column: str, words: Iterable[str]) -> Query[int]:
    """How many rows hold one of the words in a column."""
    return Query(
        f'SELECT count(*) AS n FROM "{table}" WHERE EXISTS '
        f'(SELECT 1 FROM json_each(:words) AS w WHERE instr("{table}"."{column}", w.value) > 0)',
        {"words": json.dumps(sorted(words), ensure_ascii=False)},
        value("n"),
    )
