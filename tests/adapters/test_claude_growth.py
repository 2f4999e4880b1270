"""A session that grows while it is read: any schedule of reads gives what one pass over the whole gives."""

import json
import random
from pathlib import Path

import pytest

from tests.adapters.claude_session import ADAPTER, Session, Talk, chat, whole, wild
from tests.adapters.corpus import CORPUS, claude_files, needs_corpus
from tests.adapters.growing import check_retry, follow, identity, one_pass, schedules
from tests.support.extent import tries


def hand_made() -> list[tuple[str, bytes]]:
    crlf = b"\xef\xbb\xbf" + wild().data(b"\r\n", last_newline=False)
    return [("chat", chat().data()), ("wild", wild().data()), ("wild-crlf-bom", crlf)]


@pytest.mark.parametrize(("name", "data"), hand_made(), ids=[name for name, _ in hand_made()])
def test_any_growth_schedule_gives_what_one_pass_gives(tmp_path: Path, name: str, data: bytes) -> None:
    """I1: the same turns in the same order, each exactly once; with hold-back and without."""
    path = tmp_path / "s.jsonl"
    expected = one_pass(ADAPTER, path, data)
    assert len(expected) > 7
    for seed, cuts in enumerate(schedules(data, tries(120), seed=len(data))):
        chance = random.Random(seed)
        assert identity(follow(ADAPTER, path, data, cuts)) == expected, cuts
        assert identity(follow(ADAPTER, path, data, cuts, lambda: chance.random() < 0.5)) == expected, cuts  # noqa: B023


def test_growth_by_single_bytes_gives_what_one_pass_gives(tmp_path: Path) -> None:
    """No cut is special: every byte position is a stop."""
    session = Session("tiny")
    session.user("短")
    session.says("t1", "好")
    session.user([{"type": "text", "text": "x"}])
    session.says("t2", "y")
    data = session.data()
    path = tmp_path / "s.jsonl"
    assert identity(follow(ADAPTER, path, data, list(range(len(data))))) == one_pass(ADAPTER, path, data)


@needs_corpus
@pytest.mark.parametrize("source", claude_files(), ids=lambda path: path.stem)
def test_any_growth_schedule_of_a_real_session_gives_what_one_pass_gives(tmp_path: Path, source: Path) -> None:
    """I1 over every Claude file of the corpus, some schedules each."""
    data = source.read_bytes()
    path = tmp_path / "s.jsonl"
    expected = one_pass(ADAPTER, path, data)
    for cuts in schedules(data, tries(30), seed=len(data)):
        assert identity(follow(ADAPTER, path, data, cuts)) == expected, cuts


def after(first: Path, second: Path) -> list[tuple[str, str]]:
    """What is new in the second file for one who has seen the first."""
    seen = {turn.key for turn in whole(first).turns}
    return [(turn.role, turn.text) for turn in whole(second).turns if turn.key not in seen]


@needs_corpus
def test_a_resumed_copy_brings_only_what_is_new() -> None:
    """cc02 repeats cc01 under another session id and another shape of content."""
    folder = CORPUS / "sessions"
    new = after(folder / "cc01-first-session.jsonl", folder / "cc02-resumed-copy-of-cc01.jsonl")
    assert [role for role, _ in new] == ["user", "assistant"]
    assert new[0][1] == "run ls tool"


@needs_corpus
def test_an_appended_session_goes_on_where_it_was_left(tmp_path: Path) -> None:
    """cc14 begins with cc13 byte for byte, which ends without a newline."""
    folder, path = CORPUS / "sessions", tmp_path / "s.jsonl"
    path.write_bytes((folder / "cc13-append-stage1.jsonl").read_bytes())
    first = whole(path)
    assert first.cursor.off == path.stat().st_size
    path.write_bytes((folder / "cc14-append-stage2.jsonl").read_bytes())
    second = ADAPTER.read(path, first.cursor, quiet=True)
    assert second.reset is None
    new = [turn for turn in second.turns if turn.end > first.cursor.off]
    assert [turn.kind for turn in new if turn.role == "user"] == ["typed", "tool_answer", "typed"]
    assert identity(list(first.turns) + new) == identity(whole(path).turns)


def test_a_forked_copy_brings_only_what_is_new(tmp_path: Path) -> None:
    """A fork rewrites session id, folder and the shape of a prompt, and appends."""
    chat().write(tmp_path / "parent.jsonl")
    fork = chat()
    prompt = json.loads(fork.lines[1])
    prompt["message"]["content"] = [{"type": "text", "text": prompt["message"]["content"]}]
    fork.lines[1] = json.dumps(prompt).encode()
    fork.lines = [line.replace(b"session-chat", b"session-fork") for line in fork.lines]
    fork.user("only in the fork")
    assert after(tmp_path / "parent.jsonl", fork.write(tmp_path / "fork.jsonl")) == [("user", "only in the fork")]


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_fork_that_leaves_the_queue_records_behind_brings_only_what_is_new(tmp_path: Path, has_ids: bool) -> None:
    """As 2.1.332 forks: the new message is queued before the copied history, which has its attachments alone."""
    parent = Talk("parent")
    parent.ask("one")
    parent.queue("enqueue", "meanwhile")
    parent.queue("remove", "meanwhile", **({"reason": "absorbed_mid_turn", "commandUuid": "m"} if has_ids else {}))
    if has_ids:
        parent.queued("meanwhile", source="m")
    parent.ask("two")
    fork = Talk("fork")
    fork.queue("enqueue", "only in the fork")
    fork.queue("dequeue")
    fork.lines += [line for line in parent.lines if b"queue-operation" not in line]
    fork.leaf = parent.leaf
    fork.ask("only in the fork")
    new = after(parent.write(tmp_path / "parent.jsonl"), fork.write(tmp_path / "fork.jsonl"))
    assert new == [("user", "only in the fork"), ("assistant", "re: only in the fork")]


def test_a_retry_sees_the_same_turns_though_the_file_has_grown(tmp_path: Path) -> None:
    """H6: `until` is what the first attempt returned; the rest is left to a follow-up job."""
    path = tmp_path / "s.jsonl"
    data = wild().data()
    path.write_bytes(data)
    cursor = whole(path).cursor
    path.write_bytes(data + chat().data()[:-20])
    first = ADAPTER.read(path, cursor, quiet=False)
    assert first.cursor.off < path.stat().st_size
    path.write_bytes(data + chat().data() + b"rubbish\n")
    check_retry(ADAPTER, path, cursor, first)
    assert ADAPTER.read(path, cursor, quiet=True, until=first.cursor.off).dropped == first.dropped


def test_an_end_before_the_old_position_moves_nothing(tmp_path: Path) -> None:
    """The cursor never goes back."""
    path = wild().write(tmp_path / "s.jsonl")
    cursor = whole(path).cursor
    for until in (0, cursor.resume, cursor.off - 1):
        assert ADAPTER.read(path, cursor, quiet=True, until=until).cursor.off == cursor.off
