"""What grows although nobody asks is read all the same: the worker's sweep, and follow-ups of held turns (product H1, H6)."""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from mex_pipeline.clock import SystemClock
from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.services.sweep import AT_ONCE, sweep
from mex_pipeline.settings import LLMSettings
from mex_pipeline.store import cursors
from mex_pipeline.store.database import Database
from tests.support.faulting import line, rows, submit
from tests.support.gateways import fresh
from tests.support.invariants import check_queue
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile

OFTEN = {"MEX_TEST_SWEEP": "0.3"}
OF_SESSION = "SELECT trigger, state FROM jobs WHERE lock_key = ? ORDER BY seq"


def jobs(home: Path) -> list[tuple[str, str]]:
    """(trigger, state) of every job, oldest first."""
    return rows(home, "SELECT trigger, state FROM jobs ORDER BY seq")


def extracted(session: SessionFile) -> SessionFile:
    """A session that is known: a job has read it."""
    mex("extract", "--from", "claude", "--file", str(session.path))
    return session


def sweeps_pass(home: Path, number: int = 2) -> None:
    """Wait until a live worker has swept some more times: each sweep of a probe that keeps growing makes a job."""
    probe = SessionFile(home.parent / "probe.jsonl", "probe")
    extracted(probe.user("你好"))
    for count in range(number):
        probe.user(f"第{count}次")
        size = probe.size()
        until(lambda size=size: rows(home, "SELECT 1 FROM extraction_state WHERE looked_size = ?", size))


def test_a_known_session_that_grows_unasked_is_extracted_by_the_sweep(tmp_path: Path, home: Path) -> None:
    """Fault matrix 1: a hook that is killed before its request is written costs minutes, and no memories."""
    session = extracted(SessionFile(tmp_path / "s.jsonl").user(line(1)))
    with worker(**OFTEN):
        until(lambda: mex("worker", "status", "--json").json["running"])
        session.user(line(2))
        until(lambda: ("sweep", "succeeded") in jobs(home))
        assert contents() == ["养蜂1号", "养蜂2号"]
        sweeps_pass(home)
        check_queue(home)
    assert [trigger for trigger, _ in jobs(home)][:2] == ["foreground", "sweep"]
    assert len(rows(home, OF_SESSION, str(session.path))) == 2  # a size that was looked at is not swept again


def test_what_grew_while_no_worker_ran_is_swept_when_one_starts(tmp_path: Path, home: Path) -> None:
    session = extracted(SessionFile(tmp_path / "s.jsonl").user(line(1))).user(line(2))
    gone = extracted(SessionFile(tmp_path / "gone.jsonl", "s2").user(line(3)))
    gone.path.unlink()
    with worker():
        until(lambda: ("sweep", "succeeded") in jobs(home))
    assert "养蜂2号" in contents()
    swept = rows(home, "SELECT lock_key, priority FROM jobs WHERE trigger = 'sweep'")
    assert swept == [(str(session.path), -5)]  # what is gone is passed over in silence


def test_a_source_that_failed_is_swept_only_when_it_changes(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """Else a job that fails would run every ten minutes for ever."""
    session = SessionFile(tmp_path / "s.jsonl").user("你好")
    model.script({"reply": '{"memories": []}'})
    extracted(session)
    model.script({"when": "哪里", "status": 400, "body": "no"}, {"reply": '{"memories": []}'})
    with worker(**OFTEN):
        session.user("在哪里？")
        until(lambda: rows(home, OF_SESSION, str(session.path))[1:] == [("sweep", "failed")])
        sweeps_pass(home)
        assert rows(home, OF_SESSION, str(session.path))[1:] == [("sweep", "failed")]
        model.script({"reply": '{"memories": []}'})
        session.user("再见")
        until(lambda: rows(home, OF_SESSION, str(session.path))[2:] == [("sweep", "succeeded")])


def test_a_source_whose_job_a_person_cancelled_is_left_alone_until_it_changes(tmp_path: Path, home: Path) -> None:
    session = extracted(SessionFile(tmp_path / "s.jsonl").user(line(1))).user(line(2))
    mex("jobs", "cancel", submit(session.path))
    with worker(**OFTEN):
        sweeps_pass(home)
        assert rows(home, OF_SESSION, str(session.path))[1:] == [("command", "cancelled")]
        session.user(line(3))
        until(lambda: rows(home, OF_SESSION, str(session.path))[2:] == [("sweep", "succeeded")])
        check_queue(home)
    assert contents() == ["养蜂1号", "养蜂2号", "养蜂3号"]


def test_a_source_that_cannot_be_read_is_swept_once_for_each_of_its_sizes(tmp_path: Path, home: Path) -> None:
    session = extracted(SessionFile(tmp_path / "s.jsonl").user(line(1)))
    session.path.unlink()
    session.path.mkdir()
    with worker(**OFTEN):
        until(lambda: ("sweep", "failed") in jobs(home))
        sweeps_pass(home)
        assert jobs(home).count(("sweep", "failed")) == 1
        check_queue(home)


def test_product_c9_what_only_the_rules_have_read_is_not_swept_to_a_model(
    tmp_path: Path, home: Path, model: ModelServer
) -> None:
    """It is owed to the model, and the person decides about the cost."""
    configured = (home / "config.yaml").rename(tmp_path / "configured.yaml")
    session = extracted(SessionFile(tmp_path / "s.jsonl").user(line(1))).user(line(2))
    configured.replace(home / "config.yaml")
    model.script({"reply": '{"memories": []}'})
    with worker(**OFTEN):
        sweeps_pass(home)
    assert rows(home, "SELECT count(*) FROM jobs WHERE lock_key = ?", str(session.path)) == [(1,)]


def test_a_swept_session_is_read_about_whom_it_was_read_before(tmp_path: Path, home: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user(line(1))
    mex("extract", "--from", "claude", "--file", str(session.path), "--subject", "other")
    session.user(line(2))
    with worker(**OFTEN):
        until(lambda: ("sweep", "succeeded") in jobs(home))
    assert contents() == []


def test_a_sweep_makes_a_bounded_number_of_jobs_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """A home whose sizes are all unknown, after an import or an upgrade, is swept in parts, each source once."""
    path = fresh(tmp_path / "mex.db")
    facts: dict[str, Any] = {"agent": "claude", "session_id": "s", "project": None, "now": "2026-08-06T07:06:40Z"}
    names = [f"{tmp_path}/{number}.jsonl" for number in range(AT_ONCE + 50)]
    for name in names:
        Path(name).touch()
    with closing(Database.open(path)) as db:
        with db.transaction() as tx:
            tx.run(*(cursors.advance(name, "rules", Cursor(), looked_size=None, **facts) for name in names))
            tx.run(cursors.advance(f"{tmp_path}/other", "model", Cursor(), looked_size=None, **facts))
        made = [sweep(db, LLMSettings(), SystemClock()) for _ in range(3)]
    assert made == [AT_ONCE, 50, 0]


QUIET_LATER = {"MEX_EXTRACTION_QUIET_SECONDS": "3"}


def talk(tmp_path: Path) -> SessionFile:
    """A session whose last answer may still grow, written when a worker is ready to read it."""
    until(lambda: mex("worker", "status", "--json").json["workers"])
    return SessionFile(tmp_path / "s.jsonl").user(line(1)).assistant("好的")


def read_messages(home: Path) -> int:
    """How many messages have been read."""
    ((number,),) = rows(home, "SELECT count(*) FROM seen_messages")
    return int(number)


def test_held_turns_are_read_when_the_session_has_gone_quiet_although_nobody_asks_again(
    tmp_path: Path, home: Path
) -> None:
    """The last answer of a session that ends right after its extraction."""
    with worker(**QUIET_LATER):
        session = talk(tmp_path)
        submit(session.path)
        until(lambda: jobs(home) == [("command", "succeeded"), ("follow_up", "queued")])
        assert read_messages(home) == 1
        until(lambda: jobs(home) == [("command", "succeeded"), ("follow_up", "succeeded")])
        check_queue(home)
    assert read_messages(home) == 2


def test_a_session_that_lives_is_not_followed_up_every_minute(tmp_path: Path, home: Path) -> None:
    """Product H15: a follow-up that has to follow itself waits ten minutes; whoever asks is served at once."""
    with worker(**QUIET_LATER):
        session = talk(tmp_path)
        submit(session.path)

        def is_followed_while_it_is_written() -> bool:
            session.assistant("还有")
            return ("follow_up", "succeeded") in jobs(home)

        until(is_followed_while_it_is_written)
        waits = "SELECT available_at - created_at FROM jobs WHERE trigger = 'follow_up' AND state = 'queued'"
        assert rows(home, waits) == [(600_000,)]
        submit(session.path)
        until(lambda: jobs(home)[2][1] == "succeeded")


def test_a_session_whose_file_claims_to_be_of_tomorrow_is_read_to_its_end(tmp_path: Path, home: Path) -> None:
    """A file's clock that runs ahead must neither hold turns for ever nor make follow-ups without end."""
    with worker(**QUIET_LATER, MEX_TEST_LIVELY="3.5"):
        session = talk(tmp_path)
        ahead = time.time() + 86_400
        os.utime(session.path, (ahead, ahead))
        submit(session.path)
        until(lambda: jobs(home) == [("command", "succeeded"), ("follow_up", "succeeded")])
    assert read_messages(home) == 2


def test_turns_held_at_a_first_attempt_that_failed_are_not_forgotten(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """A retry reads to where the first attempt ended; what was held behind it is a follow-up's."""
    model.script({"status": 503, "body": "down", "times": 1}, {"hobbies": True})
    with worker(**QUIET_LATER, MEX_LLM_MAX_RETRIES="0", MEX_TEST_BACKOFF="1"):
        session = talk(tmp_path)
        submit(session.path)
        until(lambda: jobs(home) == [("command", "succeeded"), ("follow_up", "succeeded")])
    assert read_messages(home) == 2
    assert rows(home, "SELECT attempt FROM jobs WHERE trigger = 'command'") == [(2,)]


def test_what_was_said_before_a_request_that_meets_a_follow_up_on_its_way_back_is_read_at_once(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Its first attempt has fixed where it ends, and what follows a follow-up waits ten minutes: unless somebody asks."""
    session = SessionFile(tmp_path / "s.jsonl").user(line(1))
    submit(session.path)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET trigger = 'follow_up'")
    model.script({"status": 503, "body": "down"})
    with worker(MEX_LLM_MAX_RETRIES="0", MEX_TEST_BACKOFF="1"):
        until(lambda: rows(home, "SELECT 1 FROM jobs WHERE state = 'retrying' AND end_off IS NOT NULL"))
        session.user(line(2))
        submit(session.path)
        model.script({"hobbies": True})
        until(lambda: contents() == ["养蜂1号", "养蜂2号"])
        check_queue(home)
