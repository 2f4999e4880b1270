"""The edges of the process: closed streams, full devices, signals, numbers without end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.model_server import running
from tests.support.program import QUIET, mex, until
from tests.support.sessions import SessionFile

MEX = f"{sys.executable} -m mex_pipeline"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("list >&-", 0),
        ("list --json >/dev/full", 2),
        ("list | head -n 0", 0),
        ("extract - <&-", 1),
        ("config llm <&-", 1),
        ("profile 2>&-", 0),
        ("list --limit 99999999999999999999", 1),
        ("list --offset 99999999999999999999", 1),
        ("profile --recent-limit 99999999999999999999", 1),
        ("profile --recent-days 99999999999999999999", 1),
        ("jobs list --limit 99999999999999999999", 1),
        ("--lang fr list", 1),
    ],
)
def test_no_stream_and_no_number_ends_in_a_traceback(command: str, code: int) -> None:
    """What the shell hands over is answered with an exit code and words."""
    mex("add", "--content", "x")
    line = f"set -o pipefail; {MEX} {command}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_foreground_extraction_is_cancelled_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    """It ends at once, in front of the person who asked, and is not run later (product C8)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    with running(tmp_path / "model") as model:
        mex("config", "llm", "--base-url", model.url, "--api-key", "k", "--model", "m")
        model.script({"hold": "never"})
        process = subprocess.Popen(
            [sys.executable, "-m", "mex_pipeline", "extract", "--file", str(session.path)],
            env=os.environ | QUIET, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until(model.requests)
        time.sleep(0.2)
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (1, "Error: Interrupted; nothing more was written.\n")
    (job,) = mex("jobs", "list", "--json").json
    assert (job["state"], job["reason"]) == ("cancelled", "user")


def test_a_key_stays_with_the_endpoint_it_was_given_for() -> None:
    """Another endpoint gets neither the old key nor the old model's name."""
    mex("config", "llm", "--base-url", "http://127.0.0.1:9/v1", "--api-key", "sk-secret-0123456789", "--model", "m")
    assert "Add --model" in mex("config", "llm", "--provider", "deepseek", ok=False).err
    shown = mex("config", "llm", "--provider", "deepseek", "--model", "deepseek-chat", "--json").json
    assert (shown["api_key"], shown["model"]) == ("", "deepseek-chat")
    for url in ("http://", "ftp://x/v1", "https://user:pass@host/v1", "http://a b", "nonsense"):
        refused = mex("config", "llm", "--base-url", url, "--model", "m", ok=False)
        assert refused.code == 1
        assert "pass@" not in refused.err


def test_product_e4_with_json_stderr_is_the_error_alone_or_the_notes_alone(home: Path) -> None:
    """A new home is told, but never beside an error object."""
    failed = mex("get", "00000000", "--json", ok=False)
    assert json.loads(failed.err)["code"] == "memory_not_found"
    told = mex("list", "--json", MEX_HOME=str(home.with_name("other")))
    assert "other" in told.err
    assert told.json == []
