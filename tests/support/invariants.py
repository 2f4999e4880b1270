"""What must hold in every home, whatever has been done to it: checked against the tables themselves."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from mex_pipeline.clock import SystemClock, iso
from mex_pipeline.domain.schema import Schema
from mex_pipeline.paths import Home
from mex_pipeline.services import doctor_jobs
from mex_pipeline.store import indexes
from mex_pipeline.store.database import Database
from mex_pipeline.store.functions import FUNCTIONS
from mex_pipeline.store.memories import COLUMNS


def check(database: Path, schema: Schema, now: str | None = None) -> None:
    """Fail unless unique slots are unique, history tells every row as it stands, and the index fits the rows."""
    now = now or iso(SystemClock().now())
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        rows = {row["id"]: _plain(row) for row in connection.execute("SELECT * FROM memories")}
        unique_slots_are_unique(list(rows.values()), schema, now)
        history_tells_the_rows(connection, rows)
        assert connection.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        for function in FUNCTIONS:
            connection.create_function(*function, deterministic=True)
        for statement in indexes.check():
            connection.execute(statement.sql)
        assert connection.execute(indexes.strays().sql).fetchone()[0] == 0


def _plain(row: sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS}


def unique_slots_are_unique(rows: list[dict[str, Any]], schema: Schema, now: str) -> None:
    """At most one active memory stands in a unique slot (seed 004 §3.5)."""
    held: dict[tuple[str, str], str] = {}
    for row in rows:
        slot = schema.find(row["topic"], row["sub_topic"])
        is_active = row["forgotten_at"] is None and (row["expires_at"] is None or row["expires_at"] > now)
        if slot is not None and slot.unique and is_active:
            assert slot.path not in held, f"{slot.path} holds {held[slot.path]} and {row['id']}"
            held[slot.path] = row["id"]


def history_tells_the_rows(connection: sqlite3.Connection, rows: dict[str, dict[str, Any]]) -> None:
    """Each memory's history begins with its coming, links state to state, and ends with the row as it stands (B8).

    Of one that was forgotten for good only `delete` lines without words are left (B6); it may have come back since.
    """
    told: dict[str, list[sqlite3.Row]] = {}
    for line in connection.execute("SELECT * FROM history ORDER BY seq"):
        told.setdefault(line["memory_id"], []).append(line)
    assert set(rows) <= set(told), "a memory without history"
    for key, lines in told.items():
        assert all(one["created_at"] <= other["created_at"] for one, other in pairwise(lines)), key
        while lines and lines[0]["event"] == "delete":
            mark = lines.pop(0)
            assert all(mark[name] is None for name in ("old_content", "new_content", "evidence", "before", "after"))
            assert not lines or lines[0]["event"] in ("delete", "import"), f"{key} came back unseen"
        if key not in rows:
            assert not lines, f"{key} is gone, its history is not"
            continue
        assert lines[0]["event"] in ("add", "import"), key
        states = [_state(line["after"]) for line in lines]
        assert lines[0]["before"] is None
        assert [_state(line["before"]) for line in lines[1:]] == states[:-1], key
        assert states[-1] == rows[key], key


def _state(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    state = json.loads(text)
    return {name: int(state[name]) if name.startswith("is_") else state[name] for name in COLUMNS}


def check_queue(home: Path) -> None:
    """Fail with the rows that break an invariant of the queue (docs/jobs.md); with a live worker due jobs are out, too."""
    place = Home(home)
    with closing(Database.open(place.database)) as db:
        broken = doctor_jobs.violations(db, place, SystemClock())
    assert not broken, "\n".join(map(str, broken))
