"""The real Claude Code, OpenCode, Codex and Gemini CLI make sessions; meX reads exactly what was typed, once.

Run with MEX_TEST_CLIENTS naming the folder that `real_clients.py install` filled; elsewhere these tests skip.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.client import INSTALLED, NAMES, Client, scripted_model
from tests.support.model_server import ModelServer, turns
from tests.support.program import mex

pytestmark = pytest.mark.skipif(not INSTALLED.is_dir(), reason="MEX_TEST_CLIENTS names no folder of installed clients")

FIRST = "我在远光软件做后端开发，base 杭州"
TOOL = "帮我看看这个目录里有什么"
ENGLISH = "I am learning Rust these days; please remember it."
BROKEN = "下周去深圳出差三天"
FORKED = "我对花生过敏"
LAST = "今天先到这里，谢谢！"


@pytest.fixture(params=[name for name in NAMES if (INSTALLED / name).is_dir()] or NAMES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with scripted_model(tmp_path) as port:
        yield Client(request.param, tmp_path, port)


def words(client: Client, text: str) -> str:
    """A prompt as the client stores it: OpenCode's run mode quotes one that has spaces."""
    return f'"{text}"' if client.name == "opencode" and " " in text else text


def told(model: ModelServer) -> list[str]:
    """The user's turns that the model was asked about, without those that were only context."""
    return [
        turn["text"]
        for request in model.requests()
        for turn in turns(request)
        if turn["role"] == "user" and not turn.get("context")
    ]


def sweep(client: Client) -> None:
    mex("sweep", "--agent", client.name, "--yes", HOME=str(client.home))


def test_what_was_typed_is_read_once_across_tools_resumes_forks_and_aborts(client: Client, model: ModelServer) -> None:
    """Swept in the middle and at the end: no word is missing, none comes twice, nothing of the machine's comes along."""
    client.say(FIRST)
    client.say(TOOL, resume=True)
    sweep(client)
    client.say(ENGLISH, resume=True)
    client.break_off(BROKEN)
    if client.can_fork:
        client.say(FORKED, fork=True)
    client.say(LAST, resume=True)
    sweep(client)
    sweep(client)
    assert sorted(told(model)) == sorted(words(client, one) for one in client.typed)


def test_a_transcript_holds_what_was_typed_in_order_and_what_was_answered(client: Client) -> None:
    client.say(FIRST)
    client.say(TOOL, resume=True)
    client.say(ENGLISH, resume=True)
    listed = mex("sessions", "--json", HOME=str(client.home)).json
    assert listed["unreadable"] == []
    sessions: dict[str, str] = {one["session_id"]: one["source"].split("#")[0] for one in listed["sessions"]}
    assert {one["agent"] for one in listed["sessions"]} == {client.name}
    assert {Path(one["project"] or "").name for one in listed["sessions"]} <= {"proj", ""}
    texts = {"user": [], "assistant": []}  # type: dict[str, list[str]]
    for session, file in sessions.items():
        shown = mex("transcript", file, "--session", session, "--json").json
        for turn in shown["turns"]:
            if turn["text"] not in texts[turn["role"]]:  # a resumed session may be a file of its own, with a copy
                texts[turn["role"]].append(turn["text"])
    assert texts["user"] == [words(client, one) for one in client.typed]
    assert "目录里有一个 README。" in texts["assistant"]
    assert all("<" not in text for text in texts["user"])
