"""Pauses of a person and of the program: what they hold, what lifts them, and whether a worker waits for their end."""

import time
from pathlib import Path

import pytest

from mex_pipeline.bootstrap import open_app
from mex_pipeline.services import pauses
from mex_pipeline.services.pauses import Pause, endpoint_scope
from mex_pipeline.store import workers
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, until, worker
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
EVERY_HOBBY = {"hobbies": True}


def submitted(folder: Path, number: int = 1) -> str:
    path = SessionFile(folder / f"{number}.jsonl", f"s{number}").user(f"我的爱好是养蜂{number}号。").path
    return str(mex("extract", "--async", "--file", str(path), "--json", **ALONE).json["job_id"])


def state(job_id: str) -> str:
    return str(mex("jobs", "show", job_id, "--json").json["state"])


def paused(scope: str, seconds: float | None) -> None:
    with open_app("en") as app:
        pauses.pause(app, scope, seconds)


def resumed(scope: str | None = None) -> int:
    with open_app("en") as app:
        return pauses.resume(app, scope)


def current() -> list[Pause]:
    with open_app("en") as app:
        return pauses.current(app)


def program_pauses(scope: str, reason: str, seconds: float) -> None:
    """Pause as a fault would; an empty scope is the configured endpoint."""
    with open_app("en") as app, app.db.transaction() as tx:
        now = int(1000 * time.time())
        name = scope or endpoint_scope(app.settings)
        tx.run(workers.pause_at_least(name, now + int(1000 * seconds), reason, now))


@pytest.mark.parametrize("scope", ["*", "llm"])
def test_what_a_person_paused_waits_until_it_is_resumed(model: ModelServer, tmp_path: Path, scope: str) -> None:
    """The worker is another process, and was started later."""
    model.script(EVERY_HOBBY)
    paused(scope, None)
    (pause,) = current()
    assert pause == Pause(scope, None, "user", by_person=True)
    held = submitted(tmp_path)
    with worker():
        until(lambda: mex("worker", "status", "--json").json["running"])
        time.sleep(1.5)
        assert state(held) == "queued"
        assert mex("jobs", "wait", held, ok=False).code == 2
        assert resumed() == 1
        until(lambda: state(held) == "succeeded")
    assert current() == []


def test_a_pause_for_a_while_ends_by_itself(model: ModelServer, tmp_path: Path) -> None:
    model.script(EVERY_HOBBY)
    paused("llm", 1.0)
    (pause,) = current()
    assert pause.by_person
    assert pause.until is not None
    held = submitted(tmp_path)
    with worker():
        until(lambda: state(held) == "succeeded")


def test_a_pause_of_model_work_lets_a_restore_go(model: ModelServer, tmp_path: Path) -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "林晓舟")
    mex("export", "--output", str(tmp_path / "all.json"))
    mex("clear", "--yes")
    paused("llm", None)
    waiting = submitted(tmp_path)
    restore = mex("import", str(tmp_path / "all.json"), "--async", "--json", **ALONE).json["job_id"]
    with worker():
        until(lambda: state(restore) == "succeeded")
        assert state(waiting) == "queued"
    assert contents() == ["林晓舟"]


def test_a_retry_lifts_what_the_program_paused_and_not_what_a_person_did(model: ModelServer, tmp_path: Path) -> None:
    model.script(EVERY_HOBBY)
    held = submitted(tmp_path)
    program_pauses("", "llm_auth", 600)
    program_pauses("*", "disk_full", 600)
    paused("llm", None)
    mex("jobs", "retry", held, **ALONE)
    assert [(one.scope, one.reason) for one in current()] == [("llm", "user")]
    mex("config", "llm", "--model", "m1", **ALONE)
    assert len(current()) == 1


def test_resuming_model_work_takes_the_pauses_of_endpoints_with_it_and_leaves_the_rest(model: ModelServer) -> None:
    program_pauses("", "rate_limit", 600)
    program_pauses("llm:elsewhere", "llm_auth", 600)
    paused("llm", 600)
    paused("*", 600)
    assert [one.scope for one in current()][:2] == ["*", "llm"], "another endpoint's pause holds nothing here"
    assert len(current()) == 3
    assert resumed("llm") == 3
    assert [one.scope for one in current()] == ["*"]
    assert resumed("llm") == 0
    assert resumed() == 1


def test_a_worker_waits_for_the_end_of_a_pause_that_ends_by_itself(model: ModelServer, tmp_path: Path) -> None:
    model.script(EVERY_HOBBY)
    held = submitted(tmp_path)
    program_pauses("", "circuit", 4)
    with worker("--idle-exit", "1s") as process:
        until(lambda: state(held) == "succeeded")
        process.wait(20)


@pytest.mark.parametrize("reason", ["llm_auth", "user"])
def test_a_worker_does_not_wait_for_a_person(model: ModelServer, tmp_path: Path, reason: str) -> None:
    held = submitted(tmp_path)
    if reason == "user":
        paused("*", None)
    else:
        program_pauses("", reason, 600)
    with worker("--idle-exit", "1s") as process:
        process.wait(20)
    assert state(held) == "queued"
    assert model.requests() == []
