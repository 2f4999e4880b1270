"""Clocks and files that are lost, locked, full or broken: fault matrix, rows 13 to 22 (docs/testing.md)."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.faulting import (
    CHUNKED,
    EACH_HOBBY,
    WallClock,
    events,
    hobbies,
    hobby,
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
from tests.support.program import mex, opened, until, worker

HALF_HOUR_MS, HOUR_MS = 1_800_000, 3_600_000


def test_row_13_a_clock_that_jumps_while_a_job_runs_neither_doubles_nor_delays_anything(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """An hour ahead, then two hours back, each time with a fresh worker that looks for abandoned jobs at once."""
    clock = WallClock(tmp_path)
    model.script({"when": line(0), "hold": "go", "hobbies": True}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path, **clock.environment)
    with worker("--threads", "1", **clock.environment), worker("--extra", **clock.environment):
        until(model.requests)
        for number, seconds in enumerate((3600, -7200), 3):
            clock.set(seconds)
            with worker("--extra", **clock.environment):
                until(lambda: len(rows(home, "SELECT owner FROM workers")) == 3)
                later = submit(
                    talk(tmp_path / f"{number}.jsonl", range(number, number + 1), f"s{number}").path,
                    **clock.environment,
                )
                assert reaches(home, later, seconds=8)["attempt"] == 1
        model.release("go")
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"], row(home, job_id)["fence"]) == ("succeeded", 1, 0, 1)
    assert events(home, job_id) == ["queued", "claimed", "succeeded"]
    assert hobbies(home) == [hobby(number) for number in (0, 3, 4)]


def test_row_14_a_clock_set_back_while_a_retry_is_due_parks_it_no_longer_than_the_longest_wait(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Three hours back: the retry waits an hour at most, and runs at once when the clock is right again."""
    clock = WallClock(tmp_path)
    model.script({"status": 500, "body": "down"})
    job_id = submit(talk(tmp_path / "s.jsonl", range(2)).path, **clock.environment)
    with worker(**clock.environment, **CHUNKED):
        reaches(home, job_id, "retrying")
        clock.set(-3 * 3600)
        until(lambda: row(home, job_id)["available_at"] - (time.time() - 3 * 3600) * 1000 <= HOUR_MS, 10)
        assert row(home, job_id)["state"] == "retrying"
        model.script(EACH_HOBBY)
        clock.set(0)
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"]) == ("succeeded", 2)


@pytest.mark.parametrize(
    ("zones", "moment"),
    [
        (("Asia/Shanghai", "America/New_York"), None),
        (("America/New_York", "America/New_York"), "2026-03-08T06:59:58"),  # local 02:00 does not exist that night
        (("America/New_York", "UTC"), "2026-11-01T05:59:58"),  # local 01:00 comes twice that night
    ],
    ids=["two zones", "an hour too few", "an hour too many"],
)
def test_row_15_time_zones_and_summer_time_move_no_retry(
    model: ModelServer, tmp_path: Path, home: Path, zones: tuple[str, str], moment: str | None
) -> None:
    """A wait that begins under one zone is over at the same moment under another."""
    clock = WallClock(tmp_path)
    begin = time.time() if moment is None else datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    offset = begin - time.time()
    clock.set(offset)
    model.script({"status": 500, "body": "down"})
    session = talk(tmp_path / "s.jsonl", range(2)).path
    job_id = submit(session, TZ=zones[0], **clock.environment)
    with worker(TZ=zones[0], **clock.environment, **CHUNKED):
        reaches(home, job_id, "retrying")
    wait = row(home, job_id)["available_at"] / 1000 - (time.time() + offset)
    assert 0 < wait < 16
    model.script(EACH_HOBBY)
    with worker(TZ=zones[1], **clock.environment, **CHUNKED):
        until(lambda: rows(home, "SELECT owner FROM workers"))
        assert row(home, job_id)["state"] == "retrying"
        clock.set(offset + 20)
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"]) == ("succeeded", 2)
    with opened(home / "mex.db") as db:
        db.execute("PRAGMA quick_check")


def test_row_16_thirty_wake_ups_are_lost_with_the_queue_file_and_all_thirty_jobs_run(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """queue.db is deleted while no worker lives."""
    model.script({"hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    jobs = [submit(talk(tmp_path / f"{n}.jsonl", range(n, n + 1), f"s{n}").path) for n in range(30)]
    published = "SELECT count(*) FROM jobs WHERE state = 'queued' AND published_at IS NOT NULL"
    with worker("--threads", "1") as first:
        until(lambda: rows(home, published) == [(29,)] and model.requests())
        kill(first)
    for leftover in home.glob("queue.db*"):
        leftover.unlink()
    model.release("go")
    with worker():
        until(lambda: rows(home, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(30,)])
    assert hobbies(home) == [hobby(number) for number in range(30)]
    assert sorted(row(home, job_id)["attempt"] for job_id in jobs) == [1] * 29 + [2]


@pytest.mark.parametrize("damage", ["deleted", "overwritten", "emptied"])
def test_row_17_a_queue_file_that_is_deleted_or_overwritten_under_a_live_worker_is_made_anew(
    tmp_path: Path, home: Path, damage: str
) -> None:
    """The job before and the job after run all the same."""
    with worker() as process:
        reaches(home, submit(talk(tmp_path / "0.jsonl", range(1), "s0").path))
        if damage == "deleted":
            for leftover in home.glob("queue.db*"):
                leftover.unlink()
        else:
            size = (home / "queue.db").stat().st_size
            (home / "queue.db").write_bytes(b"garbage!" * (size // 8) if damage == "overwritten" else b"")
        for number in (1, 2):
            session = talk(tmp_path / f"{number}.jsonl", range(number, number + 1), f"s{number}")
            assert reaches(home, submit(session.path), seconds=8)["attempt"] == 1
        assert process.poll() is None
    assert hobbies(home) == [hobby(number) for number in range(3)]


@pytest.mark.parametrize("damage", ["garbage", "half", "empty", "another database"])
def test_row_18_a_queue_file_that_is_broken_at_the_start_is_replaced_and_the_worker_stays(
    tmp_path: Path, home: Path, damage: str
) -> None:
    """No crash loop over a file that holds nothing of value."""
    queue = home / "queue.db"
    with worker():
        reaches(home, submit(talk(tmp_path / "0.jsonl", range(1), "s0").path))
    whole = queue.read_bytes()
    for leftover in home.glob("queue.db*"):
        leftover.unlink()
    if damage == "another database":
        with opened(queue) as db:
            db.executescript("CREATE TABLE task (other); CREATE TABLE kv (other);")
    else:
        queue.write_bytes({"garbage": b"garbage!" * 4000, "half": whole[: len(whole) // 2], "empty": b""}[damage])
    job_id = submit(talk(tmp_path / "1.jsonl", range(1, 2), "s2").path)
    with worker() as process:
        assert reaches(home, job_id)["attempt"] == 1
        assert process.poll() is None
    assert hobbies(home) == [hobby(0), hobby(1)]


@contextmanager
def running_job(model: ModelServer, folder: Path, **environment: str) -> Iterator[str]:
    """A job that has asked its only question and waits for the answer in a worker of its own; "go" releases it."""
    model.script({"hold": "go", "hobbies": True})
    with worker(**environment):
        job_id = submit(talk(folder / "s.jsonl", range(3)).path)
        until(model.requests)
        yield job_id


def test_row_19_a_write_lock_that_another_program_holds_for_six_seconds_is_waited_for(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Longer than SQLite waits by itself: the commit is tried again, and it is still the first attempt."""
    with running_job(model, tmp_path) as job_id:
        with write_lock(home / "mex.db"):
            model.release("go")
            time.sleep(6)
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert len(model.requests()) == 1
    assert hobbies(home) == [hobby(number) for number in range(3)]


@pytest.mark.parametrize("seconds", [3, 6], ids=["the commit", "the end of the run too"])
def test_row_20_a_write_lock_held_longer_than_all_patience_sends_the_job_back_without_an_attempt(
    model: ModelServer, tmp_path: Path, home: Path, seconds: int
) -> None:
    """With a hundredth of the usual wait for the lock. It was no fault of the job, so no crash is counted either."""
    clock = WallClock(tmp_path)
    with running_job(model, tmp_path, MEX_TEST_BUSY="0.05", **clock.environment) as job_id:
        with write_lock(home / "mex.db"):
            model.release("go")
            time.sleep(seconds)
        until(lambda: "retrying" in events(home, job_id))
        clock.set(60)
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert hobbies(home) == [hobby(number) for number in range(3)]


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """The home on a file system of a few megabytes."""
    home.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", str(home)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield home
    subprocess.run(["umount", "--lazy", str(home)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="a small file system is mounted as on Linux")
def test_row_21_a_disk_that_is_full_during_a_job_ends_nothing_and_the_job_is_done_when_there_is_room(
    small_disk: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The worker lives, the job stays, and mex.db is whole."""
    model: ModelServer = request.getfixturevalue("model")
    clock = WallClock(tmp_path)
    with running_job(model, tmp_path, **clock.environment) as job_id:
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        model.release("go")
        time.sleep(2)
        filler.unlink()
        until(lambda: row(small_disk, job_id)["state"] != "running", 15)
        clock.set(120)
        done = reaches(small_disk, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert hobbies(small_disk) == [hobby(number) for number in range(3)]


@pytest.mark.parametrize("part", ["header", "middle", "cut"])
def test_row_22_a_malformed_mex_db_is_reported_and_not_touched_by_a_worker_that_starts(
    tmp_path: Path, home: Path, part: str
) -> None:
    """The worker says so and leaves; doctor says what to do; with the file back everything goes on."""
    mex("extract", "--file", str(talk(tmp_path / "s.jsonl", range(3)).path))
    later = submit(talk(tmp_path / "later.jsonl", range(3, 5), "s2").path)
    whole = at_rest(home)
    broken = damaged(whole, part)
    (home / "mex.db").write_bytes(broken)
    ran = subprocess.run(
        [sys.executable, "-m", "mex_workers", "--idle-exit", "1s"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ran.returncode == 2, ran
    assert "Error:" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (home / "mex.db").read_bytes() == broken
    assert_doctor_helps()
    assert (home / "mex.db").read_bytes() == broken
    (home / "mex.db").write_bytes(whole)
    with worker():
        assert reaches(home, later)["state"] == "succeeded"
    assert hobbies(home) == [hobby(number) for number in range(5)]


@pytest.mark.parametrize("part", ["header", "all"])
def test_row_22_a_mex_db_that_is_overwritten_under_a_live_worker_is_told_by_every_command_and_not_made_anew(
    tmp_path: Path, home: Path, part: str
) -> None:
    """No job is accepted that nobody could run, and nothing is written over what may still be saved."""
    mex("extract", "--file", str(talk(tmp_path / "s.jsonl", range(3)).path))
    with worker() as process:
        until(lambda: rows(home, "SELECT owner FROM workers"))
        until(lambda: not (home / "mex.db-wal").exists() or (home / "mex.db-wal").stat().st_size == 0)
        whole = (home / "mex.db").read_bytes()
        broken = damaged(whole, part)
        (home / "mex.db").write_bytes(broken)
        refused = mex("extract", "--async", "--text", "我叫林晓舟", ok=False)
        assert (refused.code, refused.out) == (2, "")
        assert_doctor_helps()
        assert process.wait(timeout=25) == 2, "it leaves by itself"
    assert "mex.db is damaged" in (home / "logs" / "worker.log").read_text(encoding="utf-8")
    assert (home / "mex.db").read_bytes() == broken
    for leftover in home.glob("mex.db-*"):
        leftover.unlink()
    (home / "mex.db").write_bytes(whole)
    assert hobbies(home) == [hobby(number) for number in range(3)]


def at_rest(home: Path) -> bytes:
    """mex.db with everything in the one file."""
    with opened(home / "mex.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (home / "mex.db").read_bytes()


def damaged(whole: bytes, part: str) -> bytes:
    """The file with its header or its middle overwritten, or cut in half."""
    if part == "header":
        return b"garbage!" * 16 + whole[128:]
    if part == "cut":
        return whole[: len(whole) // 2]
    if part == "all":
        return b"garbage!" * (len(whole) // 8)
    return whole[:4096] + b"garbage!" * ((len(whole) - 8192) // 8) + whole[-4096:]


def assert_doctor_helps() -> None:
    """`mex doctor` finds the damage and says what to do about it."""
    (found,) = [check for check in mex("doctor", "--json").json["checks"] if check["name"] == "database"]
    assert found["status"] == "problem"
    assert "put back a copy" in found["detail"]
