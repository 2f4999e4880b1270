"""Many at once, cancels, and jobs that harm their worker: fault matrix, rows 23 to 32 (docs/testing.md)."""

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from mex_pipeline.bootstrap import run_job
from mex_pipeline.lease import Owner
from mex_pipeline.paths import Home
from mex_pipeline.services.heartbeat import Runs
from tests.support.faulting import (
    CHUNKED,
    EACH_HOBBY,
    WallClock,
    dies,
    hobbies,
    hobby,
    job,
    line,
    reaches,
    row,
    rows,
    stops,
    submit,
    talk,
    wakes,
)
from tests.support.model_server import ModelServer, reply
from tests.support.patched import halting_worker
from tests.support.program import in_process, mex, opened, until, worker
from tests.support.sessions import SessionFile


def test_row_23_two_workers_and_a_source_that_grows_under_many_requests_run_it_one_at_a_time(
    tmp_path: Path, home: Path
) -> None:
    """A hundred requests while it is written: at no moment do two runs hold it, and each line is read once."""
    session = talk(tmp_path / "s.jsonl", range(1), padded=False)
    at_once: Counter[int] = Counter()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            at_once[rows(home, "SELECT count(*) FROM jobs WHERE state = 'running'")[0][0]] += 1

    mex("init")
    watcher = threading.Thread(target=look)
    with worker(MEX_TEST_LIVELY="0"), worker("--extra", MEX_TEST_LIVELY="0"):
        watcher.start()
        try:
            for number in range(1, 100):
                session.user(line(number))
                submit(session.path)
            until(lambda: rows(home, "SELECT count(*) FROM jobs WHERE finished_at IS NULL") == [(0,)])
        finally:
            over.set()
            watcher.join()
    assert set(at_once) <= {0, 1}
    assert hobbies(home) == [hobby(number) for number in range(100)]
    assert rows(home, "SELECT count(*) FROM seen_messages") == [(100,)]
    assert {state for (state,) in rows(home, "SELECT state FROM jobs")} == {"succeeded"}


def test_row_24_two_jobs_that_decide_on_the_same_stale_value_leave_one_and_its_whole_history(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Both were shown no name; the second to commit decides anew on what the first has written."""
    names = {"a": "林晓舟", "b": "林小周"}
    model.script(
        *(
            {
                "when": f"我叫{name}",
                "hold": f"go {key}",
                "reply": reply({"topic": "basic_info", "sub_topic": "name", "content": name, "quote": f"我叫{name}"}),
            }
            for key, name in names.items()
        )
    )
    with worker():
        jobs = {
            key: submit(SessionFile(tmp_path / f"{key}.jsonl", key).user(f"我叫{name}").path)
            for key, name in names.items()
        }
        until(lambda: len(model.requests()) == 2)
        for key in names:
            model.release(f"go {key}")
            assert reaches(home, jobs[key])["outcome"] == "committed"
    active = rows(home, "SELECT content FROM memories WHERE sub_topic = 'name' AND forgotten_at IS NULL")
    assert active == [("林小周",)]
    told = rows(home, "SELECT new_content, job_id FROM history WHERE new_content IS NOT NULL ORDER BY seq")
    assert [("林晓舟", jobs["a"]), ("林小周", jobs["b"])] == [one for one in told if one[0] in names.values()]


@pytest.mark.parametrize("stage", ["before its claim", "in its call", "after its replies", "in its commit"])
def test_row_27_a_cancel_stops_a_job_at_every_stage_and_nothing_is_written(
    model: ModelServer, tmp_path: Path, home: Path, stage: str
) -> None:
    """At once when it waits, at its next step when it runs; what was asked for is not kept."""
    model.script({"hold": "go", "hobbies": True} if stage in ("in its call", "in its commit") else EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(3)).path)
    if stage == "before its claim":
        assert mex("jobs", "cancel", job_id, "--json").json[0]["state"] == "cancelled"
    halts = stage == "after its replies"
    with halting_worker("asked", home, **CHUNKED) if halts else worker(**CHUNKED) as process:
        if stage == "in its call":
            until(model.requests)
            in_process("jobs", "cancel", job_id)
        elif halts:
            stops(process)
            in_process("jobs", "cancel", job_id)
            wakes(process)
        elif stage == "in its commit":
            until(model.requests)
            # Written as `mex jobs cancel` writes it, by the program that makes the commit wait.
            with opened(home / "mex.db") as db:
                db.execute("UPDATE jobs SET cancel_requested = 1 WHERE id = ?", (job_id,))
                model.release("go")
                time.sleep(0.5)
        ended = reaches(home, job_id)
    assert ended["state"] == "cancelled"
    assert hobbies(home) == []
    for table in ("history", "seen_messages", "extraction_state", "kept_replies"):
        assert rows(home, f"SELECT count(*) FROM {table}") == [(0,)], table


def test_row_27_a_job_that_has_succeeded_cannot_be_cancelled(tmp_path: Path, home: Path) -> None:
    """Exit code 1, and what it wrote stays."""
    session = talk(tmp_path / "s.jsonl", range(2), padded=False)
    mex("extract", "--file", str(session.path))
    ((job_id,),) = rows(home, "SELECT id FROM jobs")
    refused = mex("jobs", "cancel", job_id, ok=False)
    assert refused.code == 1
    assert job(job_id)["state"] == "succeeded"
    assert hobbies(home) == [hobby(0), hobby(1)]


def test_row_28_a_cancel_that_meets_the_commit_comes_before_it_or_after_it_and_never_halves_it(
    tmp_path: Path, home: Path
) -> None:
    """Thirty rounds and more, the cancel a little later in each: all of a source or nothing of it."""
    mex("init")
    place = Home(home)
    owner = Owner(place.run)
    ends: Counter[str] = Counter()
    with Runs(owner.name, place.database) as runs:
        for number in range(90):
            many = range(10 * number, 10 * number + 10)
            job_id = submit(talk(tmp_path / f"{number}.jsonl", many, f"s{number}", padded=False).path)
            canceller = threading.Thread(target=cancel_when_it_runs, args=(home, job_id, number * number / 20_000))
            canceller.start()
            asyncio.run(run_job(place, job_id, runs))
            canceller.join(timeout=30)
            state = row(home, job_id)["state"]
            written = set(hobbies(home)) & {hobby(one) for one in many}
            assert (state, len(written)) in (("succeeded", 10), ("cancelled", 0))
            ends[state] += 1
            if number >= 30 and len(ends) == 2:
                break
    owner.close()
    assert set(ends) == {"succeeded", "cancelled"}


def cancel_when_it_runs(home: Path, job_id: str, seconds: float) -> None:
    """Ask the run to stop, so long after it has begun; asked as `mex jobs cancel` asks."""
    with closing(sqlite3.connect(home / "mex.db", timeout=10, isolation_level=None)) as db:
        while db.execute("SELECT 1 FROM jobs WHERE id = ? AND state = 'queued'", (job_id,)).fetchall():
            time.sleep(0.001)
        time.sleep(seconds)
        db.execute("UPDATE jobs SET cancel_requested = 1 WHERE id = ? AND state = 'running'", (job_id,))


def test_row_29_a_job_that_kills_its_worker_every_time_ends_and_the_others_are_done(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The third crash is the last; it is not tried again by anyone but a person."""
    model.script(EACH_HOBBY)
    clock = WallClock(tmp_path)
    poison = submit(talk(tmp_path / "poison.jsonl", range(1), "poison").path)
    for crash in (1, 2, 3):
        with worker(MEX_TEST_KILL_AT="claimed", **clock.environment) as process:
            until(lambda want=crash - 1: row(home, poison)["crashes"] == want)
            clock.set(60 * crash)  # the wait after a crash
            dies(process)
        assert (row(home, poison)["attempt"], row(home, poison)["crashes"]) == (crash, crash - 1)
    good = submit(talk(tmp_path / "good.jsonl", range(1, 3), "good").path)
    with worker():
        assert reaches(home, good)["outcome"] == "committed"
        ended = reaches(home, poison)
    assert (ended["state"], ended["outcome"], ended["crashes"]) == ("failed", "poison", 3)
    assert hobbies(home) == [hobby(1), hobby(2)]
    with worker():
        assert mex("jobs", "retry", poison, "--json").json[0]["state"] in ("queued", "running", "succeeded")
        assert reaches(home, poison)["state"] == "succeeded"
    assert hobbies(home) == [hobby(0), hobby(1), hobby(2)]
