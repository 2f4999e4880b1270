"""queue.db under attack: a live worker, or at least the next one, goes on, and no job is lost."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile


@pytest.fixture(autouse=True)
def no_autostart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the workers of the test run: `mex jobs wait` would start one while the test's own is coming up."""
    monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")


def submit(path: Path) -> str:
    """Queue a session and return the job's id."""
    return str(mex("extract", "--async", "--file", str(path), "--json").json["job_id"])


def sessions(model: ModelServer, folder: Path, count: int) -> list[Path]:
    """Sessions with a hobby each; the model holds back its answer to the first two until `go`."""
    model.script(
        *(
            {
                "when": f"爱好{n}。",
                "reply": reply(
                    {"topic": "leisure", "sub_topic": "hobbies", "content": f"爱好{n}", "quote": f"我的爱好是爱好{n}"}
                ),
            }
            | ({"hold": "go"} if n < 2 else {})
            for n in range(count)
        )
    )
    return [SessionFile(folder / f"{n}.jsonl", f"s{n}").user(f"我的爱好是爱好{n}。").path for n in range(count)]


def published(home: Path) -> int:
    """How many waiting jobs are marked as sent."""
    with opened(home / "mex.db") as db:
        query = "SELECT count(*) FROM jobs WHERE state = 'queued' AND published_at IS NOT NULL"
        return int(db.execute(query).fetchone()[0])


def overwrite(home: Path) -> None:
    """Another program writes over the file in place."""
    with (home / "queue.db").open("r+b") as file:
        file.write(os.urandom(file.seek(0, os.SEEK_END) or 4096))


def truncate(home: Path) -> None:
    """The file is emptied in place."""
    os.truncate(home / "queue.db", 0)


def delete(home: Path) -> None:
    """The file is gone."""
    for path in home.glob("queue.db*"):
        path.unlink()


def exchange(home: Path) -> None:
    """Another file of the same kind stands in its place: an old copy, put back."""
    copy = home / "copy"
    copy.write_bytes((home / "queue.db").read_bytes())
    copy.replace(home / "queue.db")
    with opened(home / "queue.db") as queue:
        queue.execute("DELETE FROM task")


@pytest.mark.parametrize("damage", [overwrite, truncate, delete, exchange])
def test_a_live_worker_goes_on_when_its_queue_file_is_damaged(
    model: ModelServer, tmp_path: Path, home: Path, damage: Callable[[Path], None]
) -> None:
    """Both threads are busy, others wait with their wake-ups in the file: all run once, in the same process."""
    paths = sessions(model, tmp_path, 6)
    with worker() as process:
        jobs = [submit(path) for path in paths[:2]]
        until(lambda: len(model.requests()) == 2)
        jobs += [submit(path) for path in paths[2:5]]
        until(lambda: published(home) == 3)
        damage(home)
        model.release("go")
        jobs.append(submit(paths[5]))
        mex("jobs", "wait", *jobs, "--timeout", "60")
        assert process.poll() is None
    assert contents() == [f"爱好{n}" for n in range(6)]
    assert {one["attempt"] for one in mex("jobs", "list", "--json").json} == {1}


def test_a_live_worker_shares_no_memory_through_a_file(tmp_path: Path, home: Path) -> None:
    """SQLite's WAL would: cut off by another program, it ends every process that has it open (SIGBUS)."""
    with worker():
        mex("jobs", "wait", submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path), "--timeout", "30")
        assert {path.name for path in home.glob("queue.db*")} <= {"queue.db", "queue.db-journal"}


def test_a_queue_file_left_by_an_earlier_version_with_broken_shared_memory_is_taken_over(
    tmp_path: Path, home: Path
) -> None:
    """It was a WAL database, killed, and its companions are garbage."""
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with closing(sqlite3.connect(home / "queue.db")) as queue:
        queue.execute("PRAGMA journal_mode = wal")
        queue.execute("CREATE TABLE task (id INTEGER)")
        queue.commit()
        kept = {path: path.read_bytes() for path in home.glob("queue.db*")}
    for path, content in kept.items():
        path.write_bytes(content)
    os.truncate(home / "queue.db-shm", 100)
    (home / "queue.db-wal").write_bytes(os.urandom(9000))
    with worker():
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=256k", "none", folder]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted (needs root)")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_under_the_queue_file_loses_nothing(tmp_path: Path, home: Path, small_disk: Path) -> None:
    """What cannot be sent is not marked as sent, the worker stays, and goes on when there is room."""
    mex("init")
    first = submit(SessionFile(tmp_path / "a.jsonl", "a").user("我的爱好是养蜂1号。").path)
    (small_disk / "queue.db").touch()
    (home / "queue.db").symlink_to(small_disk / "queue.db")
    with worker() as process:
        mex("jobs", "wait", first, "--timeout", "30")
        assert (small_disk / "queue.db").stat().st_size
        with pytest.raises(OSError, match="No space left"):
            (small_disk / "ballast").write_bytes(bytes(1_000_000))
        second = submit(SessionFile(tmp_path / "b.jsonl", "b").user("我的爱好是养蜂2号。").path)
        log = home / "logs" / "worker.log"
        until(lambda: mex("worker", "status", "--json").json["workers"])
        for _ in range(20):
            assert mex("jobs", "show", second, "--json").json["state"] == "queued"
        assert published(home) == 0
        assert process.poll() is None
        (small_disk / "ballast").unlink()
        mex("jobs", "wait", second, "--timeout", "30")
    assert (home / "queue.db").is_symlink(), "the file was never taken for a broken one"
    assert len(contents()) == 2
    assert log.read_text(encoding="utf-8").count('"event": "loop"') <= 2


def test_two_workers_agree_on_the_file_after_it_was_exchanged(tmp_path: Path, home: Path) -> None:
    """Each opens what is there now; neither takes the other's new file away."""
    mex("init")
    with worker(), worker("--extra"):
        until(lambda: len(mex("worker", "status", "--json").json["workers"]) == 2)
        jobs = []
        for number in range(4):
            exchange(home)
            jobs.append(
                submit(SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(f"我的爱好是养蜂{number}号。").path)
            )
        mex("jobs", "wait", *jobs, "--timeout", "30")
        settled = (home / "queue.db").stat().st_ino
        jobs = [
            submit(SessionFile(tmp_path / f"{n}.jsonl", f"s{n}").user(f"我的爱好是养蜂{n}号。").path)
            for n in range(4, 8)
        ]
        mex("jobs", "wait", *jobs, "--timeout", "30")
        assert (home / "queue.db").stat().st_ino == settled
    assert len(contents()) == 8


def test_a_wake_up_that_is_sent_again_takes_no_more_room(home: Path) -> None:
    """A long queue is published again each minute; the file does not grow with it."""
    from mex_pipeline.jobqueue import JobQueue

    mex("init")
    queue = JobQueue(home / "queue.db", lambda _: None, on_lost=lambda: None)
    queue.open(fresh=True)
    assert all(queue.publish(job_id, 0) for job_id in ("a", "b", "a", "b", "a"))
    queue.close()
    with opened(home / "queue.db") as file:
        assert file.execute("SELECT count(*) FROM task").fetchone()[0] == 2
