"""What the worker clears away by itself and `mex jobs prune` at once, and what stays (queue upkeep, docs/jobs.md)."""

import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline import lease
from mex_pipeline.clock import millis
from mex_pipeline.paths import Home
from mex_pipeline.services import upkeep
from mex_pipeline.services.upkeep import DAY_MS, KEPT_JOBS
from mex_pipeline.store.database import Database
from tests.support.faulting import line, rows, submit
from tests.support.gateways import fresh
from tests.support.invariants import check_queue
from tests.support.program import mex, opened, until, worker
from tests.support.sessions import SessionFile

NOW = datetime(2026, 8, 6, 8, 30, tzinfo=UTC)
JOB = (
    "INSERT INTO jobs (id, kind, payload, payload_v, state, outcome, available_at, first_enqueued_at, trigger, "
    "max_attempts, fence, created_at, finished_at, lock_key, given_text) "
    'VALUES (:id, \'extract\', \'{"path": "/s", "subject": "user"}\', 1, :state, :outcome, 0, 0, \'command\', 10, 1, 0, '
    ":at, :key, :text)"
)
OUTCOMES = {"succeeded": "committed", "failed": "llm_error", "cancelled": None}


class At:
    """A clock that stands at a moment until it is set."""

    def __init__(self, moment: datetime = NOW) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """A home with an empty mex.db."""
    home = Home(tmp_path / "home")
    home.make()
    fresh(home.database)
    return home


def put(home: Home, state: str, days: float, number: int = 1, **changes: Any) -> None:
    """Put in jobs that ended so many days ago, with the two lines of their story."""
    with opened(home.database) as db:
        for n in range(number):
            at = millis(NOW) - int(days * DAY_MS) - n
            row = {
                "id": f"{state}-{days}-{n}",
                "state": state,
                "outcome": OUTCOMES[state],
                "at": at,
                "key": f"/{state}-{n}",
            }
            row = row | {"text": None} | changes
            db.execute(JOB, row)
            for event in ("queued", state):
                db.execute(
                    "INSERT INTO job_events (job_id, at, event, fence) VALUES (?, ?, ?, 1)", (row["id"], at, event)
                )


def keep_up(home: Home, clock: At) -> None:
    """What the worker does every hour, here and now."""
    care = upkeep.Upkeep(home, clock)
    with closing(Database.open(home.database)) as db:
        care.prune(db)


def left(home: Home) -> dict[str, int]:
    return dict(rows(home.root, "SELECT state, count(*) FROM jobs GROUP BY state"))


def test_ended_jobs_go_when_they_are_old_and_the_newest_stay(place: Home) -> None:
    put(place, "succeeded", 1, 150)
    put(place, "succeeded", 8, 100)
    put(place, "cancelled", 9, 30)
    put(place, "failed", 89, 2)
    put(place, "failed", 91, 3)
    keep_up(place, At())
    assert left(place) == {"succeeded": KEPT_JOBS, "failed": 2}
    check_queue(place.root)


def test_jobs_that_are_not_old_stay_however_many(place: Home) -> None:
    put(place, "succeeded", 6, KEPT_JOBS + 50)
    keep_up(place, At())
    assert left(place) == {"succeeded": KEPT_JOBS + 50}


def test_thousands_of_jobs_go_in_short_transactions_all_of_them(place: Home) -> None:
    put(place, "succeeded", 8, KEPT_JOBS + 1_300)
    keep_up(place, At())
    assert left(place) == {"succeeded": KEPT_JOBS}
    check_queue(place.root)


def test_the_story_of_a_pruned_job_stays_for_two_weeks_and_says_what_became_of_it(place: Home) -> None:
    put(place, "failed", 91)
    keep_up(place, At())
    story = rows(place.root, "SELECT event, note FROM job_events ORDER BY seq")
    assert story == [("queued", None), ("failed", None), ("pruned", "failed")]
    keep_up(place, At(NOW + timedelta(days=1)))
    assert len(rows(place.root, "SELECT 1 FROM job_events")) == 3
    clock = At(NOW)
    for day in range(2, 17):
        clock.moment = NOW + timedelta(days=day)
        keep_up(place, clock)
    assert rows(place.root, "SELECT 1 FROM job_events") == []


def test_of_a_job_that_is_listed_the_first_and_last_line_and_the_success_stay(place: Home) -> None:
    put(place, "succeeded", 20)
    with opened(place.database) as db:
        (job_id,) = db.execute("SELECT id FROM jobs").fetchone()
        db.execute("UPDATE job_events SET seq = seq + 100 WHERE event = 'succeeded'")
        db.executemany(
            "INSERT INTO job_events (job_id, at, event, seq) VALUES (?, 0, ?, ?)",
            [(job_id, "retrying", number) for number in range(10, 60)],
        )
    keep_up(place, At())
    assert rows(place.root, "SELECT event FROM job_events ORDER BY seq") == [("queued",), ("succeeded",)]
    check_queue(place.root)


def test_a_job_that_is_missing_without_a_trace_stays_visible(place: Home) -> None:
    """What the checker must find is not cleared away."""
    put(place, "failed", 30)
    with opened(place.database) as db:
        db.execute("DELETE FROM jobs")
        db.execute("DELETE FROM job_events WHERE event = 'failed'")
    keep_up(place, At())
    with pytest.raises(AssertionError, match="jobs_vanished"):
        check_queue(place.root)


def keep(home: Home, key: str, source: str, job_id: str, days: float) -> None:
    with opened(home.database) as db:
        at = millis(NOW) - int(days * DAY_MS)
        db.execute("INSERT INTO kept_replies VALUES (?, ?, ?, '{}', ?)", (key, job_id, source, at))


def test_kept_answers_go_when_nobody_came_back_for_them_or_no_job_is_left(place: Home) -> None:
    put(place, "failed", 8, 2)
    keep(place, "old", "/failed-0", "failed-8-0", 8)
    keep(place, "young", "/failed-1", "failed-8-1", 6)
    keep(place, "orphan", "/nobody", "nobody", 0)
    put(place, "failed", 91)
    keep(place, "pruned", "/pruned", "failed-91-0", 1)
    keep_up(place, At())
    assert rows(place.root, "SELECT key FROM kept_replies") == [("young",)]
    check_queue(place.root)


def test_the_last_job_of_a_session_about_somebody_else_stays(place: Home) -> None:
    """Only it says so, when the session has grown and is swept."""
    put(place, "failed", 91, 2, key="/s")
    with opened(place.database) as db:
        db.execute("UPDATE jobs SET payload = json_set(payload, '$.subject', 'other')")
    keep_up(place, At())
    assert left(place) == {"failed": 1}


def test_a_clock_that_is_a_year_ahead_for_an_hour_makes_few_days_go_by(place: Home) -> None:
    put(place, "failed", 1, 5)
    keep_up(place, At())
    for _ in range(4):
        keep_up(place, At(NOW + timedelta(days=366)))
    assert left(place) == {"failed": 5}
    keep_up(place, At(NOW))  # set right again
    assert rows(place.root, "SELECT at FROM queue_control WHERE scope = 'upkeep'") == [(millis(NOW),)]


def test_the_mark_of_upkeep_pauses_nothing(home: Path) -> None:
    mex("init")
    keep_up(Home(home), At())
    assert mex("worker", "status", "--json").json["paused"] == []


def test_dead_workers_and_the_lock_files_nobody_holds_are_removed(place: Home) -> None:
    alive = lease.Owner(place.run)
    long_ago = time.time() - 86_400
    for name in ("0123456789ab", "ba9876543210", "worker"):
        (place.run / f"{name}.lock").touch()
    for name in ("0123456789ab", alive.name, "worker"):
        os.utime(place.run / f"{name}.lock", (long_ago, long_ago))
    with opened(place.database) as db:
        for owner in (alive.name, "dead00000000"):
            db.execute("INSERT INTO workers VALUES (?, 'h', 1, '1', 0, 0, 'running')", (owner,))
    keep_up(place, At())
    assert sorted(path.stem for path in place.run.iterdir()) == sorted([alive.name, "ba9876543210", "worker"])
    assert rows(place.root, "SELECT owner FROM workers") == [(alive.name,)]
    alive.close()


def test_what_workers_wrote_beside_their_log_is_cut_to_its_end(place: Home) -> None:
    beside = place.logs / "worker.err"
    beside.write_bytes(b"a" * upkeep.ERRORS_BYTES + b"the end")
    keep_up(place, At())
    assert beside.stat().st_size == upkeep.ERRORS_KEPT
    assert beside.read_bytes().endswith(b"the end")


def test_a_worker_clears_away_at_its_start(tmp_path: Path, home: Path) -> None:
    mex("init")
    job_id = submit(SessionFile(tmp_path / "s.jsonl").user(line(1)).path)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET state = 'failed', outcome = 'poison', finished_at = 1, given_text = '我'")
    with worker():
        until(lambda: rows(home, "SELECT 1 FROM job_events WHERE job_id = ? AND event = 'pruned'", job_id))
        assert rows(home, "SELECT 1 FROM jobs") == []


def test_prune_by_hand_counts_first_and_deletes_what_was_named(tmp_path: Path, home: Path) -> None:
    for number in range(3):
        session = SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(line(number))
        mex("extract", "--from", "claude", "--file", str(session.path))
    mex("jobs", "cancel", submit(SessionFile(tmp_path / "c.jsonl", "c").user(line(9)).path))
    assert mex("jobs", "prune", "--json").json == {"jobs": 0, "events": 0, "replies": 0, "dry_run": False}
    named = ("jobs", "prune", "--older-than", "0s", "--state", "succeeded", "--json")
    assert mex(*named, "--dry-run").json["jobs"] == 3
    assert len(mex("jobs", "list", "--json").json) == 4
    assert mex(*named).json["jobs"] == 3
    assert [one["state"] for one in mex("jobs", "list", "--json").json] == ["cancelled"]
    refused = mex("jobs", "prune", "--state", "running", "--json", ok=False)
    assert (refused.code, '"unknown_state"' in refused.err) == (1, True)
    check_queue(home)
