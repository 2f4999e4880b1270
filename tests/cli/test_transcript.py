"""`mex transcript`: what would leave the machine, and what is left out."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import mex
from tests.support.sessions import SessionFile

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
TRUTH: dict[str, Any] = {}
for folder in ("sessions", "real-clients"):
    if (CORPUS / folder / "truth.json").exists():
        for name, truth in json.loads((CORPUS / folder / "truth.json").read_text(encoding="utf-8")).items():
            if name.endswith(".jsonl") and name.startswith(("cc", "claude")):
                TRUTH[f"{folder}/{name}"] = truth


def _sha(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


@pytest.mark.skipif(not TRUTH, reason="the corpus of real sessions is not here")
@pytest.mark.parametrize("name", TRUTH or ["none"])
def test_a_real_session_gives_the_turns_of_its_ground_truth(name: str) -> None:
    """User and assistant turns in order, what a person said elsewhere, and nothing of what may not appear."""
    truth = TRUTH[name]
    shown = mex("transcript", str(CORPUS / name), "--from", "claude", "--json")
    said: dict[str, list[str]] = {"user": [], "assistant": []}
    elsewhere = [turn["text"] for turn in shown.json["turns"] if turn["kind"] != "typed"]
    assert elsewhere == [one["text"] for one in truth.get("human_elsewhere", [])]
    for turn in shown.json["turns"]:
        if turn["kind"] == "typed":
            said[turn["role"]].append(turn["text"])
    if name.startswith("sessions"):
        assert [_sha(text) for text in said["user"]] == [one["sha"] for one in truth["user"]]
        assert [_sha(text) for text in said["assistant"]] == [one["sha"] for one in truth["assistant"]]
    else:
        assert said["user"] == truth["user"]
        assert set(truth["assistant_includes"]) <= set(said["assistant"])
    everything = "\n".join(said["user"] + said["assistant"])
    assert [text for text in truth["must_not_contain"] if text in everything] == []


def test_turns_are_shown_with_their_speaker_and_the_rest_is_counted(tmp_path: Path) -> None:
    """For people in their language, for programs in one shape."""
    session = SessionFile(tmp_path / "s.jsonl").user("你好").assistant("你好！")
    with session.path.open("a", encoding="utf-8") as file:
        file.write('{"type": "system", "subtype": "turn_duration", "sessionId": "s1"}\n')
    text = mex("--lang", "zh", "transcript", str(session.path)).out
    assert text == "用户: 你好\n助手: 你好！\n共 2 轮；略去：system 1\n"
    plain = mex("transcript", str(session.path), "--json").json
    assert plain["dropped"] == {"system": 1}
    assert plain["turns"][0] == {
        "role": "user", "text": "你好", "at": "2026-03-01T08:00:01Z", "message_id": "s1-1", "kind": "typed", "held": False,
    }  # fmt: skip
    assert mex("transcript", str(session.path), "--session", "s1").code == 0
    assert mex("transcript", str(session.path), "--session", "other", ok=False).code == 1


def test_looking_at_a_session_changes_nothing(tmp_path: Path, home: Path) -> None:
    """No job, no cursor; and the source is only read."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    before = session.path.stat()
    mex("transcript", str(session.path))
    after = session.path.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "s.jsonl"]
    assert mex("jobs", "list", "--json").json == []
    assert mex("extract", "--file", str(session.path), "--json").json["turns"]["user"] == 1
