"""SQL of `turns`: what was said around memories, kept after the agent has deleted its own file (product B10)."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.store.sql import Query, Row, Statement, value

SESSION = "coalesce(session_id, source_file, job_id, '')"
"""What a turn belongs to: its session, else the file or the job that gave it; the index `turns_session` has it too."""

_COLUMNS = tuple(one.name for one in fields(KeptTurn))
_SIZE = "sum(length(CAST(text AS BLOB)))"


@dataclass(frozen=True, slots=True)
class KeptSession:
    """The kept turns of one session: how many, the bytes of their words, when the first and last were said."""

    agent: str
    session: str
    project: str | None
    source_file: str | None
    turns: int
    bytes: int
    oldest: str
    newest: str


@dataclass(frozen=True, slots=True)
class Which:
    """Some kept turns: of a session, of an agent, said before a moment (UTC ISO); all that is given must hold."""

    agent: str | None = None
    session: str | None = None
    before: str | None = None


def decode(row: Row) -> KeptTurn:
    """Return the kept turn of one row."""
    return KeptTurn(**{name: row[name] for name in _COLUMNS})


def insert(turn: KeptTurn) -> Statement:
    """Keep a turn; one that is kept already stays as it is."""
    names = ", ".join(_COLUMNS)
    values = ", ".join(f":{name}" for name in _COLUMNS)
    return Statement(f"INSERT INTO turns ({names}) VALUES ({values}) ON CONFLICT (agent, key) DO NOTHING", asdict(turn))


def standing(agent: str, keys: Iterable[str]) -> Query[tuple[str, str, int]]:
    """(key, session, position) of those of the keys that are kept."""
    return Query(
        f"SELECT key, {SESSION} AS session, position FROM turns "
        "WHERE agent = :agent AND key IN (SELECT value FROM json_each(:keys))",
        {"agent": agent, "keys": json.dumps(sorted(set(keys)))},
        lambda row: (row["key"], row["session"], row["position"]),
    )


def last_position(agent: str, session: str) -> Query[int]:
    """The highest position in a session; 0 when nothing of it is kept."""
    return Query(
        f"SELECT coalesce(max(position), 0) AS n FROM turns WHERE agent = :agent AND {SESSION} = :session",
        {"agent": agent, "session": session},
        value("n"),
    )


def make_room(agent: str, session: str, position: int, number: int) -> Statement:
    """Move up what stands at a position of a session, and behind it."""
    return Statement(
        f"UPDATE turns SET position = position + :number WHERE agent = :agent AND {SESSION} = :session "
        "AND position >= :position",
        {"agent": agent, "session": session, "position": position, "number": number},
    )


def one(agent: str, key: str) -> Query[KeptTurn]:
    """The kept turn of a message."""
    return Query("SELECT * FROM turns WHERE agent = :agent AND key = :key", {"agent": agent, "key": key}, decode)


def of_session(agent: str, session: str) -> Query[KeptTurn]:
    """The kept turns of a session in the order in which they were said."""
    return Query(
        f"SELECT * FROM turns WHERE agent = :agent AND {SESSION} = :session ORDER BY position, seq",
        {"agent": agent, "session": session},
        decode,
    )


def nearest(turn: KeptTurn, *, earlier: bool) -> Query[KeptTurn]:
    """The kept turn of the same session that stands before a turn, or behind it."""
    sign, order = ("<", "DESC") if earlier else (">", "ASC")
    own = "(SELECT seq FROM turns WHERE agent = :agent AND key = :key)"
    return Query(
        f"SELECT * FROM turns WHERE agent = :agent AND {SESSION} = :session AND (position, seq) {sign} (:position, {own}) "
        f"ORDER BY position {order}, seq {order} LIMIT 1",
        {"agent": turn.agent, "session": turn.session, "position": turn.position, "key": turn.key},
        decode,
    )


def sessions(which: Which) -> Query[KeptSession]:
    """The sessions of some kept turns, the one with the newest words first."""
    clause, values = _where(which)
    return Query(
        f"SELECT agent, {SESSION} AS session, max(project) AS project, max(source_file) AS source_file, "
        f"count(*) AS turns, {_SIZE} AS bytes, min(coalesce(said_at, kept_at)) AS oldest, "
        f"max(coalesce(said_at, kept_at)) AS newest FROM turns{clause} GROUP BY agent, {SESSION} "
        "ORDER BY newest DESC, agent, session",
        values,
        lambda row: KeptSession(**dict(row)),
    )


def delete(which: Which) -> Statement:
    """Drop some kept turns."""
    clause, values = _where(which)
    return Statement(f"DELETE FROM turns{clause}", values)


def _where(which: Which) -> tuple[str, dict[str, Any]]:
    given = {
        "agent = :agent": which.agent,
        f"{SESSION} = :session": which.session,
        "coalesce(said_at, kept_at) < :before": which.before,
    }
    kept = [sql for sql, wanted in given.items() if wanted is not None]
    return f" WHERE {' AND '.join(kept)}" if kept else "", asdict(which)


def totals() -> Query[dict[str, Any]]:
    """`{agent, turns, bytes}` for each agent; the bytes are those of the words."""
    return Query(
        f"SELECT agent, count(*) AS turns, {_SIZE} AS bytes FROM turns GROUP BY agent ORDER BY agent", {}, dict
    )


def pages() -> Query[int]:
    """The bytes of the pages that the table and its indexes take; only where SQLite has the table `dbstat`."""
    return Query(
        "SELECT coalesce(sum(pgsize), 0) AS n FROM dbstat WHERE aggregate = 1 AND name IN "
        "(SELECT name FROM sqlite_master WHERE tbl_name = 'turns')",
        {},
        value("n"),
    )


def counts_pages() -> Query[int]:
    """1 when this SQLite has the table `dbstat`."""
    return Query("SELECT 1 AS n FROM pragma_module_list WHERE name = 'dbstat'", {}, value("n"))


def known_sessions() -> Query[tuple[str, str, str | None]]:
    """(agent, session, source file) of every session that was extracted or of which turns are kept, the latest first."""
    return Query(
        "SELECT agent, session_id AS session, source_file, last_extracted_at AS at FROM extraction_state "
        "WHERE session_id IS NOT NULL "
        f"UNION ALL SELECT agent, {SESSION}, source_file, max(kept_at) FROM turns GROUP BY agent, {SESSION}, source_file "
        "UNION ALL SELECT agent, session_id, source_file, max(created_at) FROM memory_sources "
        "WHERE session_id IS NOT NULL GROUP BY agent, session_id, source_file ORDER BY at DESC",
        {},
        lambda row: (row["agent"], row["session"], row["source_file"]),
    )


def subject_of(source: str) -> Query[str]:
    """Whom the last listed job of a source took it to be about: one that read it as it grew, once, or anew.

    The source of given text is the job that was given it.
    """
    return Query(
        "SELECT json_extract(payload, '$.subject') AS subject FROM jobs WHERE id = :source OR lock_key IN "
        "(:source, 'import:user:' || :source, 'import:other:' || :source) ORDER BY seq DESC LIMIT 1",
        {"source": source},
        value("subject"),
    )


def free_pages() -> Query[tuple[int, int]]:
    """(free pages, all pages) of the file."""
    return Query(
        "SELECT f.freelist_count AS free, p.page_count AS pages FROM pragma_freelist_count f, pragma_page_count p",
        {},
        lambda row: (row["free"], row["pages"]),
    )
