"""OpenCode's exports, its old storage tree and lists of messages: what is speech, what is not, what is no session."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import opencode_source, registry
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor
from mex_pipeline.errors import InvalidInput, MexError, SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.claude_session import chat as claude_chat
from tests.adapters.growing import identity, said
from tests.adapters.opencode_session import ADAPTER, CHAT, START, Export, chat, put, text, whole

LIST = [{"role": "user", "content": "我住在成都"}, {"role": "assistant", "content": "好的"}]


def told(path: Path) -> tuple[str, dict[str, Any]]:
    """The error a read ends with."""
    with pytest.raises(MexError) as caught:
        whole(path)
    return caught.value.code, caught.value.params


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_seed_8_2_an_export_gives_typed_words_and_answers(tmp_path: Path, indent: int | None) -> None:
    """Compact or pretty-printed; everything else is counted by its reason."""
    path = chat().write(tmp_path / "e.json", indent)
    transcript = whole(path)
    assert said(transcript) == CHAT
    assert transcript.dropped == {
        "synthetic": 1, "ignored": 1, "document": 1, "empty": 1, "thinking": 1, "tool_use": 1, "snapshot": 1, "step": 4,
    }  # fmt: skip
    assert (transcript.agent, transcript.session_id, transcript.project) == ("opencode", "ses_1", "/home/lin/notes")
    first = transcript.turns[0]
    assert (first.at, first.message_id, first.session_id) == ("2026-03-01T08:00:00Z", "msg_0000", "ses_1")
    assert registry.detect(path) is registry.find("opencode")


@pytest.mark.parametrize("banner", ["Exporting session: ses_1\n", "Exporting session: ses_1", "\ufeff", "\n\n"])
def test_what_the_command_says_before_the_json_is_passed_over(tmp_path: Path, banner: str) -> None:
    """`opencode export ID > FILE 2>&1`, with and without a line end."""
    path = tmp_path / "e.json"
    path.write_text(banner + chat().text(2), encoding="utf-8")
    assert said(whole(path)) == CHAT
    assert registry.detect(path).name == "opencode"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_files_that_a_windows_shell_wrote_are_read(tmp_path: Path, encoding: str) -> None:
    """PowerShell's `>` writes UTF-16 and CRLF."""
    path = tmp_path / "e.json"
    path.write_bytes(chat().text(2).replace("\n", "\r\n").encode(encoding))
    assert said(whole(path)) == CHAT
    assert registry.detect(path).name == "opencode"


def test_a_list_of_opencodes_own_messages_is_read(tmp_path: Path) -> None:
    """As its server returns them, as an array or a message a line; session and folder stand in the messages."""
    messages = chat().messages
    lines = "\n".join(json.dumps(message) for message in messages)
    for number, data in enumerate((json.dumps(messages), lines)):
        path = tmp_path / str(number)
        path.write_text(data)
        transcript = whole(path)
        assert said(transcript) == CHAT
        assert (transcript.session_id, transcript.project) == ("ses_1", "/home/lin/notes")


@pytest.mark.parametrize("shape", ["lines", "array", "pretty", "object"])
def test_a_list_of_roles_and_contents_is_read_as_a_session(tmp_path: Path, shape: str) -> None:
    """Fault 23: an array gave only its first turn, pretty-printed JSON none."""
    messages = [
        {"role": "system", "content": "NOISE"},
        {"role": "user", "content": "我住在成都", "timestamp": "2026-03-01T08:00:00Z"},
        {"role": "assistant", "content": [text("好的"), {"type": "tool_use", "input": "NOISE"}], "timestamp": START},
        {"role": "tool", "content": "NOISE"},
        {"role": "user", "content": ["I like", text("tea")], "created_at": START / 1000},
        {"role": "assistant", "content": None},
    ]
    path = tmp_path / "m"
    path.write_text(
        "\n".join(json.dumps(message) for message in messages) if shape == "lines"
        else json.dumps({"messages": messages} if shape == "object" else messages, indent=2 if shape == "pretty" else None)
    )  # fmt: skip
    transcript = whole(path)
    assert said(transcript) == [("user", "我住在成都"), ("assistant", "好的"), ("user", "I like\ntea")]
    assert transcript.dropped == {"system": 1, "tool_use": 1, "tool_result": 1, "empty": 1}
    assert {turn.at for turn in transcript.turns} == {"2026-03-01T08:00:00Z"}
    assert registry.detect(path).name == "opencode"


def test_a_storage_tree_and_an_export_are_the_same_messages(tmp_path: Path) -> None:
    """I2: one path, the session's file; parts and messages of other sessions stay out."""
    exported = whole(chat().write(tmp_path / "e.json"))
    storage = tmp_path / "storage"
    other = Export("ses_2").user("NOISE other session")
    other.messages[0]["info"]["id"] = "msg_other"
    other.write_tree(storage)
    path = chat().write_tree(storage)
    tree = whole(path)
    assert identity(tree.turns) == identity(exported.turns)
    assert (tree.dropped, tree.session_id, tree.project) == (exported.dropped, "ses_1", "/home/lin/notes")
    assert registry.detect(path).name == "opencode"


def test_broken_files_of_a_storage_tree_are_counted_and_links_not_followed(tmp_path: Path) -> None:
    """Only the message they belong to is affected."""
    path = chat().write_tree(tmp_path / "storage")
    parts = tmp_path / "storage" / "part"
    (parts / "msg_0000" / "prt_0000_0.json").write_text('{"type": "text", "te')
    secret = put(tmp_path / "secret.json", text("NOISE elsewhere"))
    (parts / "msg_0001" / "prt_9.json").symlink_to(secret)
    (parts / "msg_0002" / "prt_9.json").mkdir()
    transcript = whole(path)
    assert said(transcript) == CHAT[1:]
    assert transcript.dropped["malformed"] == 3


def test_a_sessions_file_without_its_tree_is_no_session(tmp_path: Path) -> None:
    """Its messages are not in it."""
    path = chat().write_tree(tmp_path / "storage")
    alone = tmp_path / path.name
    alone.write_bytes(path.read_bytes())
    assert told(alone) == ("source_format", {"path": str(alone), "adapter": "opencode"})


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"parentID": "ses_0"}, "subagent"),
        ({"directory": "/home/lin/.mex/work"}, "own_session"),
        ({"directory": r"C:\Users\lin\.mex"}, "own_session"),
    ],
)
def test_sessions_of_machines_give_no_turns(tmp_path: Path, info: dict[str, Any], reason: str) -> None:
    """Sub-agents are most of what a user's store holds; every message is counted."""
    transcript = whole(Export(**info).user("NOISE").says("NOISE").write(tmp_path / "e.json"))
    assert (transcript.turns, transcript.dropped) == ((), {reason: 2})


def test_a_session_of_mexs_own_prompt_gives_no_turns(tmp_path: Path) -> None:
    """Else the reader eats its own output."""
    transcript = whole(Export().user(f"{PROMPT_MARK}\nNOISE").says("NOISE").write(tmp_path / "e.json"))
    assert (transcript.turns, transcript.dropped) == ((), {"own_prompt": 2})
    quoting = Export().user("what is this?", PROMPT_MARK).write(tmp_path / "q.json")
    assert len(whole(quoting).turns) == 1


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"summary": True}, "compact_summary"),
        ({"agent": "compaction"}, "compact_summary"),
        ({"agent": "title"}, "title"),
        ({"error": {"name": "MessageAbortedError"}}, "interrupted"),
        ({"error": {"name": "APIError"}}, "api_error"),
        ({"role": "narrator"}, "unknown_role"),
    ],
)
def test_messages_that_nobody_said_are_left_out_whole(tmp_path: Path, info: dict[str, Any], reason: str) -> None:
    """Session-formats §3.3."""
    export = Export().user("hi").says("NOISE")
    export.messages[1]["info"] |= info
    transcript = whole(export.user("bye").write(tmp_path / "e.json"))
    assert [text for _, text in said(transcript)] == ["hi", "bye"]
    assert transcript.dropped == {reason: 1}


def test_parts_are_told_apart_by_their_type(tmp_path: Path) -> None:
    """An answer to a question is the user's; what no reason names is counted as unknown."""
    export = Export().user("hi")
    question = {"type": "tool", "tool": "question", "state": {"metadata": {"answers": [["tea"]]}}}
    parts: list[dict[str, Any]] = [question, {"type": "subtask"}, {"type": "compaction"}, {"type": "retry"}, {}]
    export.message("user", *parts, {"type": "agent"}, {"type": "hologram"}, text(7), time={"created": 1})
    transcript = whole(export.write(tmp_path / "e.json"))
    assert said(transcript) == [("user", "hi"), ("user", "tea")]
    assert transcript.dropped == {
        "command": 1, "compact_summary": 1, "api_error": 1, "agent": 1, "unknown_block": 1,
        "malformed": 2,
    }  # fmt: skip


def test_texts_are_cleaned_and_capped(tmp_path: Path) -> None:
    """Injected blocks and thinking go, a lone surrogate and NUL are replaced, pasted logs keep head and tail."""
    export = Export().user("a<system-reminder>NOISE</system-reminder>\0b\ud83d", "x" * 9000)
    export.says("<thinking>NOISE</thinking>好")
    path = tmp_path / "e.json"
    path.write_text(json.dumps(export.value()))
    transcript = whole(path)
    assert transcript.turns[0].text.startswith("ab\ufffd\nxxx")
    assert transcript.turns[1].text == "好"
    assert transcript.dropped["capped"] == 1
    "".join(turn.text for turn in transcript.turns).encode()


def test_texts_that_a_sanitized_export_hides_are_no_speech(tmp_path: Path) -> None:
    """`opencode export --sanitize` leaves placeholders; a user who writes of one is heard."""
    export = Export(directory="[redacted:session-directory:ses_1]").user("[redacted:text:prt_1]")
    export.user("why [redacted:text:prt_1]?")
    transcript = whole(export.write(tmp_path / "e.json"))
    assert (said(transcript), transcript.project) == ([("user", "why [redacted:text:prt_1]?")], None)
    assert transcript.dropped == {"redacted": 1}


def test_what_the_user_took_back_is_left_out(tmp_path: Path) -> None:
    """A revert names the first message, or the first part of one, that does not count any more."""
    export = Export().user("one").says("two", "three").user("four")
    export.info["revert"] = {"messageID": "msg_0002"}
    transcript = whole(export.write(tmp_path / "e.json"))
    assert said(transcript) == [("user", "one"), ("assistant", "two"), ("assistant", "three")]
    assert transcript.dropped["reverted"] == 1
    export.info["revert"] = {"messageID": "msg_0001", "partID": "prt_0001_2"}
    transcript = whole(export.write(tmp_path / "e.json"))
    assert said(transcript) == [("user", "one"), ("assistant", "two")]
    assert transcript.dropped["reverted"] == 2
    export.info["revert"] = {"messageID": "msg_gone"}
    assert len(whole(export.write(tmp_path / "e.json")).turns) == 4


def test_several_exports_in_one_file_are_all_read(tmp_path: Path) -> None:
    """`opencode export A > f; opencode export B >> f`: each with its own rules, nothing silently lost."""
    path = tmp_path / "e.json"
    sub = Export("ses_2", parentID="ses_1").user("NOISE")
    third = Export("ses_3").user("three")
    third.messages[0]["info"]["time"] = {"created": START + 77}
    path.write_text("\n".join(one.text(2) for one in (chat(), sub, third)))
    transcript = whole(path)
    assert said(transcript) == [*CHAT, ("user", "three")]
    assert transcript.dropped["subagent"] == 1
    assert transcript.turns[-1].session_id == "ses_3"


@pytest.mark.parametrize("times", [{}, {"created": "x"}, {"created": 10**30}, {"created": -5}, {"created": True}, None])
def test_messages_without_a_usable_time_are_read(tmp_path: Path, times: Any) -> None:
    """The time is missing then, not the message."""
    export = Export()
    export.message("user", text("hi"), time=times)
    export.message("user", text("ho"), time=times)
    turns = whole(export.write(tmp_path / "e.json")).turns
    assert [(turn.text, turn.at) for turn in turns] == [("hi", None), ("ho", None)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("share", [0.4, 0.9, 0.999])
def test_fault_23_an_export_that_is_cut_off_is_told(tmp_path: Path, indent: int | None, share: float) -> None:
    """A pipe cuts the client's export at 64 KiB; it is found by its beginning and named, never silently nothing."""
    data = chat().write(tmp_path / "e.json", indent).read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(data[: int(len(data.rstrip()) * share)])
    assert registry.detect(path).name == "opencode"
    assert told(path) == ("source_damaged", {"path": str(path), "adapter": "opencode"})


@pytest.mark.parametrize(
    "data",
    [b"\xe6\x88\x91\xe4\xbd\x8f\n", b"5 apples", b'{"a": 1}', b"[]", b"[[[]]]", b"[1]", b'"x"', b"null\n", b"\x00\xff",
     b"Exporting session: ses_1\nError: not found", b'{"role": "user"}',
     b'{"openapi": "3", "info": {"title": "t", "version": "1"}, "messages": []}',
     b'{"type":"message","role":"user","content":"a","providerData":{}}'],
)  # fmt: skip
def test_fault_23_a_file_of_another_kind_is_told(tmp_path: Path, data: bytes) -> None:
    """And is not taken for a session by itself."""
    path = tmp_path / "f"
    path.write_bytes(data)
    assert told(path) == ("source_format", {"path": str(path), "adapter": "opencode"})
    assert not ADAPTER.detect(path)


def test_another_agents_session_is_told(tmp_path: Path) -> None:
    """Both ways."""
    path = claude_chat().write(tmp_path / "c.jsonl")
    assert told(path)[0] == "source_format"
    assert not ADAPTER.detect(path)
    with pytest.raises(SourceFormat):
        registry.find("claude").read(chat().write(tmp_path / "e.json", 2), Cursor(), quiet=True)


def test_nothing_in_a_file_is_no_error(tmp_path: Path) -> None:
    """An empty file and a session without messages give no turns; that is said where it is extracted."""
    (tmp_path / "empty").write_bytes(b" \n")
    assert whole(tmp_path / "empty").turns == ()
    path = Export().write(tmp_path / "e.json")
    assert (whole(path).turns, whole(path).session_id) == ((), "ses_1")
    assert registry.detect(path).name == "opencode"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    """As for every adapter."""
    with pytest.raises(SourceGone):
        whole(tmp_path / "none")
    with pytest.raises(SourceUnreadable):
        whole(tmp_path)


def test_broken_lines_of_a_list_are_counted_and_the_others_read(tmp_path: Path) -> None:
    """A torn last line may still be written: it is not counted."""
    path = tmp_path / "m.jsonl"
    first, second = (json.dumps(message) for message in LIST)
    path.write_text(f'{first}\n{{"role": broken\n["array"]\n{second}\n{{"role": "user", "cont')
    transcript = whole(path)
    assert said(transcript) == [("user", "我住在成都"), ("assistant", "好的")]
    assert transcript.dropped == {"bad_line": 2}
    assert registry.detect(path).name == "opencode"


def test_things_between_messages_are_counted(tmp_path: Path) -> None:
    """A header line, a number, a message of no shape."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps([*LIST, {"version": 1}, 7, None, {"info": {"role": "user"}, "parts": "x"}]))
    assert whole(path).dropped == {"unknown_type": 1, "malformed": 2}


def test_broken_bytes_and_deep_nesting_hurt_only_their_place(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are replaced; nesting that no parser takes is told as damage."""
    path = tmp_path / "e.json"
    path.write_bytes(chat().text().encode().replace(b"NOISE output", b"\xff\xfe\x00"))
    assert said(whole(path)) == CHAT
    deep = "[" * 200_000 + "]" * 200_000
    path.write_text(chat().text().replace('"NOISE output"', deep))
    assert told(path)[0] == "source_damaged"
    path.write_text(deep)
    assert told(path)[0] == "source_damaged"
    assert not ADAPTER.detect(path)


def test_a_large_export_is_found_by_its_beginning_and_read(tmp_path: Path) -> None:
    """Attachments of many megabytes stand in it as base64."""
    export = chat()
    part = {"type": "file", "url": "data:application/pdf;base64," + "A" * 30_000_000}
    export.messages[1]["parts"].insert(0, part)
    path = export.write(tmp_path / "e.json")
    tracemalloc.start()
    try:
        assert registry.detect(path).name == "opencode"
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        assert said(whole(path)) == CHAT
        assert tracemalloc.get_traced_memory()[1] < 8 * 30_000_000
    finally:
        tracemalloc.stop()


def test_a_source_above_the_cap_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a tree count together."""
    export = chat().write(tmp_path / "e.json")
    tree = chat().write_tree(tmp_path / "storage")
    monkeypatch.setattr(opencode_source, "SIZE_CAP", 1500)
    for path in (export, tree):
        code, params = told(path)
        assert (code, params["limit"]) == ("source_too_large", 1500)


def test_json_of_another_program_is_still_of_no_known_format(tmp_path: Path) -> None:
    """The list of known names is told."""
    (tmp_path / "x").write_text('{"a": 1}')
    with pytest.raises(InvalidInput) as caught:
        registry.detect(tmp_path / "x")
    assert caught.value.params["known"] == list(registry._BUILT_IN)


def test_product_f2_a_private_passage_goes_on_in_the_next_part_of_the_message(tmp_path: Path) -> None:
    """A file put into it makes two parts."""
    parts = [{"type": "text", "text": "我住在成都 <private>NOISE"}, {"type": "image"}]
    parts += [{"type": "text", "text": "NOISE"}, {"type": "text", "text": "NOISE </private> I like tea"}]
    (tmp_path / "s.json").write_text(
        json.dumps([{"role": "user", "content": parts}, {"role": "user", "content": "bye"}])
    )
    transcript = whole(tmp_path / "s.json")
    assert said(transcript) == [("user", "我住在成都\nI like tea"), ("user", "bye")]
