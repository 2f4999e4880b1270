"""Runs that hang: taken back after a time without progress, whatever their thread does (product H7, fault 31)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.llm.retry import LONGEST_RETRY_AFTER
from mex_pipeline.services.deadlines import LONGEST_WAIT_SECONDS, QUIET_SECONDS, patience
from mex_pipeline.settings import LLMSettings
from tests.support.faulting import (
    EACH_HOBBY,
    ONE_EACH,
    events,
    hobbies,
    reaches,
    row,
    rows,
    submit,
    talk,
)
from tests.support.model_server import ModelServer
from tests.support.patched import patched_worker, stand_still
from tests.support.program import contents, mex, until, worker
from tests.support.sessions import SessionFile

SOON = {"MEX_TEST_PATIENCE": "1"}
HANGING_DISK = """
    import time
    from pathlib import Path
    from mex_pipeline.services import reading
    folder, read = Path({folder!r}), reading.read
    def hanging(key, *arguments, **options):
        while (folder / "hangs").exists() and key.path.name == "s.jsonl":
            (folder / "reads").touch()
            time.sleep(0.05)
        return read(key, *arguments, **options)
    reading.read = hanging
"""
"""Reading `s.jsonl` takes as long as the file `hangs` exists, as on a disk in a network that is gone."""
BLOCKED = """
    import time
    from pathlib import Path
    from mex_pipeline.services.rule_extractor import RuleExtractor
    folder, extract = Path({folder!r}), RuleExtractor.extract
    async def blocked(*arguments):
        if not (folder / "blocked").exists():
            (folder / "blocked").touch()
            while not (folder / "go").exists():
                time.sleep(0.05)  # the event loop stands still: nothing can cancel this
        return await extract(*arguments)
    RuleExtractor.extract = blocked
"""
"""The first extraction blocks its thread until the file `go` exists."""


@contextmanager
def hanging_disk(folder: Path) -> Iterator[Path]:
    """The disk hangs until the file that is given goes, at the latest at the end of the block."""
    hangs = folder / "hangs"
    hangs.touch()
    try:
        yield hangs
    finally:
        hangs.unlink(missing_ok=True)


def notes(home: Path, job_id: str) -> list[Any]:
    """Why the job came back each time."""
    found = rows(home, "SELECT note FROM job_events WHERE job_id = ? AND event = 'retrying' ORDER BY seq", job_id)
    return [note for (note,) in found]


@pytest.mark.parametrize(
    ("timeout", "retries", "base"), [(600.0, 3, 2.0), (1.0, 0, 0.0), (30.0, 10, 2.0), (0.5, 1, 100.0)]
)
def test_a_deadline_exceeds_the_worst_case_of_an_answer_and_its_reminder(
    timeout: float, retries: int, base: float
) -> None:
    """Product H7: every try times out, and between them the longest of all waits is waited."""
    waits = [max(float(LONGEST_RETRY_AFTER), base * 2**number * 1.25) for number in range(retries)]
    worst = 2 * ((retries + 1) * timeout + sum(waits))
    llm = LLMSettings(timeout_seconds=timeout, max_retries=retries, retry_base_seconds=base)
    assert patience(llm, asks_model=True) >= worst + QUIET_SECONDS
    assert patience(llm, asks_model=False) == QUIET_SECONDS
    assert LONGEST_WAIT_SECONDS == LONGEST_RETRY_AFTER


def test_settings_without_measure_still_give_a_deadline() -> None:
    """No overflow, and no job that hangs for ever."""
    endless = LLMSettings(timeout_seconds=1e8, max_retries=999_999_999, retry_base_seconds=1e8)
    assert patience(endless, asks_model=True) == 7 * 86_400


def test_a_run_that_hangs_in_reading_is_taken_back_and_the_next_one_ends_it(tmp_path: Path, home: Path) -> None:
    """It counts as a crash; a thread that hangs on costs the others nothing and writes nothing later."""
    job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    patch = HANGING_DISK.format(folder=str(tmp_path))
    with hanging_disk(tmp_path) as hangs, patched_worker(patch, **SOON) as process:
        until(lambda: row(home, job_id)["crashes"] == 1)
        hangs.unlink()
        done = reaches(home, job_id)
        assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
        assert notes(home, job_id) == ["rescued:stuck"]
        assert process.poll() is None
    assert contents() == ["林晓舟"]


def test_a_job_that_hangs_every_time_ends_after_three_times_and_others_go_on(tmp_path: Path, home: Path) -> None:
    """Three crashes end it, of whatever kind they are."""
    job_id = submit(SessionFile(tmp_path / "s.jsonl", "s").user("毒").path)
    patch = HANGING_DISK.format(folder=str(tmp_path))
    with hanging_disk(tmp_path), patched_worker(patch, "--threads", "4", **SOON):
        until(lambda: row(home, job_id)["crashes"] == 2)
        # The wait after a second crash is not what is tested here.
        mex("jobs", "retry", job_id, MEX_WORKER_AUTOSTART="false")
        ended = reaches(home, job_id)
        assert (ended["state"], ended["outcome"], ended["crashes"]) == ("failed", "poison", 3)
        fine = submit(SessionFile(tmp_path / "f.jsonl", "f").user("我叫林晓舟").path)
        assert reaches(home, fine)["outcome"] == "committed"
    assert contents() == ["林晓舟"]


def test_a_thread_that_is_blocked_for_good_loses_its_job_to_another_thread(tmp_path: Path, home: Path) -> None:
    """The watch takes the row back where nothing can be cancelled; what the thread does later is refused."""
    job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with patched_worker(BLOCKED.format(folder=str(tmp_path)), **SOON) as process:
        done = reaches(home, job_id)
        assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
        assert notes(home, job_id) == ["rescued:stuck"]
        before = events(home, job_id)
        (tmp_path / "go").touch()
        mex("worker", "stop")
        assert process.wait(timeout=20) == 0
    assert events(home, job_id) == before
    assert contents() == ["林晓舟"]


def test_a_worker_whose_thread_does_not_come_back_makes_way_for_a_fresh_one(tmp_path: Path, home: Path) -> None:
    """With work waiting it starts its successor itself; its own status asks a service for another process."""
    jobs = [submit(SessionFile(tmp_path / f"{n}.jsonl", f"s{n}").user(f"我的爱好是养蜂{n}号。").path) for n in range(3)]
    with patched_worker(BLOCKED.format(folder=str(tmp_path)), "--threads", "1", MEX_TEST_ZOMBIE="1", **SOON) as process:
        try:
            ended = [reaches(home, job_id) for job_id in jobs]
            assert [one["state"] for one in ended] == ["succeeded"] * 3
            assert [one["crashes"] for one in ended] == [1, 0, 0]
            (tmp_path / "go").touch()
            assert process.wait(timeout=20) == 75
        finally:
            mex("worker", "stop")
    assert contents() == [f"养蜂{n}号" for n in range(3)]


def test_every_reply_starts_the_deadline_anew(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """A long session takes as long as it takes, as long as replies arrive."""
    model.script({"delay": 0.7} | EACH_HOBBY)
    session = talk(tmp_path / "s.jsonl", range(6))
    settings = ONE_EACH | {"MEX_LLM_TIMEOUT_SECONDS": "1", "MEX_TEST_PATIENCE": "0.5"}
    job_id = submit(session.path)
    with worker(**settings):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert len(hobbies(home)) == 6


def test_a_process_that_stood_still_is_not_stuck(tmp_path: Path, home: Path) -> None:
    """A laptop that slept had no time to make progress."""
    job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    patch = HANGING_DISK.format(folder=str(tmp_path))
    with hanging_disk(tmp_path) as hangs, patched_worker(patch, MEX_TEST_PATIENCE="3") as process:
        until((tmp_path / "reads").exists)
        stand_still(process, home, 4)
        time.sleep(1)  # several looks of the thread that counts
        hangs.unlink()
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
