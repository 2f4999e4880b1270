"""`mex jobs logs|stats|pause|resume|prune|verify`: now and then (product D3, queue.md §5.9, §5.10)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import mex, opened, until, worker, write
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
MOMENT = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")


def queued(text: str) -> str:
    """Queue the extraction of a text that no worker takes."""
    return str(mex("extract", "--async", text, "--json", **ALONE).json["job_id"])


def state(job_id: str) -> str:
    """Where the job stands."""
    return str(mex("jobs", "show", job_id, "--json").json["state"])


def words(lines: str) -> list[str]:
    """The lines without their times."""
    assert all(MOMENT.match(line) for line in lines.splitlines())
    return [MOMENT.sub("", line) for line in lines.splitlines()]


def test_the_story_of_a_job_is_told_line_by_line_in_local_time(tmp_path: Path, home: Path) -> None:
    note = write(tmp_path / "note.txt", "我对花生过敏")
    job_id = mex("extract", "--async", "--file", str(note), "--json", **ALONE).json["job_id"]
    mex("jobs", "cancel", job_id)
    mex("jobs", "retry", job_id, **ALONE)
    assert words(mex("jobs", "logs", job_id).out) == ["asked for", "asked to stop", "asked to run again"]
    plain = mex("jobs", "logs", job_id[:8], "--json").json
    assert [one["event"] for one in plain] == ["queued", "cancel_requested", "retry_requested"]
    ahead = mex("jobs", "logs", job_id, TZ="Asia/Shanghai").out[:13]
    assert ahead != mex("jobs", "logs", job_id, TZ="UTC").out[:13]
    assert "提出请求" in mex("jobs", "logs", job_id, MEX_LANG="zh").out


def test_a_story_is_followed_until_the_job_has_ended(home: Path) -> None:
    """As it happens, with `--json` an object on each line."""
    job_id = queued("记住：我对花生过敏")
    following = [
        subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "jobs", "logs", job_id, "-f", *options],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        for options in ((), ("--json",))
    ]
    assert [words(str(one.stdout and one.stdout.readline())) for one in following[:1]] == [["asked for"]]
    with worker():
        told, plain = (one.communicate(timeout=30)[0] for one in following)
    assert words(told) == ["started", "done: memories written"]
    assert [json.loads(line)["event"] for line in plain.splitlines()] == ["queued", "claimed", "succeeded"]
    assert [one.returncode for one in following] == [0, 0]


def test_nothing_is_measured_where_nothing_ran(home: Path) -> None:
    queued("记住：我对花生过敏")
    found = mex("jobs", "stats", "--json").json
    assert (found["jobs"], found["states"], found["outcomes"]) == (1, {"queued": 1}, {})
    nothing = {"p50": None, "p95": None}
    assert (found["wait_seconds"], found["run_seconds"]) == (nothing, nothing)
    assert found["attempts_per_success"] is None
    assert "half within —, 95 % within —" in mex("jobs", "stats").out


def test_the_numbers_are_those_of_the_rows(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """Counts per state and outcome, times, attempts, merges, retries, calls, and calls that were not needed."""
    tea = {"topic": "leisure", "sub_topic": "hobbies", "content": "绿茶", "quote": "我喜欢绿茶", "turn": 1}
    model.script({"when": "绿茶", "reply": reply(tea)}, {"reply": reply()})
    session = SessionFile(tmp_path / "s.jsonl").user("我喜欢绿茶。" + "嗯" * 150, "今天下雨。" + "嗯" * 150)
    options = {"MEX_EXTRACTION_CHUNK_TOKENS": "200", "MEX_LLM_CONCURRENCY": "1"}
    sent = ("extract", "--async", "--from", "claude", "--file", str(session.path), "--json")
    (job_id,) = {mex(*sent, **ALONE).json["job_id"] for _ in range(3)}
    with worker(**options):
        mex("jobs", "wait", job_id)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET created_at = created_at - 10000, attempt = 2, crashes = 1")
        db.execute("UPDATE jobs SET started_at = finished_at - 2500")
        db.execute("UPDATE jobs SET result = json_set(result, '$.usage.reused', 4)")
        for event, note in (("retrying", "rescued:dead"), ("retrying", "database_busy")):
            db.execute(
                "INSERT INTO job_events (job_id, at, event, note) SELECT id, created_at + 10000, ?, ? FROM jobs",
                (event, note),
            )
    found = mex("jobs", "stats", "--since", "1d", "--json").json
    assert (found["states"], found["outcomes"]) == ({"succeeded": 1}, {"committed": 1})
    assert found["run_seconds"] == {"p50": 2.5, "p95": 2.5}
    assert found["wait_seconds"]["p50"] >= 10
    assert (found["attempts_per_success"], found["crashes"], found["rescues"]) == (2.0, 1, 1)
    assert (found["merges"], found["retries"], found["busy_waits"]) == (2, 2, 1)
    assert (found["usage"]["calls"], found["usage"]["reused"]) == (2, 4)
    assert mex("jobs", "stats", "--since", "5s", "--json").json["jobs"] == 0


@pytest.mark.parametrize("part", ["all", "model"])
def test_what_a_person_pauses_stays_queued_until_it_is_resumed(
    model: ModelServer, part: str, tmp_path: Path, home: Path
) -> None:
    """Waiting for it is over at once; only what asks no model goes on beside a paused model."""
    export = write(tmp_path / "e.json", json.dumps({"version": 1, "memories": []}))
    model.script({"reply": reply()})
    assert "paused" in mex("jobs", "pause", part).out
    with worker():
        asks = queued("我喜欢绿茶")
        asks_nobody = mex("import", str(export), "--async", "--json", **ALONE).json["job_id"]
        assert mex("jobs", "wait", asks, ok=False).code == 2
        ended = mex("jobs", "wait", asks_nobody, ok=False)
        assert (ended.code, state(asks)) == (0 if part == "model" else 2, "queued")
        assert "mex jobs resume" in mex("worker", "status").out
        assert mex("jobs", "resume", part).out == "Jobs go on.\n"
        until(lambda: state(asks) == "succeeded")
        until(lambda: state(asks_nobody) == "succeeded")
    assert mex("jobs", "resume").out == "Nothing was paused.\n"
    assert "mex jobs resume" not in mex("worker", "status").out


def test_a_pause_ends_by_itself_when_it_has_a_length(tmp_path: Path, home: Path) -> None:
    clock = write(tmp_path / "clock", "0")
    (paused,) = mex("jobs", "pause", "--for", "2h", "--json").json["paused"]
    assert (paused["part"], paused["by_person"], bool(paused["until"])) == ("all", True, True)
    job_id = queued("记住：我对花生过敏")
    with worker(MEX_TEST_CLOCK=str(clock)):
        assert mex("jobs", "wait", job_id, ok=False).code == 2
        clock.write_text("7201", encoding="ascii")
        until(lambda: state(job_id) == "succeeded")


def test_a_pause_of_nothing_and_one_of_no_length_are_refused(home: Path) -> None:
    assert mex("jobs", "pause", "llm", ok=False).code == 1
    assert mex("jobs", "pause", "--for", "ever", ok=False).code == 1


def test_old_jobs_are_deleted_when_asked_and_first_only_counted(home: Path) -> None:
    old, fresh, waiting = queued("记住：我对花生过敏"), queued("记住：我喜欢绿茶"), queued("记住：我住在成都")
    mex("jobs", "cancel", old, fresh)
    with opened(home / "mex.db") as db:
        for column in ("created_at", "finished_at"):
            db.execute(f"UPDATE jobs SET {column} = {column} - 40 * 86400000 WHERE id = ?", (old,))
    would = mex("jobs", "prune", "--older-than", "30d", "--dry-run", "--json").json
    assert (would["jobs"], would["dry_run"]) == (1, True)
    assert "Would delete 1 jobs" in mex("jobs", "prune", "--older-than", "30d", "--dry-run").out
    assert mex("jobs", "show", old).code == 0
    assert mex("jobs", "prune", "--older-than", "30d", "--state", "failed", "--json").json["jobs"] == 0
    assert mex("jobs", "prune", "--older-than", "30d", "--json").json == would | {"dry_run": False}
    assert [one["job_id"] for one in mex("jobs", "list", "--json").json] == [waiting, fresh]
    refused = mex("jobs", "prune", "--state", "queued", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "unknown_state")


def test_verify_tells_how_every_session_stands_and_exits_2_when_something_was_missed(
    tmp_path: Path, home: Path
) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("记住：我对花生过敏")
    assert mex("jobs", "verify").out == "No session has been read yet.\n"
    mex("extract", "--from", "claude", "--file", str(session.path))
    whole = mex("jobs", "verify").out.splitlines()
    assert whole[0] == f"complete  claude  {session.path}"
    assert "memories written 1" in whole[1]
    with opened(home / "mex.db") as db:
        db.execute("DELETE FROM seen_messages")
    missed = mex("jobs", "verify", str(session.path), ok=False)
    assert missed.code == 2
    assert "1 turns missed, no job has read them: mex " in missed.out
    report: dict[str, Any] = mex("jobs", "verify", "--json", ok=False).json
    assert report["sources"][0]["standing"] == "gap"
    assert mex("jobs", "verify", str(tmp_path / "other"), ok=False).code == 1


def test_the_short_help_shows_five_commands_and_names_the_rest(home: Path) -> None:
    told = mex("jobs", "-h").out
    shown = [line.split()[0] for line in told.partition("Commands:\n")[2].splitlines()]
    assert shown == ["list", "show", "wait", "cancel", "retry"]
    every = [one["command"] for one in mex("help", "jobs", "--json").json]
    for verb in ("logs", "stats", "pause", "resume", "prune", "verify"):
        assert f"mex jobs {verb}" in every
        assert verb in told.partition("Commands:\n")[0]
        assert verb in mex("help", "all").out
        assert mex("jobs", verb, "--help").code == 0


@pytest.mark.parametrize(
    ("lang", "told", "counted", "ended"),
    [
        ("en", "done: shown only, nothing written", "nothing to read, or only shown 1", "(done)"),
        ("zh", "完成：仅预览，未写入", "没有可读的内容或仅预览 1", "（已完成）"),
    ],
)
def test_a_preview_is_told_as_what_it_is(
    tmp_path: Path, home: Path, lang: str, told: str, counted: str, ended: str
) -> None:
    """In its story, in the numbers of all jobs, and where it can no more be run again or stopped."""
    session = str(SessionFile(tmp_path / "s.jsonl").user("记住：我对花生过敏").path)
    mex("extract", "--from", "claude", "--file", session)
    job_id = mex("extract", "--again", session, "--diff", "--json").json["job_id"]
    assert words(mex("jobs", "logs", job_id, MEX_LANG=lang).out)[-1] == told
    assert counted in mex("jobs", "stats", MEX_LANG=lang).out
    for verb in ("retry", "cancel"):
        assert ended in mex("jobs", verb, job_id, MEX_LANG=lang, ok=False).err
