"""What a person reads of jobs that cannot run now is true, and says what to do (product D3, E4, H8)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.program import in_process, mex, opened, until, worker, write
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}


def queued(path: Path) -> str:
    """Queue the extraction of a file that no worker takes."""
    return str(mex("extract", "--async", "--file", str(path), "--json", **ALONE).json["job_id"])


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return write(tmp_path / "note.txt", "我的爱好是登山。")


@pytest.mark.parametrize("part", ["all", "model"])
@pytest.mark.parametrize("span", [(), ("--for", "10m")])
def test_what_a_person_paused_is_named_with_what_lets_it_go_on(note: Path, part: str, span: tuple[str, ...]) -> None:
    """By show and wait, by a request in front of the person that joins the job, by doctor, alike."""
    job_id = queued(note)
    paused = mex("jobs", "pause", part, *span).out.strip()
    assert "mex jobs resume" in paused
    assert paused in mex("jobs", "show", job_id).out
    waited = mex("jobs", "wait", job_id, ok=False)
    assert (waited.code, waited.out.count(paused), paused in waited.err) == (2, 1, False)
    joined = mex("extract", "--file", str(note), ok=False, **ALONE)
    assert (joined.code, joined.err.startswith(f"Error: {paused}"), job_id in joined.err) == (2, True, True)
    told = json.loads(mex("extract", "--file", str(note), "--json", ok=False, **ALONE).err)
    assert (told["code"], told["message"], told["retryable"]) == ("job_paused", paused, True)
    assert mex("extract", "--file", str(note), ok=False, MEX_LANG="zh", **ALONE).err.startswith("错误：")
    doctor = mex("doctor").out
    assert "mex jobs resume" in doctor
    assert "nothing waits" not in doctor
    mex("jobs", "resume")
    assert mex("extract", "--file", str(note), **ALONE).code == 0
    assert "mex jobs resume" not in mex("doctor").out


def test_a_batch_that_is_held_says_so_once(tmp_path: Path, note: Path) -> None:
    other = write(tmp_path / "other.txt", "我的爱好是游泳。")
    asked = mex("import", str(note), str(other), "--mode", "extract", "--async", "--json", **ALONE).json
    paused = mex("jobs", "pause").out.strip()
    assert mex("jobs", "show", asked["batch_id"]).out.count(paused) == 1
    ran = mex("import", str(note), str(other), "--mode", "extract", ok=False, **ALONE)
    assert (ran.code, ran.out.count(paused)) == (2, 1)


def test_the_story_of_a_batch_says_whose_each_line_is(tmp_path: Path, note: Path) -> None:
    other = write(tmp_path / "other.txt", "我的爱好是游泳。")
    asked = mex("import", str(note), str(other), "--mode", "extract", "--async", "--json", **ALONE).json
    told = mex("jobs", "show", asked["batch_id"], "--events").out.splitlines()
    assert [told[told.index(one["job_id"]) + 1].endswith("asked for") for one in asked["jobs"]] == [True, True]


def test_a_job_is_not_next_in_line_while_its_endpoint_rests(model: ModelServer, note: Path) -> None:
    """And a request that joins it tells what holds it now, not what an earlier run met."""
    job_id = queued(note)
    model.script(
        {"status": 401, "body": "{}", "times": 1}, {"status": 429, "body": "{}", "headers": {"retry-after": "900"}}
    )
    with worker(**ALONE):
        until(lambda: "refused the key" in mex("jobs", "show", job_id).out)
        other = queued(write(note.parent / "other.txt", "我的爱好是游泳。"))
        mex("jobs", "retry", other)
        until(lambda: "limits the rate" in mex("worker", "status").out)
        shown = mex("jobs", "show", job_id).out
        assert ("next in line" in shown, "It goes on by itself" in shown) == (False, True)
        joined = mex("extract", "--file", str(note), ok=False, **ALONE)
        assert (joined.code, "refused the key" in joined.err, "limits the rate" in joined.err) == (2, False, True)
        assert "tries again at" not in joined.err
        assert "is on it" not in mex("extract", "--async", "--file", str(note), **ALONE).out


@pytest.mark.parametrize("span", ["0s", "999999w"])
def test_a_pause_has_a_length_that_every_command_can_tell(span: str, note: Path) -> None:
    refused = mex("jobs", "pause", "--for", span, "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "pause_out_of_range")
    assert mex("jobs", "pause", "--for", "365d").code == 0
    assert mex("worker", "status").code == 0


@pytest.mark.parametrize("timeout", ["²", "-1", "1.5", ""])
def test_a_timeout_that_is_no_number_is_refused(timeout: str, note: Path) -> None:
    job_id = queued(note)
    refused = mex("jobs", "wait", job_id, f"--timeout={timeout}", "--json", ok=False, **ALONE)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "bad_span")


def test_waiting_without_a_worker_names_what_was_asked_for(tmp_path: Path, note: Path) -> None:
    other = write(tmp_path / "other.txt", "我的爱好是游泳。")
    asked = mex("import", str(note), str(other), "--mode", "extract", "--async", "--json", **ALONE).json
    assert f"mex jobs wait {asked['batch_id']}\n" in mex(
        "jobs", "wait", asked["batch_id"], "--timeout", "0", ok=False, **ALONE
    ).err  # fmt: skip


def test_the_next_step_is_a_worker_when_jobs_wait_for_one(note: Path) -> None:
    queued(note)
    assert "mex worker start" in in_process(**ALONE).out
    with worker():
        assert "mex worker start" not in mex(**ALONE).out


@contextmanager
def in_front(session: Path, model: ModelServer) -> Iterator["subprocess.Popen[str]"]:
    """`mex extract` in another terminal, whose model does not answer until `go`."""
    model.script({"hold": "go", "times": 1}, {"hobbies": True})
    words = ("extract", "--from", "claude", "--file", str(session))
    process = subprocess.Popen(
        [sys.executable, "-m", "mex_pipeline", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(model.requests)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_command_that_runs_its_own_job_is_no_worker(model: ModelServer, tmp_path: Path, note: Path) -> None:
    """Nobody says that one is there, and a wait for another job starts one."""
    with in_front(SessionFile(tmp_path / "s.jsonl", "s").user("我的爱好是游泳。").path, model):
        job_id = queued(note)
        assert "no worker is running" in mex("jobs", "show", job_id, **ALONE).out
        assert "mex worker start" in mex("doctor", **ALONE).out
        try:
            assert mex("jobs", "wait", job_id, "--timeout", "60").code == 0
        finally:
            mex("worker", "stop")


def test_a_job_whose_process_dies_is_not_waited_for_for_ever(model: ModelServer, tmp_path: Path) -> None:
    with in_front(SessionFile(tmp_path / "s.jsonl", "s").user("我的爱好是游泳。").path, model) as process:
        (job,) = mex("jobs", "list", "--json").json
        waiting = subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "jobs", "wait", job["job_id"], "--timeout", "60"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            process.kill()
            out, _ = waiting.communicate(timeout=40)
            assert (waiting.returncode, "ended abruptly" in out) == (2, True)
        finally:
            waiting.kill()
            waiting.communicate()


def test_a_job_that_was_cancelled_from_elsewhere_says_so_in_words(model: ModelServer, tmp_path: Path) -> None:
    with in_front(SessionFile(tmp_path / "s.jsonl", "s").user("我的爱好是游泳。").path, model) as process:
        (job,) = mex("jobs", "list", "--json").json
        mex("jobs", "cancel", job["job_id"])
        _, err = process.communicate(timeout=30)
        assert (process.returncode, "cancelled (on request)" in err) == (1, True)


def test_verify_says_who_is_missing_and_what_a_vanished_session_needs(tmp_path: Path, home: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl", "s").user("我的爱好是登山。")
    job_id = mex("extract", "--async", "--from", "claude", "--file", str(session.path), "--json", **ALONE).json[
        "job_id"
    ]
    assert "mex worker start" in mex("jobs", "verify").err
    with worker():
        assert mex("jobs", "verify").err == ""
        mex("jobs", "wait", job_id)
    session.user("我的爱好是游泳。")
    job_id = mex("extract", "--async", "--from", "claude", "--file", str(session.path), "--json", **ALONE).json[
        "job_id"
    ]
    mex("jobs", "cancel", job_id)
    session.path.unlink()
    gone = mex("jobs", "verify", ok=False)
    assert (gone.code, "0 turns" in gone.out, f"mex jobs retry {job_id}" in gone.out) == (2, False, True)


def test_an_unreadable_session_that_a_job_failed_on_is_missed_as_a_vanished_one_is(tmp_path: Path) -> None:
    export = write(tmp_path / "o.json", "{")
    job_id = mex("extract", "--async", "--from", "opencode", "--file", str(export), "--json", **ALONE).json["job_id"]
    waiting = mex("jobs", "verify", **ALONE)
    assert (waiting.code, f"waits for {job_id}" in waiting.out) == (0, True)
    with worker():
        assert mex("jobs", "wait", job_id, ok=False).code == 2
    missed = mex("jobs", "verify", ok=False)
    assert (missed.code, f"mex jobs retry {job_id}" in missed.out, "0 turns" in missed.out) == (2, True, False)


def test_verify_repairs_a_session_about_somebody_else_as_such(tmp_path: Path, home: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl", "s").user("我的爱好是登山。")
    mex("extract", "--from", "claude", "--file", str(session.path), "--subject", "other")
    session.user("我的爱好是游泳。")
    with opened(home / "mex.db") as db:
        db.execute("UPDATE extraction_state SET looked_size = ?", (session.size(),))
    (one,) = mex("jobs", "verify", "--json", ok=False).json["sources"]
    assert " --subject other " in one["gaps"][0]["command"]


def test_verify_does_not_deny_what_the_rules_have_read(note: Path) -> None:
    mex("extract", "--file", str(note))
    mex(
        "config",
        "llm",
        "--provider",
        "custom",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--api-key",
        "k",
        "--model",
        "m1",
    )
    assert (
        mex("jobs", "verify").out
        == "The model has read no session yet; what the built-in rules have read is not counted.\n"
    )
