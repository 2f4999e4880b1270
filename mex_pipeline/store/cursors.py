"""SQL of `extraction_state` and `seen_messages`: how far each source is read, and which messages (product H1, H6)."""

import json
from collections.abc import Iterable

from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.store.sql import Query, Statement, value


def position(source_file: str, extractor: str, agent: str) -> Query[Cursor]:
    """The cursor of a source for one extractor (`model` or `rules`); read as another format it begins anew."""
    return Query(
        "SELECT cursor FROM extraction_state "
        "WHERE source_file = :source_file AND extractor = :extractor AND agent = :agent",
        {"source_file": source_file, "extractor": extractor, "agent": agent},
        lambda row: Cursor.from_json(row["cursor"]),
    )


def last_look(source_file: str, extractor: str) -> Query[tuple[int | None, str]]:
    """(size of the source when it was last read, when that was): what tells whether it has grown since (product H6)."""
    return Query(
        "SELECT looked_size, last_extracted_at FROM extraction_state "
        "WHERE source_file = :source_file AND extractor = :extractor",
        {"source_file": source_file, "extractor": extractor},
        lambda row: (row["looked_size"], row["last_extracted_at"]),
    )


def advance(
    source_file: str,
    extractor: str,
    cursor: Cursor,
    *,
    looked_size: int | None,
    agent: str,
    session_id: str | None,
    project: str | None,
    now: str,
) -> Statement:
    """Move the cursor; it moves once, in the commit of the extraction (product H6).

    `looked_size` is how long the source was when it was read, in bytes.
    """
    return Statement(
        "INSERT INTO extraction_state "
        "(source_file, extractor, last_position, last_extracted_at, agent, session_id, project, cursor, looked_size) "
        "VALUES (:source_file, :extractor, :last_position, :now, :agent, :session_id, :project, :cursor, :looked_size) "
        "ON CONFLICT (source_file, extractor) DO UPDATE SET last_position = :last_position, last_extracted_at = :now, "
        "agent = :agent, session_id = :session_id, project = :project, cursor = :cursor, looked_size = :looked_size",
        {
            "source_file": source_file,
            "extractor": extractor,
            "last_position": cursor.off,
            "now": now,
            "agent": agent,
            "session_id": session_id,
            "project": project,
            "cursor": cursor.to_json(),
            "looked_size": looked_size,
        },
    )


def rewind(source_file: str, extractor: str) -> Statement:
    """Have a source read from its beginning again; what was extracted is told by its messages."""
    return Statement(
        "DELETE FROM extraction_state WHERE source_file = :source_file AND extractor = :extractor",
        {"source_file": source_file, "extractor": extractor},
    )


def seen(agent: str, keys: Iterable[str], extractor: str) -> Query[str]:
    """Which of the keys have been extracted. What a model has read the rules need not; what only the rules have read
    is still owed to a model (product C9)."""
    return Query(
        "SELECT DISTINCT key FROM seen_messages WHERE agent = :agent AND key IN (SELECT value FROM json_each(:keys)) "
        "AND (:extractor = 'rules' OR extractor = :extractor)",
        {"agent": agent, "keys": json.dumps(list(keys)), "extractor": extractor},
        value("key"),
    )


def agents(extractor: str) -> Query[str]:
    """The agents of which something was ever extracted."""
    return Query(
        "SELECT DISTINCT agent FROM extraction_state WHERE extractor = :extractor",
        {"extractor": extractor},
        value("agent"),
    )


def owed() -> Query[dict[str, int]]:
    """Turns, and the sessions they stand in, that only the rules have read (product C9)."""
    return Query(
        "SELECT (SELECT count(*) FROM seen_messages r WHERE r.extractor = 'rules' AND NOT EXISTS (SELECT 1 FROM "
        "seen_messages m WHERE m.agent = r.agent AND m.key = r.key AND m.extractor = 'model')) AS turns, "
        "(SELECT count(*) FROM extraction_state r WHERE r.extractor = 'rules' AND NOT EXISTS (SELECT 1 FROM "
        "extraction_state m WHERE m.source_file = r.source_file AND m.extractor = 'model')) AS sessions",
        {},
        dict,
    )


def mark_seen(agent: str, key: str, extractor: str, job_id: str, at: int) -> Statement:
    """Remember a message; the key holds no content."""
    return Statement(
        "INSERT INTO seen_messages (agent, key, extractor, job_id, seen_at) VALUES (:agent, :key, :extractor, :job_id, :at) "
        "ON CONFLICT DO NOTHING",
        {"agent": agent, "key": key, "extractor": extractor, "job_id": job_id, "at": at},
    )


def purged(agent: str, keys: Iterable[str]) -> Query[str]:
    """Those of the keys whose message said something that was forgotten for good: it is not read anew (product B6)."""
    return Query(
        "SELECT DISTINCT key FROM seen_messages WHERE agent = :agent AND purged = 1 "
        "AND key IN (SELECT value FROM json_each(:keys))",
        {"agent": agent, "keys": json.dumps(list(keys))},
        value("key"),
    )


def purged_messages() -> Query[tuple[str, str]]:
    """(agent, key) of every message that said something that was forgotten for good."""
    return Query(
        "SELECT DISTINCT agent, key FROM seen_messages WHERE purged = 1", {}, lambda row: (row["agent"], row["key"])
    )


def mark_purged(agent: str, key: str, at: int) -> list[Statement]:
    """Remember that something a message said was forgotten for good; one of given text counts as read from now on."""
    given = {"agent": agent, "key": key, "at": at}
    return [
        Statement(
            "INSERT INTO seen_messages (agent, key, extractor, job_id, seen_at) "
            "SELECT :agent, :key, 'model', '', :at WHERE NOT EXISTS "
            "(SELECT 1 FROM seen_messages WHERE agent = :agent AND key = :key)",
            given,
        ),
        Statement("UPDATE seen_messages SET purged = 1 WHERE agent = :agent AND key = :key", given),
    ]
