"""The session file that is shipped under docs/examples, through every way a reader of the README takes."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.support.model_server import reply, running, turns
from tests.support.program import contents, mex, worker

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "claude-session.jsonl"

SAID = [
    "Go", "I prefer replies in short paragraphs", "回答先给结论，再讲理由", "成都", "数据工程师", "林晓舟", "芒果",
    "青禾科技", '{"goal": "run a half marathon", "deadline": "2027-04"}',
]  # fmt: skip


def test_a_worker_makes_a_profile_of_it_without_key_or_server() -> None:
    """What the user said, and neither the trip, nor the colleague's city, nor the assistant's claim."""
    with worker():
        sent = mex(
            "extract", "--async", "--from", "claude", "--file", str(EXAMPLE), "--json", MEX_WORKER_AUTOSTART="false"
        )
        done = mex("jobs", "wait", sent.json["job_id"], "--timeout", "30")
    assert "林晓舟" in done.out
    assert 'evidence: 用户说："我叫林晓舟"' in done.out
    assert contents() == sorted(SAID)
    profile = mex("--lang", "zh", "profile").out
    assert profile.startswith("# 用户画像\n## ")
    assert not any(word in profile for word in ("上海", "西安", "腾讯"))


def test_pointed_at_an_endpoint_the_same_file_goes_through_the_model(tmp_path: Path) -> None:
    """Ten user turns are sent, nothing of the tool's output, and the model's candidates become memories."""
    with running(tmp_path / "model") as model:
        mex(
            "config", "llm", "--provider", "custom", "--base-url", model.url, "--api-key", "K", "--model", "M"
        )  # fmt: skip
        name = {"topic": "basic_info", "sub_topic": "name", "content": "林晓舟", "quote": "我叫林晓舟", "turn": 1}
        model.script({"reply": reply(name)})
        result = mex("extract", "--from", "claude", "--file", str(EXAMPLE), "--json").json
        (request,) = model.requests()
    assert result["usage"]["calls"] == 1
    assert [turn["role"] for turn in turns(request)].count("user") == result["turns"]["user"] == 10
    assert "tool_result" not in str(request)
    assert "week-47.md\n" not in str(turns(request))
    assert contents() == ["林晓舟"]


@pytest.mark.slow
def test_the_first_command_of_the_readme_ends_with_a_profile(tmp_path: Path) -> None:
    """In a fresh copy of the checkout, with a virtual environment of its own."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("not a git checkout")
    clone = tmp_path / "a clone 一"
    for name in listed:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEX_")}
    here = os.pathsep.join([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    done = subprocess.run(
        ["sh", "docs/examples/first-run.sh"], cwd=clone, capture_output=True, text=True, check=False, timeout=300,
        env=environment | {"LANG": "C.UTF-8", "PYTHONPATH": here},  # pip downloads nothing that is installed here
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "# User profile\n## Basic information\n- Name: 林晓舟\n" in done.stdout
    assert "· done · memories written ·" in done.stdout
    assert not (tmp_path / ".mex").exists()
