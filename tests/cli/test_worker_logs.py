"""The worker's log: what it tells, what it never holds, who may read it (queue.md §5.7, product F)."""

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline import logs
from tests.support.model_server import ModelServer, reply
from tests.support.program import mex, until, worker, write
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
KEY = "sk-a-key-that-nobody-may-read"
SAID = "我的秘密爱好是收集旧邮票"


def written(home: Path) -> list[dict[str, Any]]:
    """The lines of the log."""
    return [json.loads(line) for line in (home / "logs" / "worker.log").read_text(encoding="utf-8").splitlines()]


def test_a_run_leaves_lines_with_job_claim_and_time_and_no_word_of_what_was_said(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Not of the session, not of the reply, not of an error page, not the key."""
    hobby = {"topic": "leisure", "sub_topic": "hobbies", "content": "收集旧邮票", "quote": SAID, "turn": 1}
    page = f"<html>{SAID} {KEY}</html>"
    model.script(
        {"when": SAID, "status": 500, "body": page, "times": 1},
        {"when": SAID, "reply": reply(hobby)},
        {"when": "红茶", "status": 401, "body": page},
    )
    session = SessionFile(tmp_path / "s.jsonl").user(SAID)
    options = {"MEX_LLM_API_KEY": KEY, "MEX_LLM_MAX_RETRIES": "1", "MEX_LLM_RETRY_BASE_SECONDS": "0.01"}
    with worker(**options):
        sent = mex("extract", "--async", "--from", "claude", "--file", str(session.path), "--json", **ALONE).json
        mex("jobs", "wait", sent["job_id"])
        refused = mex("extract", "--async", "我喜欢红茶", "--json", **ALONE | options).json["job_id"]
        until(lambda: mex("jobs", "wait", refused, ok=False, **options).code == 2)
    lines = written(home)
    assert all({"at", "level", "event"} <= set(line) for line in lines)
    (begun,) = [line for line in lines if line["event"] == "begun" and line["job"] == sent["job_id"]]
    (over,) = [line for line in lines if line["event"] == "job" and line["job"] == sent["job_id"]]
    assert begun["fence"] == 1
    assert over["ms"] >= 0
    everything = b"".join(path.read_bytes() for path in (home / "logs").iterdir())
    for word in (SAID, "收集旧邮票", "红茶", KEY, "<html>", str(session.path)):
        assert word.encode() not in everything, word


def test_only_the_owner_may_read_it(home: Path) -> None:
    with worker():
        until((home / "logs" / "worker.log").exists)
    for path in (home / "logs").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((home / "logs").stat().st_mode) == 0o700


def test_the_log_is_five_files_of_a_megabyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own: a log is opened for good."""
    script = (
        "import logging, sys; from pathlib import Path; from mex_pipeline.logs import open_worker_log\n"
        "open_worker_log(Path(sys.argv[1]))\n"
        "for number in range(80_000): logging.getLogger('mex.worker').info('job', extra={'job': 'j' * 36, 'ms': number})\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "worker.log")], check=True)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("worker.log*")}
    assert set(sizes) == {"worker.log", *(f"worker.log.{number}" for number in range(1, 5))}
    assert max(sizes.values()) <= 1_000_000


def test_a_message_of_a_library_is_not_written_down() -> None:
    record = logging.LogRecord("httpx", logging.WARNING, __file__, 1, "GET %s", (SAID,), None, "send")
    line = logs._JsonLines().format(record)
    assert SAID not in line
    assert json.loads(line)["event"] == "send"


def test_people_read_the_log_in_words(home: Path) -> None:
    assert mex("worker", "logs").out == "The worker has written nothing yet.\n"
    with worker():
        job_id = mex("extract", "--async", "记住：我对花生过敏", "--json", **ALONE).json["job_id"]
        mex("jobs", "wait", job_id)
    told = [line[21:] for line in mex("worker", "logs").out.splitlines()]
    assert told[0].startswith("worker started · ")
    assert f"job begins · {job_id}" in told
    assert any(line.startswith(f"job is over · {job_id} · ") for line in told)
    assert told[-1] == "worker left"
    assert "工作进程启动" in mex("worker", "logs", MEX_LANG="zh").out
    last = mex("worker", "logs", "-n", "2", "--json").json
    assert last == written(home)[-2:]


def test_an_error_is_named_in_words_and_a_line_that_is_none_is_left_out(home: Path) -> None:
    mex("init")
    lines = ['{"at": "2026-08-06T08:30:00Z", "event": "tick", "error": "database_busy"}', "half a li", '["x"]']
    write(home / "logs" / "worker.log", *lines)
    told = mex("worker", "logs").out.splitlines()
    assert len(told) == 1
    assert "a look at the jobs failed · " in told[0]
    assert "database_busy" not in told[0]


def test_what_comes_later_is_followed_also_into_a_new_file(home: Path) -> None:
    mex("init")
    log = home / "logs" / "worker.log"

    def add(event: str) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": "2026-08-06T08:30:00Z", "event": event}) + "\n")

    add("started")
    command = [sys.executable, "-m", "mex_pipeline", "worker", "logs", "-f", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as following:
        assert following.stdout is not None
        try:
            assert json.loads(following.stdout.readline())["event"] == "started"
            add("begun")
            assert json.loads(following.stdout.readline())["event"] == "begun"
            log.rename(log.with_name("worker.log.1"))
            add("left")
            assert json.loads(following.stdout.readline())["event"] == "left"
        finally:
            following.kill()
