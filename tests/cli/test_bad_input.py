"""Whatever a session file holds, the extraction ends in a named outcome: no traceback, no silence, nothing lost."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import contents, mex, until, worker
from tests.support.sessions import SessionFile

GOOD = "我叫林晓舟"


def _session(path: Path) -> bytes:
    return SessionFile(path).user(GOOD).assistant("你好").path.read_bytes()


def _huge(path: Path) -> bytes:
    result = {"type": "user", "uuid": "big", "message": {"role": "user", "content": "x" * (17 * 1024 * 1024)}}
    return _session(path) + json.dumps(result).encode() + b"\n"


BROKEN: dict[str, Any] = {
    "empty": (lambda _: b"", 0, "skipped", []),
    "blank lines": (lambda _: b"\n\n \n", 0, "skipped", []),
    "binary": (lambda _: random.Random(1).randbytes(5000), 2, "unparseable", []),
    "not JSON": (lambda _: b"hello\nworld\n", 2, "unparseable", []),
    "JSON of another kind": (lambda _: b'{"a": 1}\n[1, 2]\n"x"\n', 2, "unparseable", []),
    "truncated": (lambda path: _session(path)[:-40], 0, "committed", [GOOD[2:]]),
    "one torn line": (lambda path: _session(path)[:60], 0, "skipped", []),
    "a line of 16 MB": (_huge, 0, "committed", [GOOD[2:]]),
    "a lone surrogate": (
        lambda path: _session(path).replace("你好".encode(), b"\\ud83d") + b'{"type":"user","uuid":"q\\udc00",'
        b'"message":{"role":"user","content":"\\ud83d\\u6211\\u4f4f\\u5728\\u6210\\u90fd"}}\n',
        0, "committed", ["成都", GOOD[2:]],
    ),
    "NUL and 0xFF": (lambda path: b"\x00\xff\x00\n" + _session(path), 0, "committed", [GOOD[2:]]),
    "deeply nested": (lambda path: b"[" * 100_000 + b"\n" + _session(path), 0, "committed", [GOOD[2:]]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_malformed_file_ends_in_a_named_outcome(tmp_path: Path, name: str) -> None:
    """Product C5, H8, in the foreground: the exit code, the outcome, and the good part of the file."""
    make, code, outcome, kept = BROKEN[name]
    data = make(tmp_path / "seed.jsonl")
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    ran = mex("extract", "--from", "claude", "--file", str(path), "--json", ok=False)
    assert (ran.code, ran.json["outcome"]) == (code, outcome), ran
    assert contents() == sorted(kept)
    assert path.read_bytes() == data


@pytest.mark.parametrize("background", [False, True])
def test_a_folder_and_a_missing_file_make_no_job(tmp_path: Path, background: bool) -> None:
    """Bad input known at the request is the user's error: exit 1, what to do, no job."""
    option = ["--async"] if background else []
    for path in (tmp_path, tmp_path / "nothing.jsonl", Path("/dev/null"), tmp_path / "\udcff"):
        refused = mex("extract", *option, "--from", "claude", "--file", str(path), ok=False)
        assert refused.code == 1
        assert "Error: " in refused.err
    assert mex("extract", *option, "--from", "nosuch", "--file", __file__, ok=False).code == 1
    assert mex("extract", *option, ok=False).code == 1
    assert mex("extract", *option, "   ", ok=False).code == 1
    assert mex("jobs", "list", "--json").json == []


def test_a_file_that_vanishes_before_its_turn_ends_as_source_gone(tmp_path: Path) -> None:
    """Not retried for ever; memories learned from it before stay."""
    session = SessionFile(tmp_path / "s.jsonl").user(GOOD)
    mex("extract", "--file", str(session.path))
    session.user("我住在成都")
    job = mex("extract", "--async", "--file", str(session.path), "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
    session.path.unlink()
    with worker():
        ended = mex("jobs", "wait", job, "--timeout", "30", "--json", ok=False)
    assert ended.code == 2
    assert (ended.json["state"], ended.json["outcome"], ended.json["attempt"]) == ("failed", "source_gone", 1)
    assert contents() == [GOOD[2:]]


def test_a_file_of_another_format_is_told_with_the_adapter_that_was_named(tmp_path: Path) -> None:
    """The message names the file and the way out."""
    path = tmp_path / "talk.txt"
    path.write_text("用户：我住在成都\n助手：好\n")
    failed = mex("extract", "--from", "claude", "--file", str(path), ok=False)
    assert failed.code == 2
    assert "cannot be read as claude" in failed.err
    assert mex("extract", "--file", str(path)).code == 0
    assert contents() == ["成都"]


def test_a_held_turn_waits_for_the_session_to_go_on(tmp_path: Path) -> None:
    """The last answer may still grow: it is shown and marked, and read once, later (product H6)."""
    busy = {"MEX_EXTRACTION_QUIET_SECONDS": "3600", "MEX_WORKER_AUTOSTART": "false"}
    session = SessionFile(tmp_path / "s.jsonl").user(GOOD).assistant("你好")
    shown = mex("transcript", str(session.path), "--json", **busy).json["turns"]
    assert [(turn["role"], turn["held"]) for turn in shown] == [("user", False), ("assistant", True)]
    assert mex("extract", "--file", str(session.path), "--json", **busy).json["turns"]["assistant"] == 0
    session.user("我住在成都")
    later = mex("extract", "--file", str(session.path), "--json", **busy).json["turns"]
    assert (later["user"], later["assistant"]) == (1, 1)
    assert mex("extract", "--file", str(session.path), "--json", **busy).json["outcome"] == "skipped"


def test_a_rewritten_or_shorter_file_is_read_from_its_start_without_doubling(tmp_path: Path) -> None:
    """Size, head and tail tell a file that is not the one that was read (session-formats §2)."""
    session = SessionFile(tmp_path / "s.jsonl").user(GOOD, "我住在成都")
    mex("extract", "--file", str(session.path))
    session.path.unlink()
    other = SessionFile(session.path, "s2").user("我在青禾科技做数据工程师")
    mex("extract", "--file", str(other.path))
    assert contents() == sorted([GOOD[2:], "成都", "青禾科技", "数据工程师"])


def test_two_foreground_extractions_of_one_session_at_once_write_it_once(tmp_path: Path) -> None:
    """The second waits for the first and finds nothing new."""
    from concurrent.futures import ThreadPoolExecutor

    session = SessionFile(tmp_path / "s.jsonl").user(*(f"我的爱好是养蜂{n}号。" for n in range(20)))
    mex("init")
    with ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(lambda _: mex("extract", "--file", str(session.path), "--json"), range(3)))
    assert sorted(one.json["outcome"] for one in ran)[0] == "committed"
    found = contents()
    assert len(found) == len(set(found)) == 20


def test_a_foreground_extraction_that_was_killed_does_not_block_the_next(tmp_path: Path) -> None:
    """Its process is gone, its file lock is free: the job ends, and the source is open again."""
    import signal
    import subprocess
    import sys

    from tests.support.model_server import running
    from tests.support.program import QUIET

    session = SessionFile(tmp_path / "s.jsonl").user(GOOD)
    with running(tmp_path / "model") as model:
        mex("config", "llm", "--base-url", model.url, "--api-key", "k", "--model", "m")
        model.script({"hold": "never", "times": 1})
        process = subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "extract", "--file", str(session.path)],
            env=os.environ | QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(model.requests)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert mex("extract", "--file", str(session.path), "--json").json["outcome"] == "nothing_to_remember"
    states = [one["state"] for one in mex("jobs", "list", "--json").json]
    assert sorted(states) == ["failed", "succeeded"]
