"""What a home holds after its jobs: an export and the transcripts, as the commands give them."""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.replay.life import Fact

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class State:
    """The rows of an export (`mex export`), those of the jobs, and by session file what `mex transcript` shows."""

    memories: Sequence[Row]
    history: Sequence[Row]
    sources: Sequence[Row]
    jobs: Sequence[Row]
    transcripts: dict[str, Row]

    def active(self) -> list[Row]:
        """Return the memories in slots that are neither forgotten nor expired."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        alive = (one for one in self.memories if not one["forgotten_at"] and (one["expires_at"] or "9") > now)
        return [one for one in alive if one["topic"] and one["sub_topic"]]

    def facts(self) -> frozenset[Fact]:
        """Return the active values in slots."""
        return frozenset(fact(one) for one in self.active())

    def contents(self) -> Counter[tuple[str | None, ...]]:
        """Return topic, sub_topic and content of every memory that is not forgotten, records too, as often as it is there."""
        alive = (one for one in self.memories if not one["forgotten_at"])
        return Counter((one["topic"], one["sub_topic"], one["content"]) for one in alive)


def fact(memory: Row) -> Fact:
    """Return the slot and value of a memory's row."""
    return Fact(f"{memory['topic']}.{memory['sub_topic']}", memory["content"])


def read(home: Path) -> State:
    """Return the state that the steps `export` and `transcripts` left beside the home, and its jobs."""
    exported = json.loads(exported_to(home).read_text(encoding="utf-8"))
    shown = json.loads(transcripts_to(home).read_text(encoding="utf-8")) if transcripts_to(home).exists() else {}
    return State(exported["memories"], exported["history"], exported["sources"], jobs(home), shown)


def exported_to(home: Path) -> Path:
    """Return where the export of a home goes."""
    return home.with_name(f"{home.name}.export.json")


def transcripts_to(home: Path) -> Path:
    """Return where the transcripts of a home go."""
    return home.with_name(f"{home.name}.transcripts.json")


def jobs(home: Path) -> list[Row]:
    """Return every job of a home: id, state, outcome, attempt, and its result object."""
    with closing(sqlite3.connect(home / "mex.db", timeout=10)) as database:
        found = database.execute("SELECT id, state, outcome, attempt, result FROM jobs ORDER BY seq").fetchall()
    names = ("id", "state", "outcome", "attempt", "result")
    return [dict(zip(names, (*row[:4], json.loads(row[4] or "{}")), strict=True)) for row in found]
