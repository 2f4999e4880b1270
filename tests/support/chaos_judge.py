"""What is found after a chaos run: what was said against what is remembered, and everything that must hold in any home."""

import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mex_pipeline.bootstrap import load_schema, open_app
from mex_pipeline.paths import Home
from mex_pipeline.services.verify import verify
from tests.support import invariants
from tests.support.chaos_facts import said_in
from tests.support.fact_server import FactServer
from tests.support.program import opened

UNFINISHED = "state IN ('queued', 'running', 'retrying')"
SET_ASIDE = (
    "state = 'failed' AND trigger <> 'foreground' AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.lock_key = jobs.lock_key "
    "AND (o.finished_at IS NULL OR o.state = 'succeeded' AND o.finished_at > jobs.finished_at))"
)
"""Jobs that have failed, and no other of their source waits, runs, or has done their work since."""


@dataclass(slots=True)
class Outcome:
    """What a run did and what was found afterwards; `failures` says what must not be."""

    seed: int
    seconds: float
    did: Counter[str] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    said: int = 0
    remembered: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    paid_again: int = 0
    settled_in: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The run on one line."""
        calls = sum(self.calls.values())
        share = 100 * self.paid_again / max(1, calls)
        return (
            f"seed {self.seed}, {self.seconds:g} s: {_list(self.did)}; jobs: {_list(self.jobs)}; "
            f"lines {self.said}, memories {self.remembered}; calls {calls} ({_list(self.calls)}), paid again "
            f"{self.paid_again} ({share:.1f} %); settled in {self.settled_in:.1f} s: "
            f"{'; '.join(self.failures) or 'nothing lost, nothing twice'}"
        )


def _list(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counted.items())) or "none"


def judge(folder: Path, home: Home, model: FactServer, outcome: Outcome) -> None:
    """Compare what was said with what is remembered, and look at everything that must hold in any home."""
    said: Counter[tuple[str, ...]] = Counter(
        (value, str(path.resolve())) for path in (folder / "sessions").iterdir() for value in said_in(path)
    )
    kept = Counter(
        rows(home, "SELECT m.content, s.source_file FROM memories m JOIN memory_sources s ON s.memory_id = m.id")
    )
    outcome.said = said.total()
    outcome.remembered = count(home, "memories")
    outcome.jobs = Counter(column(home, "SELECT state FROM jobs"))
    outcome.calls = Counter(call.end for call in model.calls())
    outcome.paid_again = _paid_again(home, model, {one[0]: one[1] for one in said})
    outcome.did["crashes"] = sum(map(int, column(home, "SELECT crashes FROM jobs")))
    outcome.did["swept"] = count(home, "jobs WHERE trigger = 'sweep'")
    outcome.did["takeovers"] = count(home, "job_events WHERE note = 'rescued:lease'")
    found = {
        "lost": (said - kept).total(),
        "too much": (kept - said).total(),
        "doubled": outcome.remembered - len({*column(home, "SELECT content FROM memories")}),
        "touched twice": count(home, "history") - outcome.remembered + count(home, "memories WHERE times_seen <> 1"),
        "unread": len(unread(folder, home)),
        "stuck": sum(outcome.jobs[state] for state in ("queued", "running", "retrying")),
        "set aside and left so": count(home, f"jobs WHERE {SET_ASIDE}"),
        "failed otherwise": count(
            home, "jobs WHERE state = 'failed' AND reason <> 'poison' AND trigger <> 'foreground'"
        ),
        "faults of ours": count(home, "jobs WHERE errors LIKE '%\"internal\"%'"),
        "workers that left unasked": outcome.did["left_unasked"],
        "workers that would not leave": outcome.did["would_not_leave"],
    }
    outcome.failures += [f"{name}: {number}" for name, number in found.items() if number]
    if 20 * outcome.paid_again > outcome.calls.total():
        outcome.failures.append("more than one call in twenty was paid again")
    if (integrity := column(home, "PRAGMA integrity_check")) != ["ok"]:
        outcome.failures.append(f"integrity: {integrity}")
    outcome.failures += [*_broken_invariants(home), *_gaps(folder), *_raised(folder / "workers.log")]


def _paid_again(home: Home, model: FactServer, session_of: dict[str, str]) -> int:
    """Calls paid twice. Who cancels a job gives up what its calls have brought; asking again then is no loss of ours."""
    query = (
        "SELECT j.lock_key, e.at FROM job_events e JOIN jobs j ON j.id = e.job_id WHERE e.event = 'cancel_requested'"
    )
    cancelled = rows(home, query)

    def given_up(value: str, moment: float) -> bool:
        return any(key == session_of.get(value) and int(at) / 1000 > moment - 1 for key, at in cancelled)

    return model.paid_again(given_up)


def _broken_invariants(home: Home) -> list[str]:
    try:
        invariants.check(home.database, load_schema(home)[0])
        invariants.check_queue(home.root)
    except (AssertionError, sqlite3.DatabaseError) as error:
        return ["invariant: " + str(error).replace("\n", " | ")]
    return []


def _gaps(folder: Path) -> list[str]:
    """What `mex jobs verify` says is missing, or not read to its end."""
    with open_app("en") as app:
        sources = verify(app).sources
    known = {one.source for one in sources if one.standing == "whole"}
    missing = {str(path.resolve()) for path in (folder / "sessions").iterdir()} - known
    return [f"verify: {len(missing)} sources are not whole"] if missing else []


def _raised(log: Path) -> list[str]:
    """The exceptions that a worker printed, each kind once."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return sorted({line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)})


def unread(folder: Path, home: Home) -> set[str]:
    """The sessions whose cursor does not stand at their end."""
    sizes = {(str(path.resolve()), path.stat().st_size) for path in (folder / "sessions").iterdir()}
    read = {*rows(home, "SELECT source_file, last_position FROM extraction_state")}
    return {path for path, size in sizes if (path, size) not in read}


def rows(home: Home, query: str) -> list[tuple[Any, ...]]:
    """What a query on mex.db gives."""
    with opened(home.database) as db:
        return list(db.execute(query))


def column(home: Home, query: str) -> list[Any]:
    """The first column of what a query on mex.db gives."""
    return [row[0] for row in rows(home, query)]


def count(home: Home, table: str) -> int:
    """How many rows there are of `table`, or of `table WHERE condition`."""
    return int(column(home, f"SELECT count(*) FROM {table}")[0])
