"""Faults a worker's life once had: stops, clocks, locks, interrupted people, replaced files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import QUIET, contents, mex, opened, until, worker
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
NAME = {"topic": "basic_info", "sub_topic": "name", "content": "林晓舟", "quote": "我叫林晓舟", "turn": 1}


def submit(path: Path) -> str:
    """Queue a session and return the job's id."""
    return str(mex("extract", "--async", "--file", str(path), "--json", **ALONE).json["job_id"])


def workers() -> list[dict[str, Any]]:
    """The live workers."""
    return list(mex("worker", "status", "--json").json["workers"])


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Another program holds the write lock."""
    with opened(home / "mex.db") as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def test_a_stop_that_was_asked_for_in_the_future_stops_no_later_worker(tmp_path: Path, home: Path) -> None:
    """The clock was set back since: what counts is that the mark changes, not what time it names."""
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with opened(home / "mex.db") as db:
        ahead = int((time.time() + 86_400) * 1000)
        db.execute("INSERT INTO queue_control (scope, at) VALUES ('worker:stop', ?)", (ahead,))
        db.execute("UPDATE jobs SET available_at = ?", (ahead,))
    with worker() as process:
        until(lambda: mex("jobs", "show", job, "--json").json["available_at"] < "2100" and workers())
        mex("jobs", "retry", job, **ALONE)
        mex("jobs", "wait", job, "--timeout", "30")
        mex("worker", "stop")
        assert process.wait(timeout=20) == 0
    assert contents() == ["林晓舟"]


def test_a_request_during_a_drain_starts_another_worker(model: ModelServer, tmp_path: Path) -> None:
    """A worker that leaves gives its lock away first, so nobody counts on it any more."""
    model.script({"hold": "never", "times": 1}, {"reply": reply(NAME)})
    with worker() as process:
        submit(SessionFile(tmp_path / "a.jsonl", "a").user("一").path)
        until(model.requests)
        process.send_signal(signal.SIGTERM)
        until(lambda: not mex("worker", "status", "--json").json["running"])
        sent = mex(
            "extract",
            "--async",
            "--file",
            str(SessionFile(tmp_path / "b.jsonl", "b").user("我叫林晓舟").path),
            "--json",
        )
        assert sent.json["worker"] == "spawned"
        mex("jobs", "wait", sent.json["job_id"], "--timeout", "30")
    mex("worker", "stop")
    assert contents() == ["林晓舟"]


def test_interrupting_the_foreground_gives_a_background_job_back(model: ModelServer, tmp_path: Path) -> None:
    """A job whose id was printed is nobody else's to cancel (product P3)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    job = submit(session.path)
    model.script({"hold": "go", "reply": reply(NAME)})
    process = subprocess.Popen(
        [sys.executable, "-m", "mex_pipeline", "extract", "--file", str(session.path)],
        env=os.environ | QUIET | ALONE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(model.requests)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 1
    stands = mex("jobs", "show", job, "--json").json
    assert (stands["state"], stands["reason"], stands["attempt"]) == ("queued", "shutdown", 0)
    model.release("go")
    with worker():
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]


def test_a_terminated_foreground_job_that_waits_for_its_source_is_not_run_later(
    model: ModelServer, tmp_path: Path
) -> None:
    """Whatever signal ends the command, the job ends with it (product C8)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    model.script({"hold": "go", "reply": reply(NAME)})
    with worker():
        first = submit(session.path)
        until(model.requests)
        process = subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "extract", "--file", str(session.path)],
            env=os.environ | QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: len(mex("jobs", "list", "--json").json) == 2)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 1
        model.release("go")
        mex("jobs", "wait", first, "--timeout", "30")
    assert sorted(one["state"] for one in mex("jobs", "list", "--json").json) == ["cancelled", "succeeded"]


@pytest.mark.slow
def test_a_worker_that_starts_while_the_file_is_locked_stays_and_works(tmp_path: Path, home: Path) -> None:
    """Nothing it has to write at its start is worth dying for."""
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with worker() as process:
        with locked(home):
            time.sleep(11)
            assert process.poll() is None
        mex("jobs", "wait", job, "--timeout", "60")
    assert contents() == ["林晓舟"]


def test_waiting_for_a_job_whose_worker_died_finds_it_another(model: ModelServer, tmp_path: Path) -> None:
    """After a crash or a reboot nothing runs by itself: who waits brings a worker."""
    model.script({"hold": "never", "times": 1}, {"reply": reply(NAME)})
    with worker() as process:
        job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        until(model.requests)
        process.kill()
        process.wait()
    assert mex("jobs", "wait", job, "--timeout", "60", "--json").json["outcome"] == "committed"
    mex("worker", "stop")
    assert contents() == ["林晓舟"]


def test_a_worker_leaves_when_mex_db_is_another_file(tmp_path: Path, home: Path) -> None:
    """A backup was put back: a worker on the old file would serve nobody."""
    mex("init")
    with worker() as process:
        until(workers)
        copy = (home / "mex.db").read_bytes()
        (home / "new.db").write_bytes(copy)
        (home / "new.db").replace(home / "mex.db")
        assert process.wait(timeout=20) == 0


def test_what_a_command_writes_beside_an_idle_worker_gets_into_the_one_file(tmp_path: Path, home: Path) -> None:
    """Product D6: a plain copy at rest is complete, also of what was added by hand."""
    with worker():
        until(lambda: mex("worker", "status", "--json").json["workers"])
        mex("add", "--content", "手写的一条")
        until(lambda: not (home / "mex.db-wal").exists() or (home / "mex.db-wal").stat().st_size == 0)
        copy = tmp_path / "copy.db"
        copy.write_bytes((home / "mex.db").read_bytes())
    with opened(copy) as db:
        assert db.execute("SELECT content FROM memories").fetchall() == [("手写的一条",)]


def test_a_background_job_that_goes_back_behind_a_foreground_one_does_not_end_with_it(
    model: ModelServer, tmp_path: Path
) -> None:
    """It is merged into the one that waits, which is one of the background from then on (product P3)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    model.script({"hold": "go", "reply": reply(NAME)})
    with worker():
        first = submit(session.path)
        until(model.requests)
        process = subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "extract", "--file", str(session.path)],
            env=os.environ | QUIET | ALONE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: len(mex("jobs", "list", "--json").json) == 2)
    until(lambda: len(model.requests()) == 2)  # the worker has left; the command runs it
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 1
    model.release("go")
    with worker():
        assert mex("jobs", "wait", first, "--timeout", "30", "--json").json["state"] == "succeeded"
    assert contents() == ["林晓舟"]
