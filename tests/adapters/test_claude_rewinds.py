"""Rewinds in Claude Code: a branch that the person left is dropped, unless it was read before (session-formats §2, level 3)."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.adapters.claude_branches import Link, Tree
from mex_pipeline.domain.conversation import Cursor
from tests.adapters.claude_session import ADAPTER, Session, Talk, whole
from tests.adapters.growing import follow, identity, schedules
from tests.support.extent import tries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def prompts(session: Session, path: Path) -> list[str]:
    return [turn.text for turn in whole(session.write(path)).turns if turn.role == "user"]


def begun() -> Talk:
    """Two prompts with their answers, the second hanging on the system record before it."""
    session = Talk()
    session.ask("one")
    session.ask("two")
    return session


def test_a_branch_that_was_left_gives_no_turns(path: Path) -> None:
    """The prompts on it, the answers and the words that stand elsewhere, each counted."""
    session = begun()
    fork = session.leaf
    session.ask("wrong")
    session.user("<command-name>/x</command-name><command-args>wrong too</command-args>")
    session.queued("wrong as well")
    session.leaf = fork
    session.ask("right")
    transcript = whole(session.write(path))
    assert [turn.text for turn in transcript.turns] == ["one", "re: one", "two", "re: two", "right", "re: right"]
    assert transcript.dropped == {"system": 4, "abandoned_branch": 4}


def test_a_prompt_taken_back_before_any_answer_counts_as_edited(path: Path) -> None:
    """Escape puts it into the editor again: the next prompt hangs where it hung."""
    session = begun()
    for text in ("I move to Shang", "I move to Shanghai", "I move to Shanghai in May"):
        parent = session.leaf
        session.user(text)
        session.leaf = parent
    assert prompts(session, path) == ["one", "two", "I move to Shanghai in May"]


def test_going_back_twice_leaves_both_branches(path: Path) -> None:
    """To the same place, and to one before it."""
    session = begun()
    early = session.leaf
    session.ask("three")
    late = session.leaf
    for text in ("four", "four again", "four at last"):
        session.leaf = late
        session.ask(text)
    assert prompts(session, path) == ["one", "two", "three", "four at last"]
    session.leaf = early
    session.ask("three again")
    assert prompts(session, path) == ["one", "two", "three again"]


def test_a_branch_hangs_on_through_a_compaction(path: Path) -> None:
    """`logicalParentUuid` joins what follows a boundary to what was before it."""
    session = begun()
    fork = session.leaf
    session.ask("wrong")
    boundary = session.record("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=session.leaf)
    session.leaf = boundary["uuid"]
    session.user("NOISE", isCompactSummary=True)
    session.ask("wrong behind the boundary")
    session.leaf = fork
    session.ask("right")
    assert prompts(session, path) == ["one", "two", "right"]


def test_what_is_said_on_a_branch_that_is_taken_up_again_stays(path: Path) -> None:
    """What was left is left, but nothing behind the rewind is."""
    session = begun()
    fork = session.leaf
    session.ask("left")
    old = session.leaf
    session.leaf = fork
    session.ask("right")
    session.leaf = old
    session.ask("taken up again")
    assert prompts(session, path) == ["one", "two", "right", "taken up again"]


def test_siblings_that_are_no_prompts_leave_nothing(path: Path) -> None:
    """Results of parallel tools, interruptions, refusals and side chains hang where they like."""
    session = begun()
    call = session.assistant("p", {"type": "tool_use", "id": "a"}, {"type": "tool_use", "id": "b"})["uuid"]
    refused = "tool use was rejected. To tell you how to proceed, the user said:\nuse tabs"
    session.user([{"type": "tool_result", "content": refused, "is_error": True}], parentUuid=call)
    for words in ("slowly", "twice"):
        session.user([{"type": "tool_result", "content": "NOISE"}, {"type": "text", "text": words}], parentUuid=call)
    session.user("[Request interrupted by user]", parentUuid=call)
    session.user("NOISE", parentUuid=call, isSidechain=True)
    session.leaf = call
    session.ask("three")
    session.user("NOISE", parentUuid=call, isSidechain=True)
    assert prompts(session, path) == ["one", "two", "use tabs", "slowly", "twice", "three"]


def test_prompts_without_parent_are_no_siblings(path: Path) -> None:
    """Merged copies and old clients begin several times."""
    session = Talk()
    for text in ("one", "two", "three"):
        session.leaf = None
        session.ask(text)
    assert prompts(session, path) == ["one", "two", "three"]


def test_a_tree_that_cannot_be_trusted_is_taken_whole(path: Path) -> None:
    """Failing open: a path back that has fewer than half of the prompts, or ends before the beginning."""
    session = Talk()
    session.record("system", subtype="x")
    fork = session.leaf
    for number in range(6):
        session.ask(f"old {number}")
    session.leaf = fork
    session.ask("new")
    assert len(prompts(session, path)) == 7
    session = begun()
    for text in ("three", "four"):
        session.leaf = "never written"
        session.ask(text)
    assert prompts(session, path) == ["one", "two", "three", "four"]


def test_history_copied_again_is_no_rewind(path: Path) -> None:
    """A merge after a resume repeats records under their old ids."""
    session = begun()
    session.ask("three")
    session.lines += session.lines[3:7]
    session.ask("four")
    assert prompts(session, path) == ["one", "two", "three", "four"]


def test_what_was_read_before_the_rewind_stays_and_the_rest_of_the_branch_goes(path: Path) -> None:
    """The reading that sees the rewind looks up where the branch hangs, though that is before its window."""
    session = begun()
    session.ask("three")
    fork = session.leaf
    session.ask("left")
    first = whole(session.write(path))
    session.ask("left, not read")
    session.leaf = fork
    session.ask("right")
    second = ADAPTER.read(session.write(path), first.cursor, quiet=True)
    new = [turn.text for turn in second.turns if turn.end > first.cursor.off]
    assert first.turns[-2].text == "left"
    assert new == ["right", "re: right"]
    assert second.dropped["abandoned_branch"] == 2
    assert [turn.text for turn in second.turns] == new, "what was left is no context either"
    third = ADAPTER.read(path, second.cursor, quiet=True)
    assert [turn.text for turn in third.turns] == new


def wandering(seed: int) -> Talk:
    """A session that goes back at random, with answers, commands, queued messages and compactions."""
    chance = random.Random(seed)
    session = Talk(f"w{seed}")
    session.record("system", subtype="init")
    forks = [session.leaf]
    for number in range(16):
        if chance.random() < 0.25:
            session.leaf = chance.choice(forks[-4:])
        match chance.randrange(6):
            case 0:
                session.user(f"<command-name>/x</command-name><command-args>args {number}</command-args>")
            case 1:
                session.queued(f"queued {number}")
            case 2:
                session.queue("enqueue", f"removed {number}")
                session.queue("remove")
            case 3 if chance.random() < 0.3:
                boundary = session.record("system", parentUuid=None, logicalParentUuid=session.leaf)
                session.leaf = boundary["uuid"]
            case _:
                session.ask(f"prompt {number}")
        forks.append(session.leaf)
    return session


def without_tree(session: Session) -> bytes:
    """The same session as if nothing hung on anything: level 2 of it."""
    values = [json.loads(line) for line in session.lines]
    lines = [json.dumps({**value, "parentUuid": None, "logicalParentUuid": None}).encode() for value in values]
    return b"\n".join(lines) + b"\n"


def keys(path: Path, data: bytes) -> list[str]:
    """The keys of the turns that one pass over a file gives."""
    path.write_bytes(data)
    return [turn.key for turn in whole(path).turns]


def test_i1_growth_gives_one_pass_and_only_what_was_read_before_its_rewind_besides(path: Path) -> None:
    """Over two schedules of each of some random sessions.

    Every turn of one pass over the whole is given once, and all in the order of the file. A turn beyond these was
    valid at one of the readings: one pass over the file as it was then gives it.
    """
    beyond = 0
    for seed in range(tries(100)):
        session = wandering(seed)
        data = session.data()
        final, order = keys(path, data), keys(path, without_tree(session))
        assert set(final) <= set(order)
        for cuts in schedules(data, 2, seed):
            taken = [turn.key for turn in follow(ADAPTER, path, data, cuts, rewinds=True)]
            assert taken == [key for key in order if key in set(taken)]
            assert [key for key in taken if key in set(final)] == final
            if extra := set(taken) - set(final):
                beyond += 1
                assert extra <= {key for cut in cuts for key in keys(path, data[:cut])}, seed
    assert beyond > tries(20)


ids = st.sampled_from("abcdefgh")
trees = st.lists(st.builds(Link, ids, st.none() | ids | st.just("?"), st.just(0), st.booleans()), max_size=14).map(
    lambda links: [link._replace(start=number) for number, link in enumerate(links)]
)


def left(links: list[Link]) -> dict[str, int]:
    """All that was left after these records, with where that ends."""
    tree = Tree()
    for link in links:
        tree.follow(link)
    return tree.left(link.uuid for link in links)


@settings(max_examples=tries(500), deadline=None)
@given(tree=trees)
def test_nothing_written_later_takes_up_what_was_left(tree: list[Link]) -> None:
    """The ground of I1: whatever hangs on what, in any order and in circles, the part that is left only grows."""
    before: dict[str, int] = {}
    for count in range(len(tree) + 1):
        now = left(tree[:count])
        assert all(end <= now.get(uuid, 0) for uuid, end in before.items())
        assert all(end < count for end in now.values())
        before = now


def test_a_hostile_tree_takes_no_longer_than_its_size(path: Path) -> None:
    """A long chain, and as many siblings at its end, each of which goes back."""
    links = [Link(f"c{n}", f"c{n - 1}" if n else None, n, is_prompt=True) for n in range(60_000)]
    links += [Link(f"s{n}", "c59998", 60_000 + n, is_prompt=True) for n in range(59_000)]
    found = left(links)
    assert found["c59999"] == found["s0"] == 118_999
    assert len(found) == 59_000


def test_a_session_without_rewinds_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking up the whole tree is for the reading that meets a rewind."""
    session = begun()
    cursor = whole(session.write(path)).cursor
    session.ask("three")
    session.write(path)
    monkeypatch.setattr(Tree, "left", lambda tree, uuids: pytest.fail("looked up"))
    assert identity(ADAPTER.read(path, cursor, quiet=True).turns)[-2][1] == "three"
    assert len(ADAPTER.read(path, Cursor(), quiet=True).turns) == 6
