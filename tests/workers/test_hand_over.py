"""One version follows another: an old worker makes way, a new one is left alone, newer data is not touched (faults 40, 41)."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline import __version__, lease
from mex_pipeline.services.workers import is_older
from tests.support.faulting import ALONE, reaches, row, rows, submit, talk
from tests.support.model_server import ModelServer
from tests.support.patched import patched_worker
from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile


def of_version(version: str) -> str:
    """What makes a worker one of that version."""
    return f"import mex_pipeline\nmex_pipeline.__version__ = {version!r}"


def live() -> list[dict[str, Any]]:
    """The live workers."""
    return list(mex("worker", "status", "--json").json["workers"])


def session(folder: Path, name: str = "s") -> Path:
    """A session that the built-in rules understand."""
    return SessionFile(folder / f"{name}.jsonl", name).user("我叫林晓舟").path


def ask(path: Path) -> dict[str, Any]:
    """`mex extract --async`, which may start a worker."""
    return dict(mex("extract", "--async", "--from", "claude", "--file", str(path), "--json").json)


def everything(home: Path) -> list[Any]:
    """All rows of every table that a worker writes."""
    names = ("jobs", "job_events", "workers", "queue_control", "memories", "extraction_state")
    return [rows(home, f"SELECT * FROM {name} ORDER BY 1") for name in names]


def become_newer(home: Path) -> None:
    """What the first command of a later meX does to mex.db."""
    with opened(home / "mex.db") as db:
        db.execute("PRAGMA user_version = 99")
        db.execute("CREATE TABLE of_a_later_version (x)")


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "0.10.0", True),
        ("0.2", "0.2.0", False),
        ("0.2.0", "0.2", False),
        ("0.2.0rc1", "0.2.0", True),
        ("0.2.0.dev3", "0.2.0", True),
        ("0.2.0", "0.2.0.post1", False),
        ("0.2.0+local", "0.2.0", False),
        ("1.0", "0.9", False),
        ("unknown", "0.1.0", False),
        ("0.1.0", "", False),
    ],
)
def test_versions_are_compared_by_their_numbers(one: str, other: str, *, older: bool) -> None:
    """What cannot be read is neither older nor newer: nobody is asked to leave for it."""
    assert is_older(one, other) is older


def test_a_request_replaces_a_worker_of_an_older_version(tmp_path: Path, home: Path) -> None:
    """Fault 40: the command waits for nothing; the new worker begins when the old one has left."""
    mex("init")
    with patched_worker(of_version("0.0.9")) as old:
        until(live)
        try:
            sent = ask(session(tmp_path))
            assert sent["worker"] == "spawned"
            done = reaches(home, sent["job_id"])
            assert old.wait(timeout=20) == 75
            assert (done["state"], done["crashes"]) == ("succeeded", 0)
            assert [one["version"] for one in until(live)] == [__version__]
            again = ask(session(tmp_path, "t"))
            assert again["worker"] == "running", "what was asked of the old one is asked of nobody else"
            assert reaches(home, again["job_id"])["state"] == "succeeded"
        finally:
            mex("worker", "stop")
    assert row(home, sent["job_id"])["worker_version"] in ("0.0.9", __version__)
    assert (home / "logs" / "worker.err").read_text() == ""


def test_starting_a_worker_replaces_one_of_an_older_version(home: Path) -> None:
    """`mex worker start` after an update is enough."""
    mex("init")
    with patched_worker(of_version("0.0.9")) as old:
        until(live)
        try:
            assert mex("worker", "start", "--json").json["started"]
            assert old.wait(timeout=20) == 75
            until(lambda: [one["version"] for one in live()] == [__version__])
        finally:
            mex("worker", "stop")


def test_a_job_of_an_old_worker_is_finished_by_the_new_one(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """It is put back with its attempt, as at any stop."""
    model.script({"hold": "never", "times": 1}, {"hobbies": True})
    job_id = submit(talk(tmp_path / "a.jsonl", range(1), "a").path)
    with patched_worker(of_version("0.0.9")) as old:
        until(model.requests)
        try:
            ask(talk(tmp_path / "b.jsonl", range(1, 2), "b").path)
            done = reaches(home, job_id)
            assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
            assert row(home, job_id)["worker_version"] == __version__
            assert old.wait(timeout=20) == 75
        finally:
            mex("worker", "stop")


def test_a_worker_of_a_newer_version_is_left_alone(tmp_path: Path, home: Path) -> None:
    """An old command beside a new worker asks nothing of it."""
    mex("init")
    with patched_worker(of_version("99.0")) as newer:
        until(live)
        sent = ask(session(tmp_path))
        assert sent["worker"] == "running"
        assert reaches(home, sent["job_id"])["state"] == "succeeded"
        assert not mex("worker", "start", "--json").json["started"]
        assert newer.poll() is None


def test_without_autostart_an_older_worker_stays(tmp_path: Path, home: Path) -> None:
    """Who starts workers by hand replaces them by hand."""
    mex("init")
    with patched_worker(of_version("0.0.9")) as old:
        until(live)
        job_id = submit(session(tmp_path), **ALONE)
        assert reaches(home, job_id)["state"] == "succeeded"
        assert old.poll() is None
        assert rows(home, "SELECT * FROM queue_control WHERE scope = 'worker:stop'") == []


def test_one_worker_at_most_waits_for_another_to_leave(tmp_path: Path, home: Path) -> None:
    """However many commands ask for the new version, one process waits; the others leave without a word."""
    mex("init")
    waiting = [sys.executable, "-m", "mex_workers", "--idle-exit", "0", "--wait", "60s"]
    with worker() as first, (tmp_path / "said").open("wb") as said:
        until(live)
        many = [subprocess.Popen(waiting, stdout=subprocess.DEVNULL, stderr=said) for _ in range(3)]
        try:
            until(lambda: sum(one.poll() is not None for one in many) == 2)
            (stays,) = [one for one in many if one.poll() is None]
            first.terminate()
            assert first.wait(timeout=20) == 0
            assert [one["pid"] for one in until(live)] == [stays.pid]
            mex("worker", "stop")
            assert stays.wait(timeout=20) == 0
            assert [one.returncode for one in many] == [0, 0, 0]
        finally:
            for one in many:
                one.kill()
                one.wait()
    assert (tmp_path / "said").read_text() == ""


def test_who_waits_too_long_for_another_worker_leaves(home: Path) -> None:
    """It says so to a person, and fails nobody."""
    mex("init")
    with worker():
        until(lambda: lease.is_held(home / "run" / "worker.lock"))
        waiting = [sys.executable, "-m", "mex_workers", "--wait", "1s"]
        done = subprocess.run(waiting, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "A worker is running.\n", "")


def test_a_worker_leaves_a_database_that_became_newer_untouched(tmp_path: Path, home: Path) -> None:
    """Fault 41: it claims nothing, rescues nothing and publishes nothing from then on."""
    mex("init")
    with worker() as process:
        until(live)
        with opened(home / "mex.db") as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT INTO jobs (id, kind, payload, payload_v, state, available_at, first_enqueued_at, trigger, "
                "max_attempts, created_at) VALUES ('00000000-0000-4000-8000-000000000001', 'extract', '{}', 1, 'queued', "
                "1, 1, 'command', 10, 1)"
            )
            db.execute("PRAGMA user_version = 99")
        before = everything(home)
        assert process.wait(timeout=20) == 75
    assert everything(home) == before
    log = (home / "logs" / "worker.log").read_text(encoding="utf-8")
    assert log.count("mex.db is newer") == 1


def test_a_run_under_way_when_the_database_becomes_newer_writes_nothing(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Its row stays as it is: the newer worker takes it back, for its process is gone."""
    model.script({"hold": "go", "hobbies": True})
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(MEX_TEST_LEASE="1") as process:
        until(model.requests)
        become_newer(home)
        before = everything(home)
        assert process.wait(timeout=20) == 75
    assert everything(home) == before
    assert row(home, job_id)["state"] == "running"


def test_a_worker_that_starts_on_a_newer_database_leaves_at_once(home: Path) -> None:
    """A service that starts it again gets the new code sooner or later."""
    mex("init")
    become_newer(home)
    done = subprocess.run(
        [sys.executable, "-m", "mex_workers"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 75
    assert "newer" in done.stderr


def test_a_job_of_a_later_form_is_left_to_a_later_worker(tmp_path: Path, home: Path) -> None:
    """It is neither claimed nor changed; the worker makes way, and puts back what it does."""
    job_id = submit(session(tmp_path))
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET payload_v = 2")
    before = row(home, job_id)
    with worker() as process:
        assert process.wait(timeout=20) == 75
    assert row(home, job_id) == before
    assert contents() == []


def test_a_request_that_joins_a_job_of_a_later_form_makes_it_one_of_this_form(tmp_path: Path, home: Path) -> None:
    """The newest request says how to read the source, in its own form."""
    path = session(tmp_path)
    job_id = submit(path)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET payload_v = 2, payload = '{\"later\": true}'")
    assert submit(path) == job_id
    assert row(home, job_id)["payload_v"] == 1
    with worker():
        assert reaches(home, job_id)["state"] == "succeeded"
