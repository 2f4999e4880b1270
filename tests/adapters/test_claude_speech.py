"""Claude Code records: what is speech, and what is noise under which reason."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.claude_session import Session, whole
from tests.adapters.growing import said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:"
)
QUEUED = {"type": "queued_command", "prompt": "NOISE"}

NOISE: list[tuple[str, str, dict[str, Any]]] = [
    ("sidechain", "user", {"content": "NOISE", "isSidechain": True}),
    ("background", "user", {"content": "NOISE", "sessionKind": "bg"}),
    ("own_session", "user", {"content": "NOISE", "cwd": "/home/lin/.mex"}),
    ("own_session", "user", {"content": "NOISE", "cwd": "C:\\Users\\lin\\.mex\\run"}),
    ("meta", "user", {"content": "NOISE", "isMeta": True}),
    ("meta", "user", {"content": [{"type": "text", "text": "NOISE"}], "isMeta": True, "origin": {"kind": "human"}}),
    ("compact_summary", "user", {"content": "NOISE", "isCompactSummary": True}),
    ("compact_summary", "user", {"content": "NOISE", "isVisibleInTranscriptOnly": True}),
    ("compact_summary", "user", {"content": "This session is being continued from a previous conversation NOISE"}),
    ("plan", "user", {"content": "NOISE", "planContent": "# NOISE"}),
    ("plan", "user", {"content": "Implement the following plan:\n\nNOISE"}),
    ("notification", "user", {"content": "NOISE", "origin": {"kind": "task-notification"}}),
    ("notification", "user", {"content": "<task-notification>NOISE</task-notification>"}),
    ("notification", "user", {"content": "<agent-notification>NOISE</agent-notification>"}),
    ("machine_origin", "user", {"content": "NOISE", "origin": {"kind": "hook"}}),
    ("machine_origin", "user", {"content": "NOISE", "promptSource": "system"}),
    ("caveat", "user", {"content": "Caveat: The messages below were generated NOISE"}),
    ("caveat", "user", {"content": "<local-command-caveat>Caveat NOISE</local-command-caveat>"}),
    ("command_output", "user", {"content": "<local-command-stdout>NOISE</local-command-stdout>"}),
    ("command_output", "user", {"content": "<local-command-stderr>NOISE</local-command-stderr>"}),
    ("command_output", "user", {"content": "<bash-stdout>NOISE</bash-stdout><bash-stderr></bash-stderr>"}),
    ("command", "user", {"content": "<bash-input>NOISE</bash-input>"}),
    ("command", "user", {"content": "<command-name>/NOISE</command-name>\n<command-args></command-args>"}),
    ("command", "user", {"content": "<command-message>NOISE</command-message><command-args> \n</command-args>"}),
    ("command", "user", {"content": "<command-name>/x</command-name><command-args>NOISE, never closed"}),
    ("hook_stop", "user", {"content": "Operation stopped by hook: NOISE"}),
    ("interrupted", "user", {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}),
    ("interrupted", "user", {"content": "[Request interrupted by user]", "origin": {"kind": "human"}}),
    ("empty", "user", {"content": " \u00a0\n"}),
    ("empty", "user", {"content": []}),
    ("injected", "user", {"content": "<system-reminder>NOISE</system-reminder>\n"}),
    ("injected", "user", {"content": "<IDE_OPENED_FILE>NOISE</IDE_OPENED_FILE>"}),
    ("image", "user", {"content": [{"type": "image", "source": {"data": "NOISE"}}]}),
    ("document", "user", {"content": [{"type": "document", "source": {"data": "NOISE"}}]}),
    ("unknown_block", "user", {"content": [{"type": "hologram", "text": "NOISE"}]}),
    ("malformed", "user", {"content": 7}),
    ("malformed", "user", {"content": {"text": "NOISE"}}),
    ("malformed", "user", {"content": ["NOISE"]}),
    ("malformed", "user", {"content": [{"type": "text", "text": {"NOISE": 1}}]}),
    ("tool_result", "user", {"content": [{"type": "tool_result", "content": "NOISE the user said: NOISE"}]}),
    ("tool_result", "user", {"content": [{"type": "tool_result", "content": "NOISE", "is_error": True}]}),
    (
        "tool_result",
        "user",
        {"content": [{"type": "tool_result", "content": "NOISE the user said: X", "is_error": True}]},
    ),
    ("tool_result", "user", {"content": [{"type": "tool_result", "content": f"{REJECTED}\n \n", "is_error": True}]}),
    ("tool_result", "user", {"content": [{"type": "tool_result", "content": f"{REJECTED}\nNOISE"}]}),
    ("tool_result", "user", {"content": [{"type": "tool_result"}], "toolUseResult": {"answers": {"NOISE?": 7}}}),
    ("tool_result", "user", {"content": [{"type": "tool_result"}], "toolUseResult": {"answers": ["NOISE"]}}),
    ("sidechain", "user", {"content": "NOISE", "isSidechain": True, "userFeedback": "NOISE"}),
    ("synthetic", "assistant", {"content": [{"type": "text", "text": "NOISE"}], "model": "<synthetic>"}),
    ("api_error", "assistant", {"content": [{"type": "text", "text": "NOISE"}], "isApiErrorMessage": True}),
    ("sidechain", "assistant", {"content": [{"type": "text", "text": "NOISE"}], "isSidechain": True}),
    ("thinking", "assistant", {"content": [{"type": "thinking", "thinking": "NOISE"}]}),
    ("thinking", "assistant", {"content": [{"type": "redacted_thinking", "data": "NOISE"}]}),
    ("tool_use", "assistant", {"content": [{"type": "server_tool_use", "input": "NOISE"}]}),
    ("tool_result", "assistant", {"content": [{"type": "web_search_tool_result", "content": "NOISE"}]}),
    ("empty", "assistant", {"content": [{"type": "text", "text": "\n\n"}]}),
    ("empty", "assistant", {"content": [{"type": "text", "text": "<thinking>NOISE</thinking>"}]}),
    ("malformed", "assistant", {"content": None}),
    ("progress", "progress", {"data": {"type": "hook_progress", "message": {"content": "NOISE"}}}),
    ("system", "system", {"subtype": "local_command", "content": "NOISE"}),
    ("snapshot", "file-history-snapshot", {"messageId": "m", "snapshot": "NOISE"}),
    ("title", "summary", {"summary": "NOISE", "leafUuid": "x"}),
    ("title", "ai-title", {"aiTitle": "NOISE"}),
    ("title", "agent-name", {"agentName": "NOISE"}),
    ("last_prompt", "last-prompt", {"lastPrompt": "NOISE"}),
    ("state", "permission-mode", {"permissionMode": "NOISE"}),
    ("api_request", "api-request-blob", {"message": {"role": "user", "content": "NOISE"}}),
    ("unknown_type", "brand-new", {"message": {"role": "user", "content": "NOISE"}}),
    ("attachment", "attachment", {"attachment": {"type": "nested_memory", "content": "NOISE"}}),
    ("malformed", "attachment", {"attachment": {"type": "queued_command"}, "origin": {"kind": "human"}}),
    ("empty", "attachment", {"attachment": {"type": "queued_command", "prompt": " \n"}}),
    ("notification", "attachment", {"attachment": {"type": "queued_command", "origin": {"kind": "task-notification"}}}),
    ("notification", "attachment", {"attachment": {**QUEUED, "commandMode": "task-notification"}}),
    ("notification", "attachment", {"attachment": {"type": "queued_command", "prompt": "<task-notification>NOISE"}}),
    ("meta", "attachment", {"attachment": {**QUEUED, "isMeta": True}}),
    ("sidechain", "attachment", {"attachment": QUEUED, "isSidechain": True}),
    ("queue_unresolved", "queue-operation", {"operation": "enqueue", "content": "NOISE"}),
    ("queue_operation", "queue-operation", {"operation": "dequeue"}),
    ("queue_operation", "queue-operation", {"operation": "popAll", "content": "NOISE"}),
    ("queue_operation", "queue-operation", {"operation": "remove"}),
    ("queue_operation", "queue-operation", {"operation": "remove", "content": "NOISE", "reason": "cleared_on_cancel"}),
    ("notification", "queue-operation", {"operation": "remove", "content": '{"task_id": "NOISE"}'}),
    ("notification", "queue-operation", {"operation": "remove", "content": "<task-notification>NOISE"}),
]


@pytest.mark.parametrize(("reason", "kind", "fields"), NOISE)
def test_what_is_not_speech_is_dropped_under_its_reason(
    path: Path, reason: str, kind: str, fields: dict[str, Any]
) -> None:
    """Session-formats §3.1: each record that no one typed or said."""
    session = Session()
    session.user("before")
    if kind in ("user", "assistant"):
        extra = {key: value for key, value in fields.items() if key not in ("content", "model")}
        message = {"id": "m", "role": kind, "content": fields["content"], "model": fields.get("model", "m")}
        session.record(kind, message=message, **extra)
    else:
        session.record(kind, **fields)
    session.user("after")
    transcript = whole(session.write(path))
    assert said(transcript) == [("user", "before"), ("user", "after")]
    assert transcript.dropped == {reason: 1}


SPEECH: list[tuple[Any, dict[str, Any], str]] = [
    ("say lol", {}, "say lol"),
    ("\u00a0 What's next? \n", {}, "What's next?"),
    ("<ide_selection>let x = 1;</ide_selection>为什么？", {}, "为什么？"),
    (
        [{"type": "text", "text": "<ide_diagnostics>x</ide_diagnostics>"}, {"type": "text", "text": "fix it"}],
        {},
        "fix it",
    ),
    ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], {}, "one\ntwo"),
    ("fix\n<system-reminder>do not tell</system-reminder>\nit", {}, "fix\n\nit"),
    ("what is <system-reminder> for?", {}, "what is <system-reminder> for?"),
    ("[Request interrupted by user]不对，用 uv", {}, "不对，用 uv"),
    ("[1] is a citation", {}, "[1] is a citation"),
    (
        "Implement the following plan: sleep early",
        {"origin": {"kind": "human"}},
        "Implement the following plan: sleep early",
    ),
    ("written by the desktop app", {"promptSource": "sdk", "entrypoint": "sdk-ts"}, "written by the desktop app"),
    ("typed", {"promptSource": "system", "origin": {"kind": "human"}}, "typed"),
    ("odd origin", {"origin": "human"}, "odd origin"),
]


@pytest.mark.parametrize(("content", "fields", "text"), SPEECH)
def test_what_a_person_typed_is_kept_and_cleaned(path: Path, content: Any, fields: dict[str, Any], text: str) -> None:
    """Injected blocks go, the words around them stay; a named human origin beats the phrase filter."""
    session = Session()
    session.user(content, **fields)
    assert said(whole(session.write(path))) == [("user", text)]


def test_a_long_text_is_capped_with_head_and_tail_and_counted(path: Path) -> None:
    """Pasted logs are typed too: 8,000 characters at most (session-formats §2)."""
    session = Session()
    session.user("开头" + "x" * 20_000 + "结尾")
    session.says("m", "head" + "y" * 8_001 + "tail")
    session.user("z" * 8_000)
    transcript = whole(session.write(path))
    texts = [turn.text for turn in transcript.turns]
    assert all(len(text) <= 8_000 for text in texts)
    assert texts[0].startswith("开头")
    assert texts[0].endswith("结尾")
    assert "[cut 12104 characters]" in texts[0]
    assert texts[1].startswith("head")
    assert texts[1].endswith("tail")
    assert texts[2] == "z" * 8_000
    assert transcript.dropped == {"capped": 2}


def test_product_f2_a_private_passage_goes_on_in_the_next_block_of_the_message(path: Path) -> None:
    """An image pasted in it makes two blocks; a message that was queued has blocks, too."""
    parts = [
        {"type": "text", "text": "我住在成都 <private>NOISE"},
        {"type": "image", "source": {}},
        {"type": "text", "text": "NOISE ＜private＞NOISE</private> NOISE"},
        {"type": "text", "text": "NOISE </private> I like tea"},
        {"type": "text", "text": "<system-reminder>NOISE <private></system-reminder>and milk"},
    ]
    session = Session()
    session.user(parts)
    session.queued([{**one, "text": one.get("text")} for one in parts])
    session.user("the next message")
    words = "我住在成都\nI like tea\nand milk"
    assert [text for _, text in said(whole(session.write(path)))] == [words, words, "the next message"]


def test_arguments_of_a_command_that_nothing_closes_take_linear_time(path: Path) -> None:
    session = Session()
    session.user("<command-name>/x</command-name>" + "<command-args>" * 50_000)
    session.user("<command-args>一 <command-args> two</command-args><command-name>/x</command-name>")
    assert said(whole(session.write(path))) == [("user", "一 <command-args> two")]
