"""Claude Code sessions: turns, keys, hold-back, context, whole files left out, errors."""

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, settled
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.claude_session import ADAPTER, Session, chat, whole, wild
from tests.adapters.growing import identity, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_a_session_gives_typed_text_and_assistant_text_in_file_order(path: Path) -> None:
    """One turn per prompt, one per text block of the assistant, each with its time, ids and place."""
    transcript = whole(chat().write(path))
    assert said(transcript) == [
        ("user", "我住在成都，请用中文回答。"),
        ("assistant", "好的。"),
        ("assistant", "目录里有两个文件。"),
        ("user", "Thanks. I prefer short answers."),
        ("assistant", "Noted."),
        ("assistant", "Anything else?"),
        ("user", "no"),
        ("assistant", "Bye."),
    ]
    first, second, *_ = transcript.turns
    assert (first.key, first.message_id, first.session_id) == ("u:chat-1", "chat-1", "session-chat")
    assert (first.at, first.kind, first.held) == ("2026-03-01T08:00:01Z", "typed", False)
    assert second.key.startswith("a:m1:")
    assert second.message_id == "m1"
    assert (transcript.agent, transcript.session_id) == ("claude", "session-chat")
    assert transcript.project == "/home/lin/notes"
    assert transcript.cursor.off == path.stat().st_size
    assert [turn.end for turn in transcript.turns] == sorted(turn.end for turn in transcript.turns)


def test_every_record_and_block_left_out_is_counted_once(path: Path) -> None:
    """Turns and counts add up to what the file holds."""
    transcript = whole(chat().write(path))
    assert transcript.dropped == {
        "snapshot": 1,
        "thinking": 1,
        "tool_use": 1,
        "tool_result": 1,
        "image": 1,
        "system": 1,
    }


def test_equal_texts_of_one_message_are_one_turn_but_of_two_messages_two(path: Path) -> None:
    """Streaming and resuming write a block again; saying the same again is speech."""
    session = Session()
    session.says("m1", "ok")
    session.says("m1", "ok")
    session.says("m2", "ok")
    transcript = whole(session.write(path))
    assert [turn.key.rpartition(":")[0] for turn in transcript.turns] == ["a:m1", "a:m2"]
    assert transcript.dropped == {"duplicate": 1}


def test_an_assistants_key_is_made_of_the_raw_text(path: Path) -> None:
    """So a later change in cleaning does not make old turns new."""
    session = Session()
    session.says("m", "<thinking>hm</thinking> ok")
    (turn,) = whole(session.write(path)).turns
    assert turn.text == "ok"
    assert turn.key == "a:m:" + hashlib.sha256(b"<thinking>hm</thinking> ok").hexdigest()[:16]


def test_history_copied_again_into_the_file_is_read_once(path: Path) -> None:
    """A merge after a resume repeats user records under their old uuid."""
    session = chat()
    session.lines += session.lines[1:4]
    transcript = whole(session.write(path))
    assert identity(transcript.turns) == identity(whole(chat().write(path)).turns)
    assert transcript.dropped["duplicate"] == 2


def test_keys_are_free_of_path_and_session(tmp_path: Path) -> None:
    """A fork has another file name, session id and folder, and the same keys (session-formats §2)."""
    forked = chat().data().replace(b"session-chat", b"session-fork").replace(b"/home/lin/notes", b"/elsewhere")
    (tmp_path / "a.jsonl").write_bytes(chat().data())
    (tmp_path / "b.jsonl").write_bytes(forked)
    one, two = whole(tmp_path / "a.jsonl"), whole(tmp_path / "b.jsonl")
    assert identity(one.turns) == identity(two.turns)
    assert (two.session_id, two.project) == ("session-fork", "/elsewhere")


def test_missing_ids_get_stable_keys(path: Path) -> None:
    """Without message id the record's uuid serves, without uuid time and text do."""
    session = Session()
    session.record("user", message={"content": "no uuid"}, uuid=None)
    session.record("assistant", message={"content": [{"type": "text", "text": "no message id"}]})
    session.record("assistant", message={"content": "plain string"}, uuid=5)
    first, second, third = whole(session.write(path)).turns
    assert first.key.startswith("u:#")
    assert first.message_id is None
    assert second.key.startswith("a:s-1:")
    assert third.key.startswith("a::")
    assert identity(whole(path).turns) == identity((first, second, third))


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-08-06T16:30:00.123+08:00", "2026-08-06T08:30:00Z"),
        ("2026-08-06T08:30:00Z", "2026-08-06T08:30:00Z"),
        ("soon", None),
        ("", None),
        (1754469000, None),
        (None, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("0900-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("5137-12-31T23:59:59Z", "5137-12-31T23:59:59Z"),
    ],
)
def test_times_become_utc_seconds_or_none(path: Path, stamp: Any, at: str | None) -> None:
    """Turn.at is `YYYY-MM-DDTHH:MM:SSZ`."""
    session = Session()
    session.user("when", timestamp=stamp)
    assert whole(session.write(path)).turns[0].at == at


def test_session_and_project_are_those_of_the_last_record_that_names_them(path: Path) -> None:
    """Both can change inside one file."""
    session = Session()
    session.user("a", cwd="/one", sessionId="one")
    session.user("b", cwd="/two", sessionId="two")
    session.record("mode", cwd=None, sessionId=None, mode="normal")
    transcript = whole(session.write(path))
    assert (transcript.session_id, transcript.project) == ("two", "/two")
    assert [turn.session_id for turn in transcript.turns] == ["one", "two"]


def held(path: Path, **how: Any) -> list[str]:
    how = {"quiet": False, **how}
    return [turn.text for turn in ADAPTER.read(path, Cursor(), **how).turns if turn.held]


def test_the_last_assistant_message_is_held_until_something_follows(path: Path) -> None:
    """All its blocks of the unfinished run are held, the cursor stays before its first record, noise lifts nothing."""
    session = Session()
    session.user("hi")
    start = len(session.data())
    session.assistant("m", {"type": "thinking", "thinking": "…"})
    session.says("m", "one")
    session.record("system", subtype="informational")
    session.says("m", "two")
    session.write(path)
    transcript = ADAPTER.read(path, Cursor(), quiet=False)
    assert held(path) == ["one", "two"]
    assert transcript.cursor.off == start
    assert [turn.text for turn in settled(transcript)] == ["hi"]
    assert held(path, quiet=True) == []
    assert held(path, until=path.stat().st_size) == []
    assert held(path, until=path.stat().st_size + 1) == ["one", "two"], "an end behind the file is ignored"


@pytest.mark.parametrize("follower", ["tool result", "user", "other message", "sidechain"])
def test_a_user_record_or_another_message_ends_the_hold(path: Path, follower: str) -> None:
    """Then the message is complete, or at least has moved on."""
    session = Session()
    session.says("m", "one")
    if follower == "other message":
        session.assistant("n", {"type": "thinking", "thinking": "…"})
    elif follower == "tool result":
        session.user([{"type": "tool_result", "content": "x"}])
    else:
        session.user("x", isSidechain=follower == "sidechain")
    session.write(path)
    assert held(path) == []
    assert ADAPTER.read(path, Cursor(), quiet=False).cursor.off == path.stat().st_size


def test_what_was_given_out_is_not_held_again(path: Path) -> None:
    """After a quiet read the same message may go on: only its new block is held, and the cursor never goes back."""
    session = Session()
    session.user("hi")
    session.says("m", "one")
    first = whole(session.write(path))
    again = ADAPTER.read(path, first.cursor, quiet=False)
    assert again.cursor == first.cursor
    session.says("m", "two")
    later = ADAPTER.read(session.write(path), first.cursor, quiet=False)
    assert [turn.text for turn in later.turns if turn.held] == ["two"]
    assert later.cursor.off == first.cursor.off


def test_resume_brings_the_last_turns_along_as_context(path: Path) -> None:
    """Two settled turns come again, with their ends at or before the old position (product H6)."""
    session = chat()
    cursor = whole(session.write(path)).cursor
    for increment in ("none", "noise", "none"):
        if increment == "noise":
            session.record("system", subtype="turn_duration")
        transcript = ADAPTER.read(session.write(path), cursor, quiet=True)
        assert [turn.text for turn in transcript.turns] == ["no", "Bye."]
        assert all(turn.end <= cursor.off for turn in transcript.turns)
        assert transcript.cursor.resume == cursor.resume
        cursor = transcript.cursor
    session.user("one more")
    transcript = ADAPTER.read(session.write(path), cursor, quiet=True)
    assert [turn.text for turn in transcript.turns if turn.end > cursor.off] == ["one more"]
    assert [turn.text for turn in transcript.turns] == ["no", "Bye.", "one more"]


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_counts_of_successive_reads_do_not_repeat_the_context(path: Path, newline: bytes) -> None:
    """What was left out before the old position was reported then, with or without a last newline."""
    session = wild()
    lines = session.lines
    total = whole(session.write(path)).dropped
    cursor, counted = Cursor(), dict[str, int]()
    for number in range(1, len(lines) + 1):
        path.write_bytes(b"\n".join(lines[:number]) + (newline if number < len(lines) else b"\n"))
        transcript = ADAPTER.read(path, cursor, quiet=True)
        cursor = transcript.cursor
        for reason, count in transcript.dropped.items():
            counted[reason] = counted.get(reason, 0) + count
    total.pop("duplicate"), counted.pop("duplicate", None)  # a double read alone is told by the seen table
    assert counted == total


def test_bad_lines_are_counted_and_passed_over(path: Path) -> None:
    """Only the broken line is lost."""
    transcript = whole(wild().write(path))
    assert transcript.dropped["bad_line"] == 2
    assert ("user", "half \ufffd pair") in said(transcript)
    assert ("user", "broken \ufffd\ufffd bytes") in said(transcript)
    assert not any("NOISE" in text for _, text in said(transcript))


@pytest.mark.parametrize("name", ["agent-1a2b.jsonl", "subagents/x.jsonl", "u/subagents/workflows/w/agent-3.jsonl"])
def test_a_subagents_file_gives_no_turns(tmp_path: Path, name: str) -> None:
    """It is counted record by record and read to its end."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    session = chat()
    transcript = ADAPTER.read(session.write(path), Cursor(), quiet=False)
    assert transcript.turns == ()
    assert transcript.dropped == {"subagent": len(session.lines)}
    assert transcript.cursor.off == path.stat().st_size


def test_a_session_of_mexs_own_prompt_gives_no_turns(path: Path) -> None:
    """Also when it grows after the first read (session-formats §1.7)."""
    session = Session()
    session.record("mode", mode="normal")
    session.user(f"{PROMPT_MARK}\n用户：我叫林晓舟")
    session.says("m", '{"memories": []}')
    first = whole(session.write(path))
    session.user("more")
    second = ADAPTER.read(session.write(path), first.cursor, quiet=True)
    assert first.turns == second.turns == ()
    assert (first.dropped, second.dropped) == ({"own_prompt": 3}, {"own_prompt": 1})


def test_quoting_the_mark_later_hides_nothing(path: Path) -> None:
    """Only the first text decides."""
    session = Session()
    session.user("看看这个日志")
    session.user(f"it starts with {PROMPT_MARK}")
    assert len(whole(session.write(path)).turns) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"just\nsome\nnotes\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\n",
        b'{"a": 1}\n',
        b'{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}\n',
        b'{"id":"1","type":"message","role":"user","sessionId":"s","content":"x"}\n',
        b'{"sessionId":"s","projectHash":"p"}\n{"id":"1","type":"user","content":"x"}',
        b"[\n 1\n]\n",
    ],
)
def test_another_format_is_refused(path: Path, data: bytes) -> None:
    """Complete lines of which none is a Claude record."""
    path.write_bytes(data)
    assert not ADAPTER.detect(path)
    with pytest.raises(SourceFormat) as caught:
        whole(path)
    assert caught.value.params == {"path": str(path), "adapter": "claude"}


@pytest.mark.parametrize("data", [b"", b"\n", b'{"type":"user","mess', b"\xef\xbb\xbf", b"\x00" * 100])
def test_an_empty_or_just_begun_file_is_no_error(path: Path, data: bytes) -> None:
    """There is nothing to judge yet."""
    path.write_bytes(data)
    transcript = whole(path)
    assert (transcript.turns, transcript.cursor.off) == ((), 0)
    assert not ADAPTER.detect(path)


def test_a_later_stretch_of_rubbish_is_no_format_error(path: Path) -> None:
    """What was a Claude session stays one."""
    cursor = whole(chat().write(path)).cursor
    path.write_bytes(path.read_bytes() + b"rubbish\nmore rubbish\n")
    assert ADAPTER.read(path, cursor, quiet=True).dropped == {"bad_line": 2}


def test_rubbish_after_noise_is_no_format_error_either(path: Path) -> None:
    """There is no turn to start from, yet the file was judged before."""
    session = Session()
    session.record("system", subtype="informational")
    cursor = whole(session.write(path)).cursor
    assert cursor.resume == cursor.off > 0
    path.write_bytes(path.read_bytes() + b"rubbish\n")
    assert ADAPTER.read(path, cursor, quiet=True).dropped == {"bad_line": 1}


def test_sessions_are_detected_by_content(tmp_path: Path) -> None:
    """Never by name; a few broken lines and a young file without prompts do not matter."""
    for name, session in (("notes.txt", chat()), ("wild", wild())):
        assert ADAPTER.detect(session.write(tmp_path / name))
    young = Session()
    young.record("queue-operation", operation="enqueue", content="x")
    assert ADAPTER.detect(young.write(tmp_path / "young.md"))
    broken = chat()
    broken.lines.insert(0, b"broken")
    assert ADAPTER.detect(broken.write(tmp_path / "broken"))


def test_a_missing_file_is_gone_and_other_refusals_are_unreadable(tmp_path: Path) -> None:
    """SourceGone ends a job for good; the other names what the operating system said."""
    (tmp_path / "file").write_text("x")
    for gone in (tmp_path / "none.jsonl", tmp_path / "file" / "below", Path("a\0b")):
        with pytest.raises(SourceGone) as missing:
            whole(gone)
        assert missing.value.params == {"path": str(gone)}
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for refused, number in ((tmp_path, errno.EISDIR), (loop, errno.ELOOP), (pipe, errno.EINVAL)):
        with pytest.raises(SourceUnreadable) as caught:
            whole(refused)
        assert caught.value.params == {"path": str(refused), "detail": os.strerror(number)}
        with pytest.raises(SourceUnreadable):
            ADAPTER.detect(refused)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_forbidden_file_is_unreadable(path: Path) -> None:
    """Permission is no reason to believe the file gone."""
    chat().write(path).chmod(0)
    with pytest.raises(SourceUnreadable) as caught:
        whole(path)
    assert caught.value.params["detail"] == os.strerror(errno.EACCES)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    """Bytes, times and the folder's listing stay (session-formats I5)."""
    path = wild().write(tmp_path / "s.jsonl")
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode, sorted(tmp_path.iterdir()))
    cursor = whole(path).cursor
    ADAPTER.read(path, cursor, quiet=False)
    ADAPTER.detect(path)
    assert before == (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode, sorted(tmp_path.iterdir()))
