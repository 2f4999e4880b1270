"""A worker's beginning and end: one instance, no stranded job, deaths of threads and processes (faults 10-12, 25, 26, 30)."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mex_pipeline import lease
from tests.support.extent import tries
from tests.support.faulting import (
    ALONE,
    EACH_HOBBY,
    ONE_EACH,
    events,
    hobbies,
    hobby,
    kill,
    reaches,
    row,
    rows,
    submit,
    talk,
)
from tests.support.forked import WORKER, Forked
from tests.support.model_server import ModelServer
from tests.support.patched import freeze, patched_worker, stand_still
from tests.support.program import contents, in_process, mex, until, worker
from tests.support.sessions import SessionFile

SHORT_LEASE = {"MEX_TEST_LEASE": "2"}
DYING_THREAD = """
    from pathlib import Path
    from huey import consumer
    from mex_pipeline.services.rule_extractor import RuleExtractor
    folder, extract, make = Path({folder!r}), RuleExtractor.extract, consumer.Consumer.__init__
    def soon(self, *arguments, **options):
        make(self, *arguments, health_check_interval=1, **options)  # ten seconds are too long for a test
    async def dying(*arguments):
        if not (folder / "died").exists():
            (folder / "died").touch()
            raise SystemExit(3)
        return await extract(*arguments)
    consumer.Consumer.__init__, RuleExtractor.extract = soon, dying
"""
BIG = """
    ballast = bytearray(b"x") * 450_000_000
"""


def small(folder: Path, numbers: range) -> list[str]:
    """Queue one session for each number, which the built-in rules read, and return the ids."""
    sessions = [SessionFile(folder / f"{n}.jsonl", f"s{n}").user(f"我的爱好是养蜂{n}号。") for n in numbers]
    return [submit(session.path) for session in sessions]


def live() -> list[int]:
    """The process ids of the live workers."""
    return [row["pid"] for row in mex("worker", "status", "--json").json["workers"]]


def test_a_job_whose_thread_dies_is_taken_back_and_the_worker_goes_on(tmp_path: Path, home: Path) -> None:
    """Fault 30: it counts as a crash; Huey makes another thread, the process stays."""
    jobs = small(tmp_path, range(3))
    with patched_worker(DYING_THREAD.format(folder=str(tmp_path)), "--threads", "1") as process:
        done = [reaches(home, job_id) for job_id in jobs]
        assert process.poll() is None
    assert {one["state"] for one in done} == {"succeeded"}
    assert sorted(one["crashes"] for one in done) == [0, 0, 1]
    notes = rows(home, "SELECT note FROM job_events WHERE event = 'retrying'")
    assert notes == [("rescued:dead",)]
    assert contents() == [f"养蜂{n}号" for n in range(3)]


def test_twenty_workers_at_once_are_one_and_the_others_leave_without_a_word(tmp_path: Path, home: Path) -> None:
    """Fault 25: whoever saw no worker started one."""
    jobs = small(tmp_path, range(3))
    with (home / "logs" / "worker.err").open("ab") as log, Path(os.devnull).open("wb") as nothing:
        many = [Forked(WORKER, ["--idle-exit", "0"], os.environ, nothing, log) for _ in range(20)]
    try:
        until(lambda: sum(process.poll() is not None for process in many) == 19)
        assert [process.poll() for process in many if process.poll() is not None] == [0] * 19
        assert {reaches(home, job_id)["attempt"] for job_id in jobs} == {1}
        assert live() == [process.pid for process in many if process.poll() is None]
        assert (home / "logs" / "worker.err").read_text() == ""
    finally:
        for process in many:
            process.kill()
            process.wait()


def test_many_requests_at_once_start_one_worker(tmp_path: Path, home: Path) -> None:
    """Fault 25, from the side of those who ask."""
    sessions = [SessionFile(tmp_path / f"{n}.jsonl", f"s{n}").user(f"我的爱好是养蜂{n}号。") for n in range(6)]
    mex("init")
    asked = ["extract", "--async", "--from", "claude", "--json", "--file"]
    with ThreadPoolExecutor(6) as producers:
        sent = list(producers.map(lambda session: mex(*asked, str(session.path)), sessions))
    try:
        assert {reaches(home, one.json["job_id"])["state"] for one in sent} == {"succeeded"}
        assert len(live()) == 1
        assert (home / "logs" / "worker.err").read_text() == ""
    finally:
        mex("worker", "stop")
    assert contents() == [f"养蜂{n}号" for n in range(6)]


class Starter:
    """Starts a worker when none is seen, as `mex extract --async` does; one at a time, which the test can wait for."""

    def __init__(self, home: Path) -> None:
        self._lock = home / "run" / "worker.lock"
        self._process: Forked | None = None

    def is_gone(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def ensure(self) -> None:
        if lease.is_held(self._lock):
            return
        self.end()
        with (self._lock.parents[1] / "logs" / "worker.err").open("ab") as log:
            self._process = Forked(WORKER, ["--idle-exit", "0s"], os.environ, log, log)
        until(lambda: lease.is_held(self._lock) or self.is_gone())

    def end(self) -> None:
        if self._process is not None:
            self._process.wait(timeout=30)


@pytest.mark.slow
def test_no_request_in_the_moment_a_worker_leaves_is_stranded(tmp_path: Path, home: Path) -> None:
    """Fault 26: who saw a live worker starts none, so a worker that leaves looks once more without its lock."""
    mex("init")
    starter = Starter(home)
    submitted: list[str] = []
    for number in range(tries(42)):
        session = SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(f"我的爱好是养蜂{number}号。")
        asked = ["extract", "--async", "--from", "claude", "--json", "--file", str(session.path)]
        submitted.append(in_process(*asked, **ALONE).json["job_id"])
        starter.ensure()
        until(lambda: row(home, submitted[-1])["state"] == "succeeded" or starter.is_gone())
        # The next request falls anywhere into the end of a worker that has just become idle.
        time.sleep(number % 14 * 0.05)
    starter.end()
    assert {row(home, job_id)["state"] for job_id in submitted} == {"succeeded"}
    assert len(contents()) == len(submitted)


def test_a_worker_that_stood_still_for_longer_than_its_lease_cannot_commit(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Fault 11: another worker has taken the job over; what the first one brings later is refused."""
    model.script({"hold": "first", "times": 1} | EACH_HOBBY, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(**SHORT_LEASE) as first:
        until(model.requests)
        with worker("--extra", **SHORT_LEASE) as second:
            until(lambda: len(live()) == 2)
            freeze(first, home)
            done = reaches(home, job_id)
            assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
            before = events(home, job_id)
            model.release("first")
            first.send_signal(signal.SIGCONT)
            fine = submit(talk(tmp_path / "t.jsonl", range(1, 2), "s2").path)
            second.send_signal(signal.SIGTERM)
            second.wait()
            assert reaches(home, fine)["state"] == "succeeded"
        assert first.poll() is None
    assert events(home, job_id) == before
    assert rows(home, "SELECT note FROM job_events WHERE event = 'retrying'") == [("rescued:lease",)]
    assert hobbies(home) == ["养蜂0号", "养蜂1号"]


def test_a_worker_that_stood_still_alone_goes_on_and_commits(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """Fault 12: nobody took its job, so the claim is still its own."""
    model.script({"hold": "go"} | EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(**SHORT_LEASE) as process:
        until(model.requests)
        stand_still(process, home, 4)
        model.release("go")
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert hobbies(home) == ["养蜂0号"]


def test_two_workers_that_stood_still_together_take_nothing_from_each_other(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The laptop slept: whoever wakes first must not take the silence of the other for its end."""
    model.script({"hold": "go"} | EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(**SHORT_LEASE) as first:
        until(model.requests)
        with worker("--extra", **SHORT_LEASE) as second:
            until(lambda: len(live()) == 2)
            freeze(first, home)
            stand_still(second, home, 4)
            time.sleep(0.5)
            first.send_signal(signal.SIGCONT)
            model.release("go")
            done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)


def test_a_second_signal_ends_a_worker_at_once(tmp_path: Path, home: Path) -> None:
    """Fault 10: as after `kill -9`, the next one takes its job back."""
    blocked = """
        import time
        from mex_pipeline.services.rule_extractor import RuleExtractor
        async def blocked(*_):
            time.sleep(60)
        RuleExtractor.extract = blocked
    """
    (job_id,) = small(tmp_path, range(1))
    with patched_worker(blocked) as process:
        until(lambda: row(home, job_id)["progress_note"] == "asking")
        process.send_signal(signal.SIGTERM)
        until(lambda: not lease.is_held(home / "run" / "worker.lock"))
        assert row(home, job_id)["state"] == "running"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == -signal.SIGTERM
    with worker():
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)


def test_an_idle_worker_that_holds_too_much_memory_makes_way(tmp_path: Path, home: Path) -> None:
    """Not before it has worked, or a process that is too big from the start would be replaced for ever."""
    mex("init")
    with patched_worker(BIG) as process:
        until(live)
        time.sleep(1)
        assert process.poll() is None
        (job_id,) = small(tmp_path, range(1))
        assert reaches(home, job_id)["state"] == "succeeded"
        assert process.wait(timeout=20) == 75
    assert live() == []


def test_a_worker_killed_in_its_work_leaves_no_lock_behind(tmp_path: Path, home: Path) -> None:
    """Fault 25: the kernel gives the lock back, so the next request starts a worker."""
    mex("init")
    with worker() as process:
        until(live)
        kill(process)
        assert not lease.is_held(home / "run" / "worker.lock")
        with worker():
            assert until(live) != [process.pid]
    assert [path.name for path in (home / "run").glob("*.lock") if not path.name.startswith("worker")] == []


def test_what_a_sleeper_has_paid_for_is_left_to_the_job_that_its_own_was_merged_into(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Its job is cancelled, but the one that stays reads the same turns (product P4)."""
    model.script({"when": hobby(1), "hold": "go"} | EACH_HOBBY, EACH_HOBBY)
    session = talk(tmp_path / "s.jsonl", range(2))
    first = submit(session.path)
    with worker(**SHORT_LEASE, **ONE_EACH) as sleeper:
        until(lambda: rows(home, "SELECT 1 FROM kept_replies"))
        until(lambda: model.asked(hobby(1)))
        later = submit(session.path)
        with worker("--extra", "--threads", "1", **SHORT_LEASE, **ONE_EACH):
            mex("jobs", "pause")
            freeze(sleeper, home)
            assert row(home, reaches(home, first, "cancelled")["job_id"])["reason"] == f"merged:{later}"
            sleeper.send_signal(signal.SIGCONT)
            model.release("go")
            sleeper.terminate()
            assert sleeper.wait(timeout=20) == 0
            mex("jobs", "resume")
            assert reaches(home, later)["usage"]["reused"] >= 1
    assert model.asked(hobby(0)) == 1
    assert hobbies(home) == [hobby(0), hobby(1)]
    assert rows(home, "SELECT count(*) FROM kept_replies") == [(0,)]
