"""`mex jobs list|show|wait|cancel|retry` as people and programs see them (product D3, H8; issue: jobs for people)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import mex, opened, until, worker, write
from tests.support.terminal import Terminal

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
NOBODY = "00000000-0000-4000-8000-000000000000"


def queued(text: str, *options: str) -> str:
    """Queue the extraction of a text that no worker takes."""
    return str(mex("extract", "--async", text, *options, "--json", **ALONE).json["job_id"])


def queued_file(path: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Queue the extraction of a file."""
    ran = mex("extract", "--async", "--from", "plain", "--file", str(path), *options, "--json", **ALONE | environment)
    return dict(ran.json)


def listed(*options: str) -> list[str]:
    """The ids `mex jobs list` shows."""
    return [one["job_id"] for one in mex("jobs", "list", *options, "--json").json]


def shown(job_id: str) -> dict[str, Any]:
    """The job as programs see it."""
    return dict(mex("jobs", "show", job_id, "--json").json)


def error(*words: str, **environment: str) -> str:
    """The code of the error some words end in; nothing is printed beside it."""
    ran = mex(*words, "--json", ok=False, **environment)
    assert (ran.code, ran.out) == (1, ""), ran
    return str(json.loads(ran.err)["code"])


def test_jobs_are_listed_by_state_kind_source_and_time(tmp_path: Path, home: Path) -> None:
    """A source is one file whatever path leads to it, also after it is gone."""
    note = write(tmp_path / "note.txt", "我喜欢绿茶")
    (tmp_path / "link.txt").symlink_to(note)
    text, file = queued("记住：我对花生过敏"), queued_file(note)["job_id"]
    imported = mex("import", str(note), "--mode", "extract", "--async", "--json", **ALONE).json["job_id"]
    mex("jobs", "cancel", text)
    assert listed() == [imported, file, text]
    assert listed("--state", "queued") == [imported, file]
    assert listed("--state", "cancelled,failed") == [text]
    assert listed("--kind", "import") == [imported]
    assert listed("--source", str(tmp_path / "link.txt")) == [imported, file]
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET created_at = created_at - 7200000 WHERE id = ?", (file,))
    assert listed("--since", "1h") == [imported, text]
    note.unlink()
    assert listed("--source", str(note), "--kind", "extract") == [file]
    assert error("jobs", "list", "--state", "done") == "unknown_state"
    assert error("jobs", "list", "--kind", "sweep") == "unknown_kind"
    assert error("jobs", "list", "--limit", "0") == "limit_out_of_range"


def test_product_d3_show_says_in_words_what_a_waiting_job_waits_for(home: Path) -> None:
    job_id = queued("记住：我对花生过敏")
    assert "no worker is running" in mex("jobs", "show", job_id).out
    assert "没有工作进程" in mex("jobs", "show", job_id, MEX_LANG="zh").out
    mex("jobs", "pause")
    assert "waits: paused" in mex("jobs", "show", job_id).out
    mex("jobs", "resume")
    later = queued("记住：我喜欢绿茶", "--delay", "10m")
    told = mex("jobs", "show", later).out
    assert "waits for its time" in told
    assert "next run: " in told


def test_the_story_of_a_job_is_told_in_words_and_to_programs_as_it_is(home: Path) -> None:
    job_id = queued("记住：我对花生过敏")
    with worker():
        mex("jobs", "wait", job_id)
    told = mex("jobs", "show", job_id, "--events").out
    lines = [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", "", line) for line in told.splitlines()][-3:]
    assert lines == ["asked for", "started", "done: memories written"]
    assert "asked for" not in mex("jobs", "show", job_id).out
    assert [one["event"] for one in shown(job_id)["events"]] == ["queued", "claimed", "succeeded"]


def test_answers_that_could_not_be_used_are_shown_as_they_came(model: ModelServer, home: Path) -> None:
    """And gone when the job succeeds."""
    model.script({"reply": "I would rather write a poem.", "times": 2}, {"reply": reply()})
    assert mex("extract", "我喜欢绿茶", ok=False).code == 2
    (job_id,) = listed()
    assert "I would rather write a poem." in mex("jobs", "show", job_id, "--raw").out
    assert mex("jobs", "show", job_id, "--raw", "--json").json["unusable_answers"] == ["I would rather write a poem."]
    assert "poem" not in mex("jobs", "show", job_id).out
    with worker():
        mex("jobs", "retry", job_id)
        mex("jobs", "wait", job_id)
    assert "No unusable answer is kept." in mex("jobs", "show", job_id, "--raw").out


def test_product_h8_several_jobs_are_waited_for_together_and_the_worst_counts(home: Path) -> None:
    """One time limit for all of them."""
    first, second = queued("记住：我对花生过敏"), queued("记住：我喜欢绿茶")
    late = mex("jobs", "wait", first, second, "--timeout", "1", ok=False, **ALONE)
    assert late.code == 2
    assert (first in late.err, second in late.err) == (True, True)
    with worker():
        done = mex("jobs", "wait", first, second, "--json").json
    assert [(one["job_id"], one["state"]) for one in done] == [(first, "succeeded"), (second, "succeeded")]
    third = queued("记住：我住在成都")
    mex("jobs", "cancel", third)
    assert mex("jobs", "wait", first, third, ok=False).code == 1
    assert error("jobs", "wait", first, NOBODY) == "job_not_found"


def test_at_a_terminal_each_of_several_jobs_has_a_bar_of_its_own(tmp_path: Path, home: Path) -> None:
    first, second = (
        queued("记住：我对花生过敏"),
        queued_file(write(tmp_path / "note.txt", "记住：我喜欢绿茶"))["job_id"],
    )
    with Terminal(tmp_path, "jobs", "wait", first, second, **ALONE) as terminal:
        terminal.wait_for(f"{first[:8]} given text · queued")
        terminal.wait_for(f"{second[:8]}")
        with worker():
            assert terminal.end() == 0
    assert "note.txt" in terminal.seen


def test_each_of_several_jobs_is_cancelled_or_told_why_not(home: Path) -> None:
    ended, waiting = queued("记住：我对花生过敏"), queued("记住：我喜欢绿茶")
    mex("jobs", "cancel", ended)
    ran = mex("jobs", "cancel", NOBODY, ended, waiting, "--json", ok=False)
    assert ran.code == 1
    assert [(one["job_id"], one["state"]) for one in ran.json] == [(waiting, "cancelled")]
    told = [json.loads(line)["code"] for line in ran.err.splitlines()]
    assert told == ["job_not_found", "job_already_ended"]
    assert error("jobs", "cancel", ended) == "job_already_ended"
    assert error("jobs", "cancel") == "jobs_not_named"
    assert error("jobs", "cancel", ended, "--source", "x") == "jobs_named_twice"


def test_all_jobs_of_a_source_are_cancelled_and_none_is_no_fault(tmp_path: Path, home: Path) -> None:
    note, other = write(tmp_path / "note.txt", "我喜欢绿茶"), write(tmp_path / "other.txt", "我喜欢红茶")
    kept = queued_file(other)["job_id"]
    job_id = queued_file(note)["job_id"]
    assert job_id in mex("jobs", "cancel", "--source", str(note)).out
    assert (shown(job_id)["state"], shown(kept)["state"]) == ("cancelled", "queued")
    assert mex("jobs", "cancel", "--source", str(note)).out == "No jobs.\n"


def test_failed_jobs_are_run_again_all_or_those_of_one_outcome(tmp_path: Path, home: Path) -> None:
    paths = [write(tmp_path / f"{name}.txt", f"记住：我喜欢{name}") for name in ("绿茶", "红茶")]
    gone, other = (queued_file(path)["job_id"] for path in paths)
    with opened(home / "mex.db") as db:
        for job_id, outcome in ((gone, "source_gone"), (other, "llm_error")):
            db.execute(
                "UPDATE jobs SET state = 'failed', outcome = ?, finished_at = created_at WHERE id = ?",
                (outcome, job_id),
            )
    assert error("jobs", "retry", "--failed", "--outcome", "bad") == "unknown_outcome"
    assert error("jobs", "retry", other, "--outcome", "llm_error") == "outcome_needs_failed"
    again = mex("jobs", "retry", "--failed", "--outcome", "llm_error", "--json", **ALONE).json
    assert [one["job_id"] for one in again] == [other]
    assert [one["job_id"] for one in mex("jobs", "retry", "--failed", "--json", **ALONE).json] == [gone]
    assert mex("jobs", "retry", "--failed", **ALONE).out == "No jobs.\n"


def test_fault_39_a_burst_of_requests_is_one_job_that_runs_after_the_last(tmp_path: Path, home: Path) -> None:
    """Ten minutes after the last request, and half an hour after the first at the latest."""
    note, clock = write(tmp_path / "note.txt", "我喜欢绿茶"), tmp_path / "clock"
    due = []
    for minute in (0, 8, 16, 24, 28, 29):
        clock.write_text(str(60 * minute), encoding="ascii")
        sent = queued_file(note, "--delay", "10m", MEX_TEST_CLOCK=str(clock))
        with opened(home / "mex.db") as db:
            (row,) = db.execute("SELECT id, coalesced, available_at - first_enqueued_at FROM jobs").fetchall()
        assert row[0] == sent["job_id"]
        due.append(round(row[2] / 60_000))
    assert (due, row[1]) == ([10, 18, 26, 30, 30, 30], 5)
    assert shown(sent["job_id"])["merged"] == 5


def test_a_request_that_is_put_off_runs_when_its_time_has_come_and_not_before(tmp_path: Path, home: Path) -> None:
    clock = write(tmp_path / "clock", "0")
    job_id = queued_file(write(tmp_path / "note.txt", "记住：我喜欢绿茶"), "--delay", "10m")["job_id"]
    probe = queued("记住：我对花生过敏")
    with worker(MEX_TEST_CLOCK=str(clock)):
        mex("jobs", "wait", probe)
        assert shown(job_id)["state"] == "queued"
        clock.write_text("601", encoding="ascii")
        until(lambda: shown(job_id)["state"] == "succeeded")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["extract", "x", "--delay", "1m"], "delay_needs_async"),
        (["extract", "--async", "x", "--delay", "31m"], "delay_too_long"),
        (["extract", "--async", "x", "--delay", "soon"], "bad_span"),
    ],
)
def test_a_delay_that_cannot_be_kept_is_refused_and_no_job_made(words: list[str], code: str) -> None:
    assert error(*words, **ALONE) == code
    assert listed() == []
