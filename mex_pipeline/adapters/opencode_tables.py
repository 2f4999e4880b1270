"""The tables of the client's database since 1.2: a row for each session, message and part (session-formats §3.3 c, d)."""

import sqlite3
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.opencode_shapes import OVERSIZED, SIZE_CAP, Session, parsed
from mex_pipeline.adapters.port import Look
from mex_pipeline.adapters.records import LINE_CAP
from mex_pipeline.adapters.values import mapping
from mex_pipeline.errors import SourceFormat, SourceUnreadable

COLUMNS = {
    "session": {"id", "parent_id", "directory", "revert", "time_created", "time_updated"},
    "message": {"id", "session_id", "time_created", "time_updated", "data"},
    "part": {"id", "message_id", "session_id", "time_updated", "data"},
}

_SESSIONS = "SELECT id FROM session WHERE coalesce(parent_id, '') = '' ORDER BY time_created, id DESC"
_SESSION = "SELECT parent_id, directory, revert FROM session WHERE id = ?"
_LOOK = """
SELECT max(time_updated), count(*) FROM (
    SELECT time_updated FROM session WHERE id = :id
    UNION ALL SELECT time_updated FROM message WHERE session_id = :id
    UNION ALL SELECT time_updated FROM part WHERE session_id = :id
)
"""
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, CASE WHEN length(data) <= ? THEN data END FROM part WHERE message_id = ? ORDER BY id"
_ELSEWHERE = {
    "session_message": "SELECT count(*) FROM session_message WHERE session_id = ?",
    "session_input": "SELECT count(*) FROM session_input WHERE session_id = ?",
}
_KEPT = ("type", "text", "synthetic", "ignored", "tool", "callID")


def sessions(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the sessions, oldest first; those of sub-agents (`parent_id`) are left out."""
    return [session for (session,) in connection.execute(_SESSIONS) if isinstance(session, str)]


def look(connection: sqlite3.Connection, session: str) -> Look | None:
    """Return how a session stands, None when it is not there.

    The latest change alone does not tell that rows were deleted (a revert), so the number of rows is part of `size`.
    """
    changed, rows = connection.execute(_LOOK, {"id": session}).fetchone()
    if not rows:
        return None
    changed_at = changed if isinstance(changed, int) else 0
    return Look(changed_at + rows, changed_at)


def load(connection: sqlite3.Connection, session: str, path: Path) -> Session | None:
    """Return a session as its export has it, without what is no speech; None when it is not there.

    Raises SourceUnreadable (`source_too_large` with `path`, `limit` in bytes) when it holds more words than SIZE_CAP,
    SourceFormat (`unsupported_session` with `path`, `session`) when it is kept in the tables of the next version alone.
    """
    row = connection.execute(_SESSION, (session,)).fetchone()
    if row is None:
        return None
    parent, directory, revert = row
    info = {"id": session, "parentID": parent, "directory": directory, "revert": parsed(revert)}
    messages: list[Any] = []
    left = SIZE_CAP
    for message, data in connection.execute(_MESSAGES, (session,)).fetchall():
        value = parsed(data)
        if not isinstance(value, dict):
            messages.append(None)
            continue
        parts = [_part(part, said) for part, said in connection.execute(_PARTS, (LINE_CAP, message))]
        left -= sum(len(part["text"]) for part in parts if isinstance(part.get("text"), str))
        if left < 0:
            raise SourceUnreadable("source_too_large", path=str(path), limit=SIZE_CAP)
        messages.append({"info": {**value, "id": message, "sessionID": session}, "parts": parts})
    if not messages and _is_elsewhere(connection, session):
        raise SourceFormat("unsupported_session", path=str(path), session=session)
    return Session(info, messages, is_live=True)


def _is_elsewhere(connection: sqlite3.Connection, session: str) -> bool:
    """True when the words of a session stand in the tables of the client's next version."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    counts = [count for name, count in _ELSEWHERE.items() if name in tables]
    return any(connection.execute(count, (session,)).fetchone()[0] for count in counts)


def _part(part: str, data: Any) -> dict[str, Any]:
    """Return a part with what can be speech in it: the output of tools and files would fill the memory."""
    if data is None:
        return {"id": part, "type": OVERSIZED}
    value = mapping(parsed(data))
    state = mapping(value.get("state"))
    kept: dict[str, Any] = {name: value[name] for name in _KEPT if name in value}
    if value.get("type") == "tool":
        answers = mapping(state.get("metadata")).get("answers")
        kept["state"] = {"error": state.get("error"), "metadata": {"answers": answers}}
    return {"id": part, **kept}
