"""The tables of the unrelated Go program that is also called opencode, in a project's `.opencode` (session-formats §3.3 e)."""

import sqlite3
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.opencode_shapes import Session, parsed
from mex_pipeline.adapters.port import Look
from mex_pipeline.adapters.values import mapping

COLUMNS = {
    "sessions": {"id", "parent_session_id", "created_at", "updated_at"},
    "messages": {"id", "session_id", "role", "parts", "created_at", "updated_at"},
}

_SESSIONS = "SELECT id FROM sessions WHERE coalesce(parent_session_id, '') = '' ORDER BY created_at, rowid"
_SESSION = "SELECT parent_session_id FROM sessions WHERE id = ?"
_LOOK = """
SELECT max(updated_at), count(*), sum(size) FROM (
    SELECT updated_at, 0 AS size FROM sessions WHERE id = :id
    UNION ALL SELECT updated_at, length(parts) FROM messages WHERE session_id = :id
)
"""
_MESSAGES = "SELECT id, role, created_at, parts FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
_TYPES = {"tool_call": "tool", "finish": "step-finish", "image_url": "image", "binary": "file"}


def sessions(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the sessions, oldest first; those of sub-agents are left out."""
    return [session for (session,) in connection.execute(_SESSIONS) if isinstance(session, str)]


def look(connection: sqlite3.Connection, session: str) -> Look | None:
    """Return how a session stands, None when it is not there; its times are seconds, so its length counts too."""
    changed, rows, length = connection.execute(_LOOK, {"id": session}).fetchone()
    if not rows:
        return None
    changed_at = 1000 * changed if isinstance(changed, int) else 0
    return Look(changed_at + rows + (length or 0), changed_at)


def load(connection: sqlite3.Connection, session: str, path: Path) -> Session | None:  # noqa: ARG001 - as the others
    """Return a session in the shape of an export, None when it is not there."""
    row = connection.execute(_SESSION, (session,)).fetchone()
    if row is None:
        return None
    messages = [_message(session, *one) for one in connection.execute(_MESSAGES, (session,))]
    return Session({"id": session, "parentID": row[0]}, messages, is_live=True)


def _message(session: str, message: Any, role: Any, created: Any, data: Any) -> Any:
    """Return one message; what its last part says of its end tells whether it is complete."""
    found = parsed(data)
    if not isinstance(found, list):
        return None
    parts = [(string, mapping(one.get("data"))) for one in map(mapping, found) if (string := one.get("type"))]
    ends = [said.get("reason") for kind, said in parts if kind == "finish"]
    times = {"created": created, **({"completed": created} if ends else {})}
    error = {"name": "MessageAbortedError"} if "canceled" in ends else None
    info = {"id": message, "sessionID": session, "role": role, "time": times, "error": error}
    return {
        "info": info,
        "parts": [{"type": _TYPES.get(kind, kind), "text": said.get("text")} for kind, said in parts],
    }
