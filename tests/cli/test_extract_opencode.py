"""`mex extract` and `mex transcript` on OpenCode's exports."""

import json
from pathlib import Path

from tests.adapters.opencode_session import START, Export, chat, text
from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, mex

CITY = {"topic": "basic_info", "sub_topic": "location", "content": "成都", "quote": "我住在成都", "turn": 1}


def sent(model: ModelServer) -> list[str]:
    """The new turns of the last request."""
    return [turn["text"] for turn in turns(model.requests()[-1]) if not turn.get("context")]


def test_an_export_becomes_memories_with_the_message_they_were_said_in(model: ModelServer, tmp_path: Path) -> None:
    """Found by content; no word of a tool reaches the model."""
    model.script({"reply": reply(CITY)})
    path = chat().write(tmp_path / "e.json", indent=2)
    result = mex("extract", "--file", str(path), "--json").json
    assert (result["outcome"], result["turns"]["user"], result["turns"]["assistant"]) == ("committed", 2, 4)
    assert "NOISE" not in json.dumps(model.requests(), ensure_ascii=False)
    (source,) = mex("get", result["added"][0]["id"]).json["sources"]
    assert (source["agent"], source["session_id"], source["message_id"]) == ("opencode", "ses_1", "msg_0000")
    assert source["said_at"] == "2026-03-01T08:00:00Z"


def test_seed_8_3_an_export_that_grew_sends_only_what_is_new_and_a_fork_nothing(
    model: ModelServer, tmp_path: Path
) -> None:
    """Not extracted twice, not paid twice."""
    model.script({"reply": reply(CITY)})
    export = chat()
    path = export.write(tmp_path / "e.json")
    mex("extract", "--file", str(path))
    mex("extract", "--file", str(chat().forked(3).write(tmp_path / "fork.json", indent=2)))
    assert len(model.requests()) == 1
    export.message("user", text("我写 Zig"), time={"created": START + 60_000})
    mex("extract", "--file", str(export.write(path, indent=2)))
    assert (len(model.requests()), sent(model)) == (2, ["我写 Zig"])
    assert contents() == ["成都"]


def test_fault_23_nothing_is_never_silent(tmp_path: Path) -> None:
    """An empty session, a sub-agent's and a damaged export each say what they are."""
    empty = Export().write(tmp_path / "empty.json")
    sub = Export(parentID="ses_0").user("hi").write(tmp_path / "sub.json")
    for path, reason in ((empty, "no_turns"), (sub, "subagent")):
        result = mex("extract", "--from", "opencode", "--file", str(path), "--json").json
        assert (result["outcome"], result["reason"]) == ("skipped", reason)
    cut = tmp_path / "cut.json"
    cut.write_bytes(chat().write(tmp_path / "e.json").read_bytes()[:900])
    for command in (("extract", "--file", str(cut)), ("transcript", str(cut))):
        ran = mex(*command, "--json", ok=False)
        assert (ran.code, json.loads(ran.err)["code"]) == (2, "source_damaged")


def test_the_wrong_adapter_is_told(tmp_path: Path) -> None:
    """Naming one overrides what the content says."""
    path = chat().write(tmp_path / "e.json", indent=2)
    ran = mex("extract", "--from", "claude", "--file", str(path), "--json", ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (2, "source_format")
    assert mex("transcript", str(path), "--json").json["agent"] == "opencode"
