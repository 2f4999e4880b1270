"""`mex doctor` on jobs: what is broken is said in plain words, and `--fix` puts right what can be (docs/jobs.md)."""

import signal
from pathlib import Path
from typing import Any

from tests.support.faulting import line, submit
from tests.support.invariants import check_queue
from tests.support.program import mex, opened, until, worker
from tests.support.sessions import SessionFile


def items(*options: str) -> list[dict[str, Any]]:
    shown = mex("doctor", "--json", *options).json
    (check,) = [one for one in shown["checks"] if one["name"] == "jobs"]
    return list(check["items"])


def test_leftovers_and_dead_workers_are_cleared_by_fix(home: Path) -> None:
    mex("init")
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO kept_replies VALUES ('k', 'no job', '/s.jsonl', '{}', 1)")
        db.execute("INSERT INTO workers VALUES ('dead00000000', 'h', 1, '1', 0, 0, 'running')")
    (item,) = items()
    assert (item["code"], item["source"], item["commands"]) == ("jobs_leftovers", "/s.jsonl", ["mex doctor --fix"])
    assert "Words of finished work are still kept" in mex("doctor").out
    assert "已完成的工作还留着文本" in mex("--lang", "zh", "doctor").out
    assert items("--fix") == []
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT count(*) FROM workers").fetchone() == (0,)


def test_a_job_that_is_gone_or_wrote_without_an_end_is_a_problem_in_plain_words(tmp_path: Path, home: Path) -> None:
    mex("extract", "--from", "claude", "--file", str(SessionFile(tmp_path / "a.jsonl", "a").user(line(1)).path))
    gone = submit(SessionFile(tmp_path / "b.jsonl", "b").user(line(2)).path)
    with opened(home / "mex.db") as db:
        db.execute("DELETE FROM jobs WHERE id = ?", (gone,))
        db.execute("UPDATE jobs SET state = 'failed', outcome = 'poison'")
    assert [one["code"] for one in items()] == ["jobs_vanished", "jobs_wrote_unended"]
    text = mex("doctor").out
    assert f"Job {gone} was accepted, has not ended, and is gone." in text
    assert all(word not in text for word in ("I1", "I5", "fence"))


def test_a_due_job_that_a_live_worker_does_not_begin_is_a_problem(tmp_path: Path, home: Path) -> None:
    with worker() as process:
        until(lambda: mex("worker", "status", "--json").json["workers"])
        process.send_signal(signal.SIGSTOP)
        try:
            job_id = submit(SessionFile(tmp_path / "s.jsonl").user(line(1)).path)
            assert [(one["code"], one["id"]) for one in items()] == [("jobs_not_sent", job_id)]
        finally:
            process.send_signal(signal.SIGCONT)
        mex("jobs", "wait", job_id, "--timeout", "30")
        check_queue(home)
