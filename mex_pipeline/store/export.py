"""SQL of exports and backups: whole tables section by section, in an order that never changes, and back (product G11)."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mex_pipeline.domain.exported import Section
from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.database import translated
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query, Row, Statement, value

# Tables without a sequence are ordered by what identifies a row: their row ids do not survive VACUUM.
_ORDER = {
    "memories": ("memories", "seq"),
    "history": ("history", "seq"),
    "sources": ("memory_sources", "seq"),
    "extraction_state": ("extraction_state", "source_file, extractor"),
    "seen_messages": ("seen_messages", "agent, key, extractor"),
    "llm_usage": ("llm_usage", "created_at, id"),
    "refusals": ("refusals", "created_at, hash"),
    "proposals": ("proposals", "seq"),
    "turns": ("turns", "seq"),
}
_OBJECTS = frozenset({"before", "after", "cursor", "candidate"})
_FLAGS = frozenset({"is_ai_inferred", "verified", "purged"})
_SAME_SOURCE = ("memory_id", "agent", "message_key", "said_at", "quote", "source_file", "job_id")


def rows(section: Section, *, limit: int, offset: int) -> Query[dict[str, Any]]:
    """Some rows of a section as plain JSON values, in the order of the export."""
    table, order = _ORDER[section.name]
    return Query(
        f"SELECT {', '.join(section.columns)} FROM {table} ORDER BY {order} LIMIT :limit OFFSET :offset",
        {"limit": limit, "offset": offset},
        lambda row: {name: _plain(name, row) for name in section.columns},
    )


def _plain(name: str, row: Row) -> Any:
    found = row[name]
    if name in _OBJECTS and found is not None:
        return json.loads(found)
    return bool(found) if name in _FLAGS else found


def insert(section: Section, row: Mapping[str, Any]) -> Statement:
    """Write one row of a section; what is here already wins."""
    table, _ = _ORDER[section.name]
    names = list(section.columns)
    return Statement(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)}) "
        "ON CONFLICT DO NOTHING",
        {name: _stored(name, row[name]) for name in names},
    )


def insert_new_source(section: Section, row: Mapping[str, Any]) -> Statement:
    """Attach a source to a memory unless it has that one already."""
    plain = insert(section, row)
    names = list(section.columns)
    same = " AND ".join(f"{name} IS :{name}" for name in _SAME_SOURCE)
    return Statement(
        f"INSERT INTO memory_sources ({', '.join(names)}) SELECT {', '.join(f':{name}' for name in names)} "
        f"WHERE NOT EXISTS (SELECT 1 FROM memory_sources WHERE {same})",
        plain.params,
    )


def _stored(name: str, given: Any) -> Any:
    if name in _OBJECTS and given is not None:
        return json.dumps(given, ensure_ascii=False, sort_keys=name == "cursor")
    return int(given) if name in _FLAGS else given


def counts() -> Query[dict[str, int]]:
    """`{memories, forgotten}`: all of them, and how many of them are forgotten."""
    return Query("SELECT count(*) AS memories, count(forgotten_at) AS forgotten FROM memories", {}, dict)


def concerned(ids: Iterable[str], slots: Iterable[tuple[str, str]], now: str) -> Query[Memory]:
    """The memories a file may touch: those with its ids, and the active ones of its slots."""
    return Query(
        f"{SELECT} WHERE id IN (SELECT value FROM json_each(:ids)) OR (sub_topic IS NOT NULL AND {ACTIVE} "
        "AND topic || '.' || sub_topic IN (SELECT value FROM json_each(:slots))) ORDER BY seq",
        {"ids": json.dumps(sorted(ids)), "slots": json.dumps(sorted({".".join(slot) for slot in slots})), "now": now},
        decode,
    )


def copy_file(source: Path, target: Path) -> None:
    """Copy a database as it stands, whoever writes to it meanwhile (product D6); raises what the gateways raise."""
    try:
        with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(target)) as copy:
            original.backup(copy)
    except sqlite3.Error as error:
        raise translated(error, str(source)) from error


def quick_check() -> Query[str]:
    """`ok`, or the first thing that is wrong with the file."""
    return Query("PRAGMA quick_check(1)", {}, value("quick_check"))
