"""Workers that slept past their lease: fault matrix, rows 11 and 12 (docs/testing.md)."""

import subprocess
from pathlib import Path

from tests.support.faulting import EACH_HOBBY, ONE_EACH, hobbies, hobby, line, reaches, rows, stops, submit, talk, wakes
from tests.support.model_server import ModelServer
from tests.support.patched import freeze, halting_worker
from tests.support.program import in_process, until, worker


def is_taken_over(home: Path, model: ModelServer, job_id: str, sleeper: "subprocess.Popen[bytes]", reused: int) -> None:
    """Another worker does the job of one that stands still, with the replies it kept; awake again, that one writes nothing."""
    with worker("--extra", MEX_TEST_LEASE="2", **ONE_EACH):
        done = reaches(home, job_id)
        assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
        assert done["usage"]["reused"] == reused
        before = rows(home, "SELECT * FROM jobs"), rows(home, "SELECT * FROM history")
        model.release("go")
        wakes(sleeper)
        later = submit(talk(home.parent / "later.jsonl", range(4, 6), "s2").path)
        reaches(home, later)
        sleeper.terminate()
        assert sleeper.wait(timeout=20) == 0
    assert rows(home, "SELECT * FROM jobs WHERE id = ?", job_id) == before[0]
    assert rows(home, "SELECT * FROM history")[: len(before[1])] == before[1]
    assert hobbies(home) == [hobby(number) for number in range(6)]


def test_row_11_a_worker_that_slept_past_its_lease_in_the_middle_of_its_calls_may_write_nothing_when_it_wakes(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    model.script({"when": line(1), "hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with worker(MEX_TEST_LEASE="2", **ONE_EACH) as sleeper:
        until(lambda: len(model.requests()) == 2 and rows(home, "SELECT count(*) FROM kept_replies") == [(1,)])
        freeze(sleeper, home)
        is_taken_over(home, model, job_id, sleeper, reused=1)


def test_row_11_a_worker_that_slept_past_its_lease_before_its_commit_may_write_nothing_when_it_wakes(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    model.script(EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with halting_worker("asked", home, MEX_TEST_LEASE="2", **ONE_EACH) as sleeper:
        stops(sleeper)
        is_taken_over(home, model, job_id, sleeper, reused=4)


def test_row_11_answers_that_reach_a_sleeper_after_its_job_was_done_elsewhere_are_not_kept(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """It slept in the middle of four calls at once; the words of the person do not stay behind in the home."""
    model.script({"hold": "go", "hobbies": True, "times": 4}, EACH_HOBBY)
    settings = ONE_EACH | {"MEX_LLM_CONCURRENCY": "4", "MEX_TEST_LEASE": "2"}
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with worker(**settings) as sleeper:
        until(lambda: len(model.requests()) == 4)
        freeze(sleeper, home)
        with worker("--extra", **settings):
            assert reaches(home, job_id)["state"] == "succeeded"
        model.release("go")
        wakes(sleeper)
        reaches(home, submit(talk(tmp_path / "later.jsonl", range(4, 6), "s2").path))
        sleeper.terminate()
        assert sleeper.wait(timeout=20) == 0
    assert hobbies(home) == [hobby(number) for number in range(6)]
    assert rows(home, "SELECT count(*) FROM kept_replies") == [(0,)]


def test_row_12_a_worker_that_slept_alone_past_its_lease_wakes_and_commits(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Nobody took its job, so its claim still holds; commands that look meanwhile leave it alone."""
    model.script(EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(4)).path)
    with halting_worker("asked", home, MEX_TEST_LEASE="1", **ONE_EACH) as sleeper:
        stops(sleeper)
        waited = in_process("jobs", "wait", job_id, "--timeout", "2", "--json", MEX_TEST_LEASE="1")
        assert (waited.code, waited.json["state"]) == (2, "running")
        wakes(sleeper)
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert hobbies(home) == [hobby(number) for number in range(4)]
