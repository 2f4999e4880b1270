"""Imports in the background: the same job and the same code as in the foreground, once whatever happens (product C1, P3)."""

import json
import signal
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.faulting import EACH_HOBBY, hobby, line, reaches, rows
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened, until, worker, write

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
SKILL = {"topic": "work", "sub_topic": "tech_stack", "content": "Haskell", "quote": "技能：Haskell", "turn": 1}


def submit(file: Path, *options: str) -> str:
    """Queue an import and return its job's id."""
    sent = mex("import", str(file), "--async", *options, "--json", **ALONE).json
    assert set(sent) == {"job_id", "state", "merged", "worker"}
    return str(sent["job_id"])


def export_of(path: Path, number: int) -> Path:
    """An export with so many memories."""
    rows = [
        {
            "id": str(uuid.UUID(int=one + 1, version=4)), "topic": "leisure", "sub_topic": "hobbies",
            "content": f"爱好{one}号", "is_ai_inferred": False, "confidence": "explicit", "evidence": None,
            "created_at": "2026-08-06T08:30:00Z", "updated_at": "2026-08-06T08:30:00Z",
        }
        for one in range(number)
    ]  # fmt: skip
    return write(path, json.dumps({"version": 1, "memories": rows}))


def waited(job_id: str, **options: Any) -> Any:
    """The job when it has ended."""
    return mex("jobs", "wait", job_id, "--timeout", "60", "--json", **options).json


def test_product_c1_a_restore_in_the_background_gives_what_one_in_the_foreground_gives(
    tmp_path: Path, home: Path
) -> None:
    file = export_of(tmp_path / "e.json", 150)
    with worker():
        job_id = submit(file)
        done = waited(job_id)
        shown = mex("jobs", "show", job_id).out
    assert (done["imported"], done["skipped"], done["conflicts"]) == (150, 0, [])
    assert (done["counts"]["added"], len(done["added"])) == (150, 100), "a job's row stays small"
    assert "Imported 150, skipped 0, conflicts 0" in shown
    there = mex("import", str(file), "--json", MEX_HOME=str(tmp_path / "other")).json
    same = ("kind", "outcome", "imported", "skipped", "conflicts", "counts", "added")
    assert {key: done[key] for key in same} == {key: there[key] for key in same}
    assert waited(job_id)["state"] == "succeeded"


def test_a_text_in_the_background_is_extracted_for_the_purpose_of_import(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    file = write(tmp_path / "cv.md", "技能：Haskell")
    model.script({"reply": reply(SKILL)})
    with worker():
        done = waited(submit(file, "--mode", "extract"))
    assert (done["kind"], done["outcome"], contents()) == ("import", "committed", ["Haskell"])
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT purpose FROM llm_usage").fetchall() == [("import",)]
        assert db.execute("SELECT count(*) FROM extraction_state").fetchone() == (0,)


SLOW = """
CREATE TRIGGER slow BEFORE INSERT ON memories WHEN new.content = '爱好1500号' BEGIN
  SELECT count(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000000000) SELECT i FROM n);
END
"""
"""Half of the rows are in when this one begins to take minutes."""


def test_product_p3_after_kill_9_in_the_middle_of_a_restore_a_new_worker_puts_everything_back_once(
    tmp_path: Path, home: Path
) -> None:
    """Nothing of the first run is there, then all of it, once."""
    file = export_of(tmp_path / "e.json", 3_000)
    job_id = submit(file)
    with opened(home / "mex.db") as db:
        db.execute(SLOW)
    with worker() as first:
        until(lambda: mex("jobs", "show", job_id, "--json").json["state"] == "running" and _is_locked(home))
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert contents() == []
    with opened(home / "mex.db") as db:
        db.execute("DROP TRIGGER slow")
    with worker():
        done = waited(job_id)
    assert (done["state"], done["imported"], done["attempt"], done["crashes"]) == ("succeeded", 3_000, 2, 1)
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT count(*), count(DISTINCT id) FROM memories").fetchone() == (3_000, 3_000)
        assert db.execute("SELECT count(*) FROM history").fetchone() == (3_000,)


def _is_locked(home: Path) -> bool:
    """True while some transaction writes for longer than a moment."""
    with closing(sqlite3.connect(home / "mex.db", timeout=1, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def test_product_d4_equal_requests_are_one_job_and_different_ones_are_not(tmp_path: Path) -> None:
    """How conflicts are to be decided is part of the request."""
    file = export_of(tmp_path / "e.json", 1)
    first = submit(file)
    assert submit(file) == first
    assert submit(file, "--on-conflict", "overwrite") != first
    mex("jobs", "cancel", first)
    assert mex("jobs", "show", first, "--json").json["state"] == "cancelled"


def test_a_file_that_vanishes_or_changes_before_its_turn_fails_by_name_and_can_be_retried(tmp_path: Path) -> None:
    for options, text, outcome in (
        ((), None, "source_gone"), ((), "not JSON", "unparseable"), (("--mode", "extract"), None, "source_gone"),
    ):  # fmt: skip
        file = write(tmp_path / "x.txt", "我住在成都") if options else export_of(tmp_path / "x.txt", 2)
        job_id = submit(file, *options)
        file.unlink()
        if text is not None:
            write(file, text)
        with worker():
            ended = mex("jobs", "wait", job_id, "--timeout", "60", "--json", ok=False)
        assert (ended.code, ended.json["state"], ended.json["outcome"]) == (2, "failed", outcome)
    assert contents() == []
    export_of(tmp_path / "x.txt", 2)
    first = mex("jobs", "list", "--json").json[-1]["job_id"]
    with worker():
        mex("jobs", "retry", first)
        assert waited(first)["imported"] == 2


def test_a_paused_model_does_not_hold_up_a_restore(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """It asks no model (docs/jobs.md)."""
    mex("init")
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO queue_control (scope, paused_until, reason, at) VALUES ('llm', 9e15, 'llm_auth', 0)")
    with worker():
        assert waited(submit(export_of(tmp_path / "e.json", 1)))["imported"] == 1


def test_a_job_that_runs_while_everything_is_cleared_writes_nothing(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Its row is gone: no memory, no reply, no cursor comes after."""
    file = write(tmp_path / "note.txt", "技能：Haskell")
    model.script({"hold": "go", "reply": reply(SKILL)})
    with worker():
        sent = mex("extract", "--async", "--from", "plain", "--file", str(file), "--json", **ALONE).json
        until(model.requests)
        assert mex("clear", "--yes", "--no-backup", "--json").json["cleared"]["jobs"] == 1
        model.release("go")
        until(lambda: model.requests() and _is_quiet(home))
        assert mex("jobs", "show", sent["job_id"], ok=False).code == 1
    with opened(home / "mex.db") as db:
        for table in ("memories", "history", "kept_replies", "extraction_state", "seen_messages", "jobs"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def _is_quiet(home: Path) -> bool:
    """The call is on the books, and its reply is gone again."""
    with opened(home / "mex.db") as db:
        spent = db.execute("SELECT count(*) FROM llm_usage").fetchone()[0]
        return bool(spent) and not db.execute("SELECT count(*) FROM kept_replies").fetchone()[0]


@pytest.mark.parametrize("asks_again", [True, False])
def test_a_document_that_grew_since_a_failed_attempt_is_read_whole(
    model: ModelServer, tmp_path: Path, home: Path, *, asks_again: bool
) -> None:
    """It is read once and nothing follows: what was written before the attempt that succeeds would be lost."""
    file = write(tmp_path / "note.txt", line(1))
    model.script({"status": 500, "body": "no"})
    with worker(MEX_LLM_MAX_RETRIES="0"):
        job_id = submit(file, "--mode", "extract")
        reaches(home, job_id, "retrying")
    write(file, line(1), "", line(2))
    if asks_again:
        assert submit(file, "--mode", "extract") == job_id
    model.script(EACH_HOBBY)
    mex("jobs", "retry", job_id, **ALONE)
    with worker():
        assert waited(job_id)["state"] == "succeeded"
    assert contents() == [hobby(1), hobby(2)]


def test_a_batch_whose_job_was_merged_into_a_newer_request_counts_what_that_one_wrote(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    first, second = (write(tmp_path / f"{number}.txt", line(number)) for number in (1, 2))
    model.script({"when": hobby(1), "hold": "go", "status": 500, "body": "no"}, EACH_HOBBY)
    with worker("--threads", "2", MEX_LLM_MAX_RETRIES="0", MEX_TEST_BACKOFF="1"):
        files = ("import", str(first), str(second), "--mode", "extract", "--async", "--json")
        batch = mex(*files, **ALONE).json["batch_id"]
        until(lambda: model.asked(hobby(1)))
        submit(first, "--mode", "extract")
        model.release("go")
        until(lambda: rows(home, "SELECT 1 FROM jobs WHERE reason LIKE 'merged:%'"))
        model.script(EACH_HOBBY)
        mex("jobs", "wait", batch, "--timeout", "60")
        shown = mex("jobs", "show", batch, "--json").json
    assert (shown["states"], shown["added"]) == ({"succeeded": 2}, 2)
    with opened(home / "mex.db") as db:
        db.execute("DELETE FROM jobs WHERE batch_id IS NULL")
    assert mex("jobs", "show", batch, "--json").json["states"] == {"cancelled": 1, "succeeded": 1}
