"""Processes that die or are told to leave: fault matrix, rows 1 to 10 (docs/testing.md)."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.faulting import (
    ALONE,
    CHUNKED,
    EACH_HOBBY,
    ONE_EACH,
    dies,
    events,
    hobbies,
    hobby,
    is_read_to_the_end,
    job,
    kill,
    line,
    reaches,
    row,
    rows,
    submit,
    talk,
    write_lock,
)
from tests.support.model_server import ModelServer
from tests.support.program import mex, until, worker

FORTY = range(40)
EVERY_ONE = [hobby(number) for number in FORTY]


def test_row_01_a_producer_killed_before_its_insert_leaves_no_job_and_the_growth_is_found_by_looking(
    tmp_path: Path, home: Path
) -> None:
    """Nothing is printed, so nothing was promised; a worker looks at the sources it knows by itself."""
    session = talk(tmp_path / "s.jsonl", range(2))
    mex("extract", "--file", str(session.path))
    talk(session.path, range(2, 4), "later")
    killed = mex("extract", "--async", "--file", str(session.path), ok=False, MEX_TEST_KILL_AT="before_submit", **ALONE)
    assert (killed.code, killed.out) == (-signal.SIGKILL, "")
    assert [state for (state,) in rows(home, "SELECT state FROM jobs")] == ["succeeded"]
    with worker(MEX_TEST_SWEEP="1"):
        until(lambda: len(hobbies(home)) == 4)
    assert hobbies(home) == [hobby(number) for number in range(4)]
    assert rows(home, "SELECT count(*) FROM jobs WHERE trigger = 'sweep'") == [(1,)]


@pytest.mark.parametrize("then", ["a worker", "another request", "jobs wait"])
def test_row_02_a_job_whose_producer_died_before_it_started_a_worker_is_run_by_whatever_comes_next(
    tmp_path: Path, home: Path, then: str
) -> None:
    """The row is the truth: no one has to remember that it is there."""
    session = talk(tmp_path / "s.jsonl", range(3))
    killed = mex("extract", "--async", "--file", str(session.path), ok=False, MEX_TEST_KILL_AT="submitted")
    assert (killed.code, killed.out) == (-signal.SIGKILL, "")
    ((job_id, state),) = rows(home, "SELECT id, state FROM jobs")
    assert state == "queued"
    if then == "a worker":
        with worker():
            reaches(home, job_id)
    elif then == "another request":
        other = talk(tmp_path / "other.jsonl", range(3, 4), "other")
        mex("extract", "--async", "--file", str(other.path))
        reaches(home, job_id)
        until(lambda: len(hobbies(home)) == 4)
    else:
        assert mex("jobs", "wait", job_id, "--timeout", "20", "--json").json["outcome"] == "committed"
    assert job(job_id)["attempt"] == 1
    assert hobbies(home)[:3] == [hobby(number) for number in range(3)]


def test_row_03_a_worker_killed_between_a_wake_up_and_its_mark_runs_the_job_once(tmp_path: Path, home: Path) -> None:
    """The wake-up is doubled; the second claim finds nothing."""
    session = talk(tmp_path / "s.jsonl", FORTY)
    job_id = submit(session.path)
    with worker(MEX_TEST_KILL_AT="published") as first:
        dies(first)
    with worker():
        done = reaches(home, job_id)
    assert (done["attempt"], done["crashes"], row(home, job_id)["fence"]) == (1, 0, 1)
    assert events(home, job_id) == ["queued", "claimed", "succeeded"]
    assert hobbies(home) == EVERY_ONE
    assert is_read_to_the_end(home, session)


@pytest.fixture(params=["rules", "model"])
def asked_model(request: pytest.FixtureRequest) -> ModelServer | None:
    """The model that reads the session, or None when the built-in rules do."""
    if request.param == "rules":
        return None
    server: ModelServer = request.getfixturevalue("model")
    server.script(EACH_HOBBY)
    return server


def killed_and_done_again(home: Path, folder: Path, step: str) -> dict[str, Any]:
    """The job of forty turns whose first worker died at a step, after a second worker has done it."""
    session = talk(folder / "s.jsonl", FORTY)
    job_id = submit(session.path)
    with worker(MEX_TEST_KILL_AT=step, **CHUNKED) as first:
        dies(first)
    left = row(home, job_id)
    assert (left["state"], left["attempt"], hobbies(home)) == ("running", 1, [])
    with worker(**CHUNKED):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"], row(home, job_id)["fence"]) == ("succeeded", 2, 1, 2)
    assert hobbies(home) == EVERY_ONE
    assert is_read_to_the_end(home, session)
    return done


def assert_paid_once(model: ModelServer | None, done: dict[str, Any], reused: int) -> None:
    """Every turn was asked about once, and so many replies of the first run were used by the second."""
    if model is not None:
        assert [model.asked(hobby(number)) for number in FORTY] == [1] * 40
        assert done["usage"]["calls"] == len(model.requests()) > 3
        assert done["usage"]["reused"] == (reused if reused >= 0 else done["usage"]["calls"])


def test_row_04_a_run_killed_right_after_its_claim_is_done_by_the_next_worker(
    asked_model: ModelServer | None, tmp_path: Path, home: Path
) -> None:
    """The lock of the dead is free, so no lease has to pass."""
    assert_paid_once(asked_model, killed_and_done_again(home, tmp_path, "claimed"), 0)


@pytest.mark.parametrize(("step", "reused"), [("read", 0), ("reply_kept", 1), ("asked", -1)])
def test_row_05_a_run_killed_while_it_reads_and_asks_uses_every_reply_that_had_arrived(
    model: ModelServer, tmp_path: Path, home: Path, step: str, reused: int
) -> None:
    """After the reading, after one paid reply, after all of them."""
    model.script(EACH_HOBBY)
    assert_paid_once(model, killed_and_done_again(home, tmp_path, step), reused)


@pytest.mark.parametrize("step", ["commit_begun", "memories_written"])
def test_row_06_a_run_killed_inside_its_commit_has_written_nothing_and_is_done_again_as_a_whole(
    asked_model: ModelServer | None, tmp_path: Path, home: Path, step: str
) -> None:
    """Forty of forty, none twice; the model is not asked again at all."""
    assert_paid_once(asked_model, killed_and_done_again(home, tmp_path, step), -1)


@pytest.mark.parametrize("step", ["committed", "ended"])
def test_row_07_a_run_killed_after_its_commit_has_succeeded_and_is_not_done_again(
    asked_model: ModelServer | None, tmp_path: Path, home: Path, step: str
) -> None:
    """What is committed is committed; the next worker finds nothing to do, and another request nothing new."""
    session = talk(tmp_path / "s.jsonl", FORTY)
    job_id = submit(session.path)
    with worker(MEX_TEST_KILL_AT=step, **CHUNKED) as first:
        dies(first)
    with worker(**CHUNKED):
        again = submit(session.path)
        assert reaches(home, again)["outcome"] == "skipped"
    done = job(job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert hobbies(home) == EVERY_ONE
    assert is_read_to_the_end(home, session)
    assert_paid_once(asked_model, done, 0)


@pytest.mark.parametrize("step", ["ended", "leaving"])
def test_row_08_a_run_killed_while_it_writes_down_its_failure_is_still_running_and_is_rescued(
    model: ModelServer, tmp_path: Path, home: Path, step: str
) -> None:
    """The failure of the endpoint was not told, so it counts as a crash; the job goes on."""
    model.script({"status": 500, "body": "down"})
    job_id = submit(talk(tmp_path / "s.jsonl", FORTY).path)
    with worker(MEX_TEST_KILL_AT=step, **CHUNKED) as first:
        dies(first)
    assert row(home, job_id)["state"] == "running"
    model.script(EACH_HOBBY)
    with worker(**CHUNKED):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
    assert hobbies(home) == EVERY_ONE


def test_row_09_a_worker_that_is_told_to_leave_puts_its_job_back_and_the_next_one_uses_its_replies(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """It leaves at once, in the middle of a call, and the attempt does not count."""
    model.script({"when": line(2), "hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with worker(**ONE_EACH) as first:
        until(lambda: model.asked(hobby(2)) == 1)
        first.terminate()
        assert first.wait(timeout=15) == 0
    left = row(home, job_id)
    assert (left["state"], left["reason"], left["attempt"], left["crashes"]) == ("queued", "shutdown", 0, 0)
    model.release("go")
    with worker(**ONE_EACH):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["usage"]["reused"]) == ("succeeded", 1, 2)
    assert [model.asked(hobby(number)) for number in range(4)] == [1, 1, 2, 1]
    assert hobbies(home) == [hobby(number) for number in range(4)]


@pytest.mark.parametrize("how", ["told twice", "killed when its time is over"])
def test_row_10_a_worker_that_is_not_given_the_time_to_leave_loses_nothing(
    model: ModelServer, tmp_path: Path, home: Path, how: str
) -> None:
    """It cannot put its job back, for the file is locked: then it is as if it had been killed."""
    model.script({"hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with worker(**ONE_EACH) as first:
        until(model.requests)
        with write_lock(home / "mex.db"):
            first.terminate()
            if how == "told twice":
                time.sleep(0.3)
                first.terminate()
                first.wait(timeout=15)
            else:
                time.sleep(0.3)
                kill(first)
    assert row(home, job_id)["state"] == "running"
    model.release("go")
    with worker(**ONE_EACH):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
    assert hobbies(home) == [hobby(number) for number in range(4)]
