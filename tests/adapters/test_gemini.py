"""Gemini CLI sessions: what is speech in them, what a journal takes back, keys, errors, places."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import gemini_source, registry
from mex_pipeline.adapters.port import Local
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, settled
from mex_pipeline.errors import InvalidInput, SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.gemini_session import ADAPTER, CHAT, Journal, as_document, chat, whole
from tests.adapters.growing import identity, said
from tests.adapters.opencode_session import chat as opencode_chat


@pytest.mark.parametrize("form", ["journal", "document", "compact"])
def test_both_forms_give_what_was_said_and_nothing_else(tmp_path: Path, form: str) -> None:
    """Prompts and answers in order; tools, thoughts, notices, file contents and the context are counted, not kept."""
    data = chat().data() if form == "journal" else as_document(chat(), indent=2 if form == "document" else None)
    path = tmp_path / "any.name"
    path.write_bytes(data)
    transcript = whole(path)
    assert said(transcript) == CHAT
    assert (transcript.session_id, transcript.agent) == ("f1", "gemini")
    assert "NOISE" not in "".join(turn.text for turn in transcript.turns)
    kept = {"notice": 2, "attachment": 1, "tool_use": 2, "tool_result": 2}
    assert kept.items() <= transcript.dropped.items()
    assert transcript.turns[0].at == "2026-03-01T08:00:02Z"
    assert registry.detect(path).name == "gemini"


def test_both_forms_have_the_same_keys(tmp_path: Path) -> None:
    """I2: resuming an old session writes all its messages again, as a journal in another file."""
    old, new = tmp_path / "session-1.json", tmp_path / "session-1.jsonl"
    old.write_bytes(as_document(chat()))
    journal = chat()
    journal.user("新的")
    journal.write_to(new)
    seen = {turn.key for turn in whole(old).turns}
    assert [turn.text for turn in whole(new).turns if turn.key not in seen] == ["新的"]
    assert identity(whole(old).turns) == identity(whole(new).turns)[:-1]


def test_the_last_content_written_under_an_id_counts(tmp_path: Path) -> None:
    """At the place and the time of the first; empty answers are none."""
    journal = Journal()
    first = journal.says("he")
    journal.user("ok")
    journal.write({**journal.messages[first], "content": [{"text": "hello"}], "timestamp": "2026-05-01T00:00:00Z"})
    journal.says("", thoughts=[{"subject": "NOISE"}])
    journal.says("")
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert said(transcript) == [("assistant", "hello"), ("user", "ok")]
    assert transcript.turns[0].at == "2026-03-01T08:00:01Z"
    assert (transcript.dropped["duplicate"], transcript.dropped["thinking"], transcript.dropped["empty"]) == (1, 1, 1)


def test_a_rewind_takes_back_a_message_and_all_behind_it(tmp_path: Path) -> None:
    """And nothing before it; what is said afterwards counts."""
    journal = Journal()
    journal.user("stays")
    journal.says("good")
    target = journal.user("taken back")
    journal.tool("gone too")
    journal.rewind(target)
    journal.user("instead")
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert [text for _, text in said(transcript)] == ["stays", "good", "instead"]
    assert transcript.dropped["rewound"] == 3
    journal.rewind("nobody knows")
    journal.user("anew")
    assert [text for _, text in said(whole(journal.write_to(tmp_path / "s")))] == ["anew"]


def test_what_the_client_no_longer_sends_was_said_all_the_same(tmp_path: Path) -> None:
    """A prompt whose request failed or was interrupted is left out of the next list; only a rewind takes words back."""
    journal = Journal()
    journal.user("我对花生过敏。")
    journal.says("好的。")
    before = list(journal.messages.values())
    journal.user("我搬到深圳了。")
    journal.send(before)
    del journal.messages[list(journal.messages)[-1]]
    journal.start()
    journal.user("and I like tea")
    transcript = whole(journal.write_to(tmp_path / "s"))
    texts = [text for _, text in said(transcript)]
    assert texts == ["我对花生过敏。", "好的。", "我搬到深圳了。", "and I like tea"]


def test_compacted_talk_is_said_once_and_its_summary_by_nobody(tmp_path: Path) -> None:
    """The client writes a summary in the user's name and what it keeps under new ids."""
    journal = Journal()
    journal.user("I live in Chengdu.")
    journal.says("Nice.")
    journal.user("yes")
    journal.says("Good.")
    kept: list[dict[str, Any]] = [
        {"id": "n1", "type": "user", "content": [{"text": "<state_snapshot>I live in Shenzhen</state_snapshot>"}]},
        {"id": "n2", "type": "gemini", "content": [{"text": "Got it. Thanks for the additional context!"}]},
        {"id": "n3", "type": "user", "content": [{"text": "yes"}]},
        {"id": "n4", "type": "gemini", "content": [{"text": "Good."}]},
    ]
    before = identity(whole(journal.write_to(tmp_path / "s")).turns)
    journal.send(kept)
    journal.write(kept[3] | {"toolCalls": []})
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert identity(transcript.turns) == before
    assert transcript.dropped["compact_summary"] == 1
    free = [kept[0] | {"content": [{"text": "We talked about a move."}]}, *kept[1:]]
    journal.lines[-3]["$set"]["messages"] = free
    assert identity(whole(journal.write_to(tmp_path / "s")).turns) == before
    journal.rewind("n3")
    assert [text for _, text in said(whole(journal.write_to(tmp_path / "s")))] == ["I live in Chengdu.", "Nice."]


def test_messages_written_anew_under_other_ids_are_the_same_messages(tmp_path: Path) -> None:
    """Shortening tool outputs writes the whole history again: records, then their list; neighbours may be joined."""
    journal = Journal()
    journal.user("one")
    journal.user("two")
    journal.says("fine")
    journal.user("yes")
    before = identity(whole(journal.write_to(tmp_path / "s")).turns)
    anew: list[dict[str, Any]] = [
        {"id": "x1", "type": "user", "content": [{"text": "one"}, {"text": "two"}]},
        {"id": "x2", "type": "gemini", "content": [{"text": "fine"}]},
        {"id": "x3", "type": "user", "content": [{"text": "yes"}]},
    ]
    for one in anew:
        journal.add(one)
    journal.send(anew)
    journal.user("yes")
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert identity(transcript.turns)[:-1] == before
    assert said(transcript)[-1] == ("user", "yes")


@pytest.mark.parametrize(
    ("texts", "words", "reason"),
    [
        (["<hook_context><mex-memory>NOISE</mex-memory></hook_context>", "hi"], "hi", "injected"),
        (["hi", "<hook_context>NOISE</hook_context>"], "hi", "injected"),
        (["hi\n\n<hook_context>NOISE\n</hook_context>"], "hi", "injected"),
        (["<private>NOISE</private>"], None, "private"),
        (["Here is the user's editor context as a JSON object. NOISE", "hi"], "hi", "ide_context"),
        (["hi\n--- Content from referenced files ---\nNOISE\n--- End of content ---"], "hi", "attachment"),
        (["[System: You previously returned an empty response NOISE]"], None, "system"),
        ([" \n"], None, "empty"),
    ],
)
def test_what_the_client_adds_to_a_prompt_is_not_the_users(
    tmp_path: Path, texts: list[str], words: str | None, reason: str | None
) -> None:
    """Context of hooks and editors, contents of files, nudges."""
    journal = Journal()
    journal.user(*texts)
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert [turn.text for turn in transcript.turns] == ([words] if words else [])
    assert reason is None or transcript.dropped[reason] == 1


def test_words_said_while_the_model_worked_and_answers_to_its_questions_are_the_users(tmp_path: Path) -> None:
    """They stand in records of tool results; an answer has one key in both places where it stands."""
    journal = Journal()
    response = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "NOISE"}}}
    hint = "User steering update:\n<user_input>\nuse pnpm, not npm\n</user_input>\nInternal instruction: NOISE"
    journal.record("user", [{"text": hint}, response])
    journal.tool("Which one?", "ask_user", json.dumps({"answers": {"0": "蓝色", "1": "the small one"}}))
    journal.tool("x", "ask_user", "not json")
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert [(turn.kind, turn.text) for turn in transcript.turns if turn.role == "user"] == [
        ("queued", "use pnpm, not npm"),
        ("tool_answer", "蓝色\nthe small one"),
    ]


def test_the_last_answer_is_held_while_it_may_grow(tmp_path: Path) -> None:
    """Until another message follows, the file is quiet or the end is named; the user's words are final at once."""
    journal = Journal()
    journal.user("hi")
    journal.says("he")
    for data in (journal.data(), as_document(journal)):
        path = tmp_path / "s"
        path.write_bytes(data)
        first = ADAPTER.read(path, Cursor(), quiet=False)
        assert [(turn.text, turn.held) for turn in first.turns] == [("hi", False), ("he", True)]
        assert first.turns[1].end > first.cursor.off
        retry = ADAPTER.read(path, Cursor(), quiet=False, until=first.cursor.off)
        assert identity(retry.turns) == identity(settled(first))
        assert not any(turn.held for turn in whole(path).turns)
    journal.record("info", "NOISE")
    assert not any(turn.held for turn in whole(journal.write_to(tmp_path / "s"), quiet=False).turns)


@pytest.mark.parametrize("which", ["metadata", "path", "prompt", "folder"])
def test_sessions_that_are_no_conversation_give_no_turns(tmp_path: Path, which: str) -> None:
    """A subagent's, one of meX's own prompt, one in meX's own folder."""
    journal = Journal(kind="subagent") if which == "metadata" else Journal()
    journal.user(f"{PROMPT_MARK}\nNOISE" if which == "prompt" else "do this")
    journal.says("done")
    chats = tmp_path / "tmp" / "p" / "chats"
    path = journal.write_to(chats / "parent" / "s.jsonl" if which == "path" else chats / "session-1.jsonl")
    if which == "folder":
        (chats.parent / ".project_root").write_text("/home/lin/.mex/run")
    transcript = whole(path)
    reason = {"prompt": "own_prompt", "folder": "own_session"}.get(which, "subagent")
    assert (transcript.turns, transcript.dropped[reason]) == ((), 3)


def test_the_project_is_the_folder_the_client_notes_beside_its_sessions(tmp_path: Path) -> None:
    """Nothing is read elsewhere."""
    path = chat().write_to(tmp_path / "tmp" / "notes" / "chats" / "session-1.jsonl")
    assert whole(path).project is None
    (tmp_path / "tmp" / "notes" / ".project_root").write_text("/home/lin/notes\n")
    assert whole(path).project == "/home/lin/notes"


def test_every_record_is_a_turn_or_counted(tmp_path: Path) -> None:
    """Bad lines and unknown records too."""
    journal = Journal()
    journal.user("hi")
    journal.add({"id": "n", "type": "novel"})
    journal.add({"id": "m"})
    path = tmp_path / "s"
    path.write_bytes(journal.data() + b"{bad\n" + b'{"$set": 3}\n')
    assert whole(path).dropped == {"state": 4, "session_context": 1, "unknown_type": 2, "bad_line": 1}


def test_invalid_values_never_break_a_read(tmp_path: Path) -> None:
    """I6: wherever a value may hold anything."""
    path = tmp_path / "s"
    head = b'{"sessionId":"s","projectHash":"h"}\n'
    odd: list[Any] = [None, 3, "x", [], {}, [None], [3, {"text": 3}], {"parts": 1}]
    records: list[Any] = [{"id": "a", "type": kind, key: value} for kind in ("user", "gemini") for value in odd
                          for key in ("content", "displayContent", "toolCalls", "timestamp", "thoughts")]  # fmt: skip
    records += [{"$set": value} for value in odd] + [{"$set": {"messages": value}} for value in odd]
    records += [{"$rewindTo": value} for value in odd] + [{"$set": {"messages": [one]}} for one in odd]
    path.write_bytes(head + b"\n".join(json.dumps(one).encode() for one in records) + b"\n")
    assert whole(path).session_id == "s"
    for value in odd:
        path.write_text(json.dumps({"sessionId": "s", "projectHash": "h", "messages": [value, *records]}))
        assert whole(path).session_id == "s"


def test_lone_surrogates_and_nul_are_replaced(tmp_path: Path) -> None:
    """In both forms."""
    journal = Journal()
    journal.user("XX")
    for data in (journal.data(), as_document(journal)):
        path = tmp_path / "s"
        path.write_bytes(data.replace(b"XX", b"a\\ud83d\\u0000b"))
        assert [turn.text for turn in whole(path).turns] == ["a\ufffdb"]


def test_a_document_that_is_not_whole_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    """It is written in place: at another size it is looked at again. An empty one has nothing yet."""
    path = tmp_path / "s"
    data = as_document(chat())
    path.write_bytes(data)
    cursor = whole(path).cursor
    for cut in range(5, len(data) - 1, 97):
        path.write_bytes(data[:cut])
        with pytest.raises(SourceFormat) as caught:
            ADAPTER.read(path, cursor, quiet=True)
        assert caught.value.code == "source_damaged"
    path.write_bytes(b"")
    assert ADAPTER.read(path, cursor, quiet=True).turns == ()
    path.write_bytes(data)
    assert ADAPTER.read(path, cursor, quiet=True).cursor == cursor


def test_a_rewritten_document_tells_that_its_beginning_changed(tmp_path: Path) -> None:
    """Old versions rewind by writing fewer messages."""
    path = tmp_path / "s"
    path.write_bytes(as_document(chat()))
    cursor = whole(path).cursor
    path.write_bytes(as_document(chat(), 4))
    assert ADAPTER.read(path, cursor, quiet=True).reset == "shorter"
    other = Journal("g2")
    other.messages = {f"{number}": {"id": f"{number}", "type": "user", "content": "x"} for number in range(99)}
    path.write_bytes(as_document(other))
    assert ADAPTER.read(path, cursor, quiet=True).reset == "content_changed"


def test_errors_of_the_source_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, a folder, no session of Gemini CLI, a document too large to be read whole."""
    with pytest.raises(SourceGone):
        whole(tmp_path / "none")
    with pytest.raises(SourceUnreadable):
        whole(tmp_path)
    path = tmp_path / "s"
    for data in (b'{"a": 1}\n', b"words\n", b'{\n "messages": 3\n}', b'[{"sessionId": "s"}]\n'):
        path.write_bytes(data)
        with pytest.raises(SourceFormat):
            whole(path)
    monkeypatch.setattr(gemini_source, "SIZE_CAP", 100)
    path.write_bytes(as_document(chat()))
    with pytest.raises(SourceUnreadable) as caught:
        whole(path)
    assert (caught.value.code, caught.value.params) == ("source_too_large", {"path": str(path), "limit": 100})
    assert said(whole(chat().write_to(path))) == CHAT


def test_files_of_others_and_prompt_logs_are_not_sessions(tmp_path: Path) -> None:
    """`logs.json`, checkpoints, other agents' files, text; and no other adapter takes a session of this one."""
    path = tmp_path / "x"
    logs = [{"sessionId": "s", "messageId": 0, "type": "user", "message": "hi", "timestamp": "2026-03-01T08:00:00Z"}]
    checkpoint = {"history": [{"role": "user", "parts": [{"text": "hi"}]}], "authType": "x"}
    for text in (json.dumps(logs, indent=2), json.dumps(checkpoint), opencode_chat().text(), "{\n", "# hi", ""):
        path.write_text(text)
        assert not ADAPTER.detect(path)
    path.write_text(json.dumps(logs, indent=2))
    with pytest.raises(InvalidInput):
        registry.detect(path)
    for data in (chat().data(), as_document(chat()), as_document(chat(), indent=None)):
        path.write_bytes(data)
        takers = [name for name in registry._BUILT_IN if registry.find(name).detect(path)]
        assert takers == ["gemini"]


def test_sessions_are_found_in_every_project_and_subagents_are_not(tmp_path: Path) -> None:
    """`GEMINI_CLI_HOME` stands for the home folder."""
    assert isinstance(ADAPTER, Local)
    chats = tmp_path / ".gemini" / "tmp" / "notes" / "chats"
    chat().write_to(chats / "session-2026-03-01T08-00-f1.jsonl")
    chat().write_to(chats / "session-2026-03-01T08-00-f1.json")
    chat().write_to(chats / "f1" / "sub.jsonl")
    chat().write_to(chats / "session-1.jsonl.unreadable-5")
    (chats.parent / "logs.json").write_text("[]")
    names = ["session-2026-03-01T08-00-f1.json", "session-2026-03-01T08-00-f1.jsonl"]
    assert sorted(path.name for path in ADAPTER.places(tmp_path, {})) == names
    assert list(ADAPTER.places(tmp_path / "none", {})) == []
    assert len(list(ADAPTER.places(tmp_path / "none", {"GEMINI_CLI_HOME": str(tmp_path)}))) == 2


@pytest.mark.parametrize(
    ("retention", "days"),
    [(None, 30), ({"maxAge": "2w"}, 14), ({"maxAge": "12h"}, 0), ({"enabled": False}, None), ({"maxAge": "soon"}, None),
     ({"maxCount": 9}, 30), ("x", 30)],
)  # fmt: skip
def test_how_long_sessions_are_kept_is_what_the_settings_say(tmp_path: Path, retention: Any, days: int | None) -> None:
    """Thirty days if they say nothing; never deleted where the clean-up is off or cannot be understood."""
    (tmp_path / ".gemini").mkdir()
    settings = {"general": {"sessionRetention": retention}} if retention else {}
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings))
    assert ADAPTER.kept_days(tmp_path, {}) == days
    (tmp_path / ".gemini" / "settings.json").write_text("{ // words")
    assert ADAPTER.kept_days(tmp_path, {}) == 30


def test_files_of_a_prompt_are_left_out_however_many_blank_lines_stand_before_them(tmp_path: Path) -> None:
    """Blank lines take linear time."""
    journal = Journal()
    journal.user("看看" + "\n" * 200_000 + "--- Content from referenced files ---\nNOISE\n--- End of content ---")
    journal.user("one" + "\n" * 200_000 + "two")
    turns = whole(journal.write_to(tmp_path / "s.jsonl")).turns
    assert turns[0].text == "看看"
    assert turns[1].text.endswith("two")
