"""Human words in Claude Code records that are no prompts: refusals, answers, arguments (session-formats §2, level 2)."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.claude_session import Session, whole
from tests.adapters.test_claude_speech import REJECTED

DENIED = "Permission for this tool use was denied. The tool use was rejected (eg. if it was an edit). The user said:"
MESSAGE = "<command-message>NOISE</command-message>"
ADVICE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention — NOISE"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def result(content: Any, **block: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **block}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"{REJECTED}\n用制表符，不要空格", "用制表符，不要空格"),
        (f"{REJECTED}\nno: “the user said: yes”\n\nis wrong\n", "no: “the user said: yes”\n\nis wrong"),
        (f"{REJECTED} huh.  Try again.", "huh.  Try again."),
        (f"{DENIED}\nnever push", "never push"),
        (f"{REJECTED}\nuse tabs{ADVICE}", "use tabs"),
        ([{"type": "text", "text": f"{REJECTED}\nuse tabs"}, {"type": "image"}], "use tabs"),
        (f"{REJECTED}\n<system-reminder>NOISE</system-reminder>use tabs", "use tabs"),
    ],
)
def test_words_that_refuse_a_tool_are_the_users(path: Path, content: Any, text: str) -> None:
    """All behind "the user said:", nothing of what the client wrote around it."""
    session = Session()
    session.user([result(content, is_error=True)])
    transcript = whole(session.write(path))
    assert [(turn.role, turn.kind, turn.text, turn.key) for turn in transcript.turns] == [
        ("user", "tool_answer", text, "u:s-0:0")
    ]
    assert transcript.dropped == {}


def test_two_refusals_in_one_record_are_two_turns(path: Path) -> None:
    """The block is part of the key."""
    session = Session()
    blocks = [result(f"{REJECTED}\n{text}", is_error=True) for text in ("one", "two")]
    session.user([blocks[0], result("NOISE"), blocks[1]])
    transcript = whole(session.write(path))
    assert [(turn.key, turn.text) for turn in transcript.turns] == [("u:s-0:0", "one"), ("u:s-0:2", "two")]
    assert transcript.dropped == {"tool_result": 1}


def test_words_a_newer_client_names_apart_are_taken_once(path: Path) -> None:
    """`userFeedback`: with a refusal, where the result has them too, and with a permission, where nothing else has them."""
    session = Session()
    session.user([result(f"{REJECTED}\nuse tabs", is_error=True)], userFeedback="use tabs")
    session.user([result("NOISE done")], userFeedback="and run the tests 之后")
    session.user([result("NOISE done"), {"type": "text", "text": "but slowly"}], userFeedback="but slowly")
    transcript = whole(session.write(path))
    assert [(turn.kind, turn.text) for turn in transcript.turns] == [
        ("tool_answer", "use tabs"),
        ("tool_answer", "and run the tests 之后"),
        ("typed", "but slowly"),
    ]
    assert transcript.dropped == {"duplicate": 1}


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        ({"answers": {"Which editor?": "Helix, since 2024"}}, ["Helix, since 2024"]),
        ({"answers": {"哪个城市？": "成都", "Why?": " ", "Since?": "2024"}}, ["成都", "2024"]),
        ({"answers": {"Which?": ["Vim", "Emacs", 3]}}, ["Vim, Emacs"]),
        ({"answers": {"A?": "x", "B?": ""}, "annotations": {"A?": {"notes": "only at work"}}}, ["x\nonly at work"]),
    ],
)
def test_answers_to_the_question_tool_are_the_users(path: Path, fields: dict[str, Any], texts: list[str]) -> None:
    """A turn for each answer, and the answers alone: the questions are the agent's words."""
    session = Session()
    asked = {"questions": ["NOISE"], **fields}
    session.user([result("The user answered: NOISE"), result("NOISE")], toolUseResult=asked)
    turns = whole(session.write(path)).turns
    assert [(turn.kind, turn.text) for turn in turns] == [("tool_answer", text) for text in texts]
    assert [turn.key for turn in turns] == ["u:s-0:0", "u:s-0:0.1"][: len(texts)]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"<command-name>/model</command-name>\n{MESSAGE}\n<command-args>opus</command-args>", "opus"),
        (f"{MESSAGE}\n<command-name>/fix</command-name>\n<command-args>第 3 个\n测试</command-args>", "第 3 个\n测试"),
        ("<command-args> a <b> c </command-args><command-name>/x</command-name>", "a <b> c"),
        (
            [{"type": "text", "text": "<command-name>/x</command-name><command-args>in a block</command-args>"}],
            "in a block",
        ),
    ],
)
def test_arguments_of_a_slash_command_are_the_users(path: Path, content: Any, text: str) -> None:
    """In either order of the tags, and never the command's own message."""
    session = Session()
    session.user(content)
    (turn,) = whole(session.write(path)).turns
    assert (turn.kind, turn.text, turn.key) == ("command_args", text, "u:s-0")


@pytest.mark.parametrize(
    "prompt", ["I prefer metric units", [{"type": "text", "text": "I prefer metric units"}, {"type": "image"}]]
)
def test_a_message_the_model_got_while_at_work_is_the_users(path: Path, prompt: Any) -> None:
    """The attachment `queued_command`, as a string or as blocks; its key is the message's own id."""
    session = Session()
    session.queued(prompt, source="msg-7", commandMode="prompt", origin={"kind": "human"})
    session.queued("no id of its own")
    first, second = whole(session.write(path)).turns
    assert (first.kind, first.text, first.key) == ("queued", "I prefer metric units", "u:msg-7")
    assert (second.text, second.key) == ("no id of its own", "u:s-1")


def test_words_that_stand_elsewhere_have_the_same_keys_in_a_fork(tmp_path: Path) -> None:
    """I2: path and session id are no part of them."""
    session = Session("one")
    session.user([result(f"{REJECTED}\nuse tabs", is_error=True)])
    session.user("<command-name>/x</command-name><command-args>args</command-args>")
    session.queued("mid-turn", source="m")
    session.queue("enqueue", "in the queue")
    session.queue("remove")
    session.write(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_bytes(session.data().replace(b"session-one", b"session-two"))
    one, two = whole(tmp_path / "a.jsonl"), whole(tmp_path / "b.jsonl")
    assert [turn.key for turn in one.turns] == [turn.key for turn in two.turns]
    assert [turn.text for turn in one.turns] == ["use tabs", "args", "mid-turn", "in the queue"]
