"""Exports in the background: handed out once whatever happens, and never in the way of their own conversations (P3)."""

from pathlib import Path

import pytest

from tests.support.archives import asked, children, queued, run, run_children, told
from tests.support.faulting import ALONE, EACH_HOBBY, dies, hobbies, hobby, reaches, row, rows, stops, wakes
from tests.support.invariants import check_queue
from tests.support.model_server import ModelServer
from tests.support.patched import halting_worker
from tests.support.program import in_process, mex, worker


def waited(job_id: str) -> dict[str, object]:
    """The export when all of its conversations have ended."""
    return dict(mex("jobs", "wait", job_id, "--timeout", "60", "--json").json)


def test_with_one_thread_and_little_room_everything_is_read_though_the_file_is_gone(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The export's job holds no slot while it waits; the file may go when it is handed out."""
    model.script(EACH_HOBBY)
    path = tmp_path / "e.json"
    job_id = queued(path, *told(range(7)))
    with worker("--threads", "1", MEX_TEST_CHILDREN="2"):
        reaches(home, job_id)
        path.unlink()
        done = waited(job_id)
    assert done["children"]["states"] == {"succeeded": 7}  # type: ignore[index]
    assert hobbies(home) == [hobby(number) for number in range(7)]
    assert len(model.requests()) == 7
    assert row(home, job_id)["attempt"] == 1
    check_queue(home)


@pytest.mark.parametrize("point", ["handing_out:2", "handed_out:2", "handing_out:4", "distributed"])
def test_product_p3_after_kill_9_at_any_step_nothing_is_missing_and_nothing_is_there_twice(
    point: str, tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "e.json"
    job_id = queued(path, *told(range(5)))
    with worker("--threads", "1", MEX_TEST_KILL_AT=point, MEX_TEST_AT_ONCE="2") as first:
        dies(first)
    made = len(children(home, job_id))
    assert made == {"handing_out:2": 0, "handed_out:2": 2, "handing_out:4": 2, "distributed": 5}[point]
    assert row(home, job_id)["progress_done"] == made
    in_process("jobs", "wait", job_id, "--timeout", "0", **ALONE)  # takes back what the dead process had
    assert run(home, job_id) is (point != "distributed")
    run_children(home, job_id)
    assert hobbies(home) == [hobby(number) for number in range(5)]
    keys = rows(home, "SELECT lock_key FROM jobs WHERE kind = 'extract' ORDER BY seq")
    assert keys == [(f"chatgpt#c{number}",) for number in range(5)]
    assert row(home, job_id)["crashes"] == (0 if point == "distributed" else 1)
    check_queue(home)


def test_a_conversation_that_is_killed_is_done_again_from_what_its_job_carries(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """No file is there any more; the reply that had arrived is not paid for twice (P4)."""
    model.script(EACH_HOBBY)
    path = tmp_path / "e.json"
    job_id = queued(path, *told(range(1)))
    with worker("--threads", "1", MEX_TEST_KILL_AT="commit_begun") as first:
        dies(first)
    path.unlink()
    in_process("jobs", "wait", job_id, "--timeout", "0", **ALONE)
    assert run(home, *children(home, job_id))
    assert hobbies(home) == [hobby(0)]
    assert len(model.requests()) == 1
    check_queue(home)


def test_equal_requests_for_an_export_are_one_job_and_a_later_one_begins_after_it(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "e.json"
    first = queued(path, *told(range(3)))
    assert asked(path) == first
    with halting_worker("handed_out:2", home, MEX_TEST_AT_ONCE="2") as process:
        stops(process)
        second = asked(path)
        wakes(process)
        waited(first)
        assert waited(second)["conversations"] == 3
    assert hobbies(home) == [hobby(number) for number in range(3)]
    assert len(rows(home, "SELECT 1 FROM jobs WHERE kind = 'extract'")) == 3
    check_queue(home)
