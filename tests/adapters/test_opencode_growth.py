"""A session that is exported again and again: each turn is extracted once, whatever else the export says by then."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.conversation import Cursor, Transcript, Turn, settled
from mex_pipeline.errors import MexError
from tests.adapters.growing import identity, said
from tests.adapters.opencode_session import ADAPTER, START, Export, chat, text, whole
from tests.support.extent import tries

TALK = [{"role": role, "content": f"{role} {number} 好"} for number in range(6) for role in ("user", "assistant")]


class Reader:
    """Reads a source the way jobs do: a cursor, and the keys of what was extracted."""

    def __init__(self) -> None:
        self.cursor = Cursor()
        self.seen: set[str] = set()
        self.taken: list[Turn] = []

    def read(self, path: Path, *, quiet: bool = False) -> Transcript:
        transcript = ADAPTER.read(path, self.cursor, quiet=quiet)
        retry = ADAPTER.read(path, self.cursor, quiet=False, until=transcript.cursor.off)
        assert identity(retry.turns) == identity(settled(transcript))
        assert retry.cursor.off == transcript.cursor.off
        new = [turn for turn in settled(transcript) if turn.key not in self.seen]
        assert all(turn.end > transcript.cursor.off for turn in transcript.turns if turn.held)
        assert all(turn.end <= transcript.cursor.off for turn in settled(transcript))
        self.taken += new
        self.seen |= {turn.key for turn in new}
        self.cursor = Cursor.from_json(transcript.cursor.to_json())
        return transcript

    def new(self, path: Path) -> list[tuple[str, str]]:
        """What a quiet read brings that was not there before."""
        before = len(self.taken)
        self.read(path, quiet=True)
        return [(turn.role, turn.text) for turn in self.taken[before:]]


def test_seed_8_3_an_export_that_grew_brings_only_the_new_turns(tmp_path: Path) -> None:
    """Compact or pretty: the position counts messages, not bytes."""
    path, reader = tmp_path / "e.json", Reader()
    whole_chat = chat()
    for count in range(6):
        part = Export()
        part.messages = whole_chat.messages[:count]
        part.info["time"] = {"created": START, "updated": START + count}
        transcript = reader.read(part.write(path, indent=2 if count % 2 else None))
        assert transcript.reset is None
        assert transcript.cursor.off == count
    assert identity(reader.taken) == identity(whole(whole_chat.write(path)).turns)
    assert reader.new(path) == []


def test_what_an_earlier_read_dropped_is_not_counted_again(tmp_path: Path) -> None:
    """As in the append formats."""
    path, reader = tmp_path / "e.json", Reader()
    export = chat()
    assert reader.read(export.write(path)).dropped
    assert reader.read(path).dropped == {}
    assert reader.read(export.says("more").write(path)).dropped == {"step": 2}


@pytest.mark.parametrize("shape", ["lines", "array"])
def test_seed_8_3_a_list_that_grew_brings_only_the_new_turns(tmp_path: Path, shape: str) -> None:
    """Any schedule of reads, held and quiet ones mixed, gives what one pass gives."""
    path = tmp_path / "m"

    def write(count: int) -> Path:
        lines = [json.dumps(message) for message in TALK[:count]]
        path.write_text("\n".join(lines) if shape == "lines" else json.dumps(TALK[:count], indent=1))
        return path

    expected = identity(whole(write(len(TALK))).turns)
    chance = random.Random(5)
    for _ in range(40):
        reader = Reader()
        for count in sorted(chance.choices(range(1, len(TALK) + 1), k=5)):
            reader.read(write(count), quiet=chance.random() < 0.5)
        reader.read(write(len(TALK)), quiet=True)
        assert identity(reader.taken) == expected


def test_a_list_that_grows_by_bytes_loses_nothing(tmp_path: Path) -> None:
    """A torn last line waits for its rest; before its first whole line the file is named as damaged."""
    data = "\n".join(json.dumps(message, ensure_ascii=False) for message in TALK).encode()
    path, reader = tmp_path / "m", Reader()
    first = data.index(b"\n")
    for cut in [*range(1, len(data), 3), len(data)]:
        path.write_bytes(data[:cut])
        if cut < first:
            with pytest.raises(MexError):
                ADAPTER.read(path, Cursor(), quiet=True)
        else:
            reader.read(path, quiet=cut == len(data))
    assert identity(reader.taken) == identity(whole(path).turns)


def test_an_answer_that_is_being_written_is_held_until_it_is_complete(tmp_path: Path) -> None:
    """`time.completed` says so (session-formats §4); nothing of it is extracted before, and all of it once."""
    path, reader = tmp_path / "e.json", Reader()
    export = Export().user("question").says("first step").says("half an ans", is_open=True)
    transcript = reader.read(export.write(path))
    assert [turn.held for turn in transcript.turns] == [False, False, True]
    assert transcript.cursor.off == 2
    export.messages.pop()
    assert reader.new(export.says("half an answer, whole").write(path)) == [("assistant", "half an answer, whole")]


def test_an_answer_that_was_never_completed_is_dropped_until_it_is(tmp_path: Path) -> None:
    """In a file at rest, or where the user went on; a later export may still bring it."""
    path, reader = tmp_path / "e.json", Reader()
    export = Export().user("question").says("half", is_open=True)
    transcript = reader.read(export.write(path), quiet=True)
    assert (said(transcript), transcript.dropped) == ([("user", "question")], {"unfinished": 1})
    assert reader.new(export.user("and?").write(path)) == [("user", "and?")]
    export.messages[1]["info"]["time"]["completed"] = START + 9
    assert reader.new(export.write(path)) == [("assistant", "half")]


def test_a_complete_answer_is_not_held(tmp_path: Path) -> None:
    """However fresh the file is."""
    transcript = whole(chat().write(tmp_path / "e.json"), quiet=False)
    assert not any(turn.held for turn in transcript.turns)


def test_the_last_answer_of_a_list_is_held_while_the_file_is_fresh(tmp_path: Path) -> None:
    """It names no times: only what follows an answer says that it is over."""
    path = tmp_path / "m.json"
    for count, held in ((1, []), (2, [1]), (3, [])):
        path.write_text(json.dumps(TALK[:count]))
        turns = whole(path, quiet=False).turns
        assert [index for index, turn in enumerate(turns) if turn.held] == held
    assert not any(turn.held for turn in whole(path).turns)


def test_a_fork_brings_only_what_is_new(tmp_path: Path) -> None:
    """OpenCode's fork copies messages under new ids and keeps their times."""
    reader = Reader()
    reader.read(chat().write(tmp_path / "parent.json"))
    fork = chat().forked(3)
    assert Reader().new(fork.write(tmp_path / "fork.json")) != []
    assert reader.new(fork.write(tmp_path / "fork.json")) == []
    fork.message("user", text("only in the fork"), time={"created": START + 50_000})
    assert reader.new(fork.write(tmp_path / "fork.json")) == [("user", "only in the fork")]


def test_a_copy_under_another_path_session_and_shape_brings_nothing(tmp_path: Path) -> None:
    """I2 and I8: export, tree, list of messages, imported under another session id."""
    reader = Reader()
    reader.read(chat().write(tmp_path / "e.json"))
    (tmp_path / "list.json").write_text(json.dumps(chat().messages))
    copy = chat()
    copy.info |= {"id": "ses_copy", "directory": "/elsewhere"}
    for path in (
        chat().write_tree(tmp_path / "storage"), tmp_path / "list.json", copy.write(tmp_path / "copy.json", indent=2),
    ):  # fmt: skip
        assert reader.new(path) == []


def test_a_copied_list_brings_only_what_follows(tmp_path: Path) -> None:
    """Lists of plain messages too: what was said up to a message is its identity."""
    (tmp_path / "a").write_text(json.dumps(TALK[:4]))
    (tmp_path / "b").write_text("\n".join(json.dumps(message) for message in [*TALK[:4], *TALK[6:8]]))
    reader = Reader()
    reader.read(tmp_path / "a", quiet=True)
    assert reader.new(tmp_path / "b") == [("user", "user 3 好"), ("assistant", "assistant 3 好")]


def test_the_same_words_in_another_talk_are_read(tmp_path: Path) -> None:
    """`yes` means what was asked before it: ids that count from one in each file are no identity."""
    reader = Reader()
    for number, question in enumerate(("Do you live in Chengdu?", "Do you like tea?")):
        path = tmp_path / str(number)
        path.write_text(json.dumps([
            {"id": "1", "role": "assistant", "content": question}, {"id": "2", "role": "user", "content": "yes"},
        ]))  # fmt: skip
        assert reader.new(path) == [("assistant", question), ("user", "yes")]
    for session in ("ses_1", "ses_2"):  # two exports whose messages were made in the same millisecond
        assert reader.new(Export(session).user(f"words of {session}").write(path)) == [("user", f"words of {session}")]


def test_seed_8_3_a_file_with_other_content_is_read_from_the_start(tmp_path: Path) -> None:
    """It became shorter, or its beginning is another; and a retry sees what was there."""
    path, reader = tmp_path / "e.json", Reader()
    reader.read(chat().write(path))
    other = Export("ses_2")
    other.message("user", text("another session"), time={"created": START + 99})
    transcript = reader.read(other.write(path))
    assert (transcript.reset, transcript.cursor.off) == ("shorter", 1)
    longer = chat().says("more")
    transcript = reader.read(longer.write(path))
    assert (transcript.reset, transcript.cursor.off) == ("content_changed", 6)
    assert [turn.text for turn in reader.taken][-2:] == ["another session", "more"]


def test_a_retry_sees_the_same_turns_though_the_file_was_written_anew(tmp_path: Path) -> None:
    """H6: the end is a number of messages, so pretty-printing, new times and new messages do not move it."""
    path = tmp_path / "e.json"
    first = whole(chat().write(path))
    grown = chat().user("later").says("later answer", is_open=True)
    retry = ADAPTER.read(grown.write(path, indent=4), Cursor(), quiet=False, until=first.cursor.off)
    assert identity(retry.turns) == identity(first.turns)
    assert (retry.cursor.off, retry.dropped) == (first.cursor.off, first.dropped)
    for until in (0, 3):
        assert ADAPTER.read(path, first.cursor, quiet=True, until=until).cursor.off == first.cursor.off
    chat().forked(2).write(path)
    assert len(ADAPTER.read(path, Cursor(), quiet=False, until=first.cursor.off).turns) == 2


def test_messages_a_user_takes_back_and_restores_come_once(tmp_path: Path) -> None:
    """An undo hides them, a redo shows them again."""
    path, reader = tmp_path / "e.json", Reader()
    export = Export().user("one").says("two").user("three")
    export.info["revert"] = {"messageID": "msg_0002"}
    assert reader.new(export.write(path)) == [("user", "one"), ("assistant", "two")]
    export.info["revert"] = {"messageID": "msg_0001"}
    assert reader.new(export.write(path)) == []
    del export.info["revert"]
    assert reader.new(export.write(path)) == [("user", "three")]


def test_reading_changes_nothing_on_disk(tmp_path: Path) -> None:
    """I5: bytes, times and names stay."""
    path = chat().write_tree(tmp_path / "storage")
    before = {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*")}
    whole(path)
    assert {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*")} == before


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
names = st.sampled_from(
    ["info", "messages", "parts", "role", "content", "type", "text", "id", "time", "created", "completed", "revert",
     "messageID", "partID", "directory", "path", "cwd", "state", "metadata", "answers", "error", "summary", "agent"]
)  # fmt: skip
words = st.sampled_from(["user", "assistant", "text", "tool", "msg_0001", "prt_0001_0", "[redacted:x]"])
anything = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=tries(150), deadline=None)
@given(info=anything, message=anything, part=anything, rest=st.lists(anything, max_size=3))
def test_exports_of_any_shape_give_a_transcript_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, info: Any, message: Any, part: Any, rest: list[Any]
) -> None:
    """I6: right names with wrong things in them, in every place."""
    path = tmp_path_factory.getbasetemp() / "opencode_fuzz.json"
    export = chat().value()
    export["messages"][1]["parts"].append(part)
    export["messages"][2]["info"] |= message if isinstance(message, dict) else {"time": message}
    export["messages"] += rest
    export["info"] |= info if isinstance(info, dict) else {"revert": info}
    for value in (export, export["messages"], rest, {"info": info, "messages": message}):
        path.write_text(json.dumps(value))
        for quiet in (True, False):
            try:
                transcript = whole(path, quiet=quiet)
            except MexError:
                continue
            assert 0 <= transcript.cursor.resume <= transcript.cursor.off
            assert all(count > 0 for count in transcript.dropped.values())
            for turn in transcript.turns:
                assert turn.text.strip()
                "\n".join([turn.key, turn.text, turn.message_id or "", turn.session_id or "", turn.at or ""]).encode()
            assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)
