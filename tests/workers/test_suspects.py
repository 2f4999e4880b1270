"""A job that has cost a process its life runs alone: its neighbours do not pay for it (fault 29)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from mex_pipeline.services.slots import Slots
from tests.support.faulting import ALONE, EACH_HOBBY, hobbies, hobby, kill, reaches, row, rows, submit, talk
from tests.support.jobs import job
from tests.support.model_server import ModelServer
from tests.support.program import mex, opened, until, worker
from tests.support.sessions import SessionFile


def talks(folder: Path, numbers: range, *options: str) -> list[str]:
    """Queue one short session for each number and return the ids."""
    sessions = (talk(folder / f"{n}.jsonl", range(n, n + 1), f"s{n}", padded=False).path for n in numbers)
    return [submit(path, *options) for path in sessions]


def runs(home: Path) -> list[tuple[str, str]]:
    """What happened to which job, in order, from each claim to its end."""
    return rows(home, "SELECT job_id, event FROM job_events WHERE event IN ('claimed', 'succeeded') ORDER BY seq")


def blame(home: Path, job_id: str) -> None:
    """Write down one crash of a waiting job, as a rescue does."""
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET crashes = 1 WHERE id = ?", (job_id,))


def _was_asked(model: ModelServer, times: int) -> bool:
    return model.asked("毒") == times


def test_a_job_that_kills_its_worker_every_time_takes_no_neighbour_with_it(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """What ran beside it pays for the first crash at most, and is committed while the killer ends after three."""
    model.script({"when": "毒", "hold": "never"}, {"hold": "go", "delay": 0.7} | EACH_HOBBY)
    killer = submit(SessionFile(tmp_path / "killer.jsonl", "killer").user("毒").path)
    innocent = talks(tmp_path, range(3))
    for crash in (1, 2, 3):
        mex("jobs", "retry", killer, ok=False, **ALONE)  # a second crash waits some seconds; a person need not
        with worker("--threads", "4") as process:
            if crash == 1:
                until(lambda: len(model.requests()) == 4)  # all of them run
            until(partial(_was_asked, model, crash))
            kill(process)
        model.release("go")
    with worker("--threads", "4"):
        ended = reaches(home, killer)
        done = [reaches(home, one) for one in innocent]
    assert (ended["state"], ended["outcome"], ended["crashes"]) == ("failed", "poison", 3)
    assert {one["state"] for one in done} == {"succeeded"}
    assert max(one["crashes"] for one in done) <= 1
    assert len(hobbies(home)) == 3


def test_a_suspect_runs_alone_and_gets_its_turn_before_those_that_come_later(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """It waits until nothing else runs here, and nothing is begun meanwhile, however much there is to do."""
    model.script({"delay": 0.2} | EACH_HOBBY)
    first = talks(tmp_path, range(2))
    (suspect,) = talks(tmp_path, range(2, 3))
    later = talks(tmp_path, range(3, 7))
    blame(home, suspect)
    with worker("--threads", "3"):
        for one in (*first, suspect, *later):
            assert reaches(home, one)["state"] == "succeeded"
    told = runs(home)
    begun, ended = told.index((suspect, "claimed")), told.index((suspect, "succeeded"))
    assert ended == begun + 1, "another job was claimed or ended while it ran"
    assert sum(event == "claimed" for _, event in told[:begun]) == sum(
        event == "succeeded" for _, event in told[:begun]
    )
    assert all(told.index((one, "claimed")) > ended for one in later[2:]), "it did not get its turn"
    assert row(home, suspect)["attempt"] == 1


def test_two_suspects_run_one_after_the_other(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """Which of them kills could not be told otherwise."""
    model.script({"delay": 0.3} | EACH_HOBBY)
    both = talks(tmp_path, range(2))
    for one in both:
        blame(home, one)
    with worker("--threads", "3"):
        for one in both:
            assert reaches(home, one)["state"] == "succeeded"
    assert [event for _, event in runs(home)] == ["claimed", "succeeded", "claimed", "succeeded"]


@contextmanager
def beside(slots: Slots, crashes: int, entered: threading.Event) -> Iterator[threading.Event]:
    """Another thread that asks for a slot and holds it until the event that is given is set."""
    leave = threading.Event()

    def hold() -> None:
        with slots.slot(job(crashes=crashes)) as admitted:
            if admitted:
                entered.set()
                leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield leave
    finally:
        leave.set()
        thread.join()


def test_a_thread_that_waits_for_its_slot_gives_up_when_the_process_is_to_stop() -> None:
    """A drain does not wait for what has not begun."""
    stop, entered = threading.Event(), threading.Event()
    slots = Slots(stop)
    with slots.slot(job()) as first:
        assert first
        with beside(slots, 1, entered):
            assert not entered.wait(0.3)
            stop.set()
    assert not entered.is_set()


def test_a_run_that_was_taken_back_holds_up_no_suspect() -> None:
    """Its thread may never come back."""
    slots, entered = Slots(threading.Event()), threading.Event()
    blocked = job(fence=3)
    with slots.slot(blocked) as admitted:
        assert admitted
        slots.begin(blocked)
        with beside(slots, 2, entered):
            assert not entered.wait(0.2)
            slots.end(job(id=blocked.id, fence=2))  # an earlier claim of the same job
            assert not entered.wait(0.2)
            slots.end(blocked)
            assert entered.wait(5)


def test_a_suspect_that_is_cancelled_while_it_waits_for_its_turn_holds_up_nobody(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Else nothing would begin until the longest job had ended, for the sake of one that nobody wants."""
    model.script({"when": hobby(0), "hold": "go"} | EACH_HOBBY, EACH_HOBBY)
    with worker("--threads", "3"):
        (long,) = talks(tmp_path, range(1))
        until(model.requests)
        (suspect,) = talks(tmp_path, range(1, 2), "--delay", "20m")
        with opened(home / "mex.db") as db:
            db.execute("UPDATE jobs SET crashes = 1, available_at = 0 WHERE id = ?", (suspect,))
        until(lambda: row(home, suspect)["published_at"] and not _messages(home))
        mex("jobs", "cancel", suspect)
        (later,) = talks(tmp_path, range(2, 3))
        assert reaches(home, later)["state"] == "succeeded"
        assert row(home, long)["state"] == "running"
        model.release("go")
        reaches(home, long)
    assert hobbies(home) == [hobby(0), hobby(2)]


def _messages(home: Path) -> int:
    """How many wake-ups no thread has taken."""
    with opened(home / "queue.db") as db:
        return int(db.execute("SELECT count(*) FROM task").fetchone()[0])


@pytest.mark.parametrize("crashes", [0, 1])
def test_only_a_suspect_is_asked_whether_it_still_waits_and_a_thread_that_does_not_wait_asks_nothing(
    crashes: int,
) -> None:
    """To ask costs a look at the database each time."""

    def still_waits() -> bool:
        raise AssertionError

    with Slots(threading.Event()).slot(job(crashes=crashes), still_waits) as admitted:
        assert admitted
