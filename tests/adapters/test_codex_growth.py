"""A Codex rollout that grows while it is read: any schedule of reads gives what one pass over the whole gives."""

import random
from pathlib import Path

import pytest

from mex_pipeline.domain.conversation import settled
from tests.adapters.codex_session import ADAPTER, STYLES, Rollout, chat, whole, wild
from tests.adapters.corpus import CORPUS, needs_corpus
from tests.adapters.growing import follow, identity, one_pass, schedules
from tests.support.extent import tries

REAL = [CORPUS / "sessions" / "cx01-three-turns.jsonl", CORPUS / "real-clients" / "codex-0.171.0-rollout.jsonl"]


def hand_made() -> dict[str, bytes]:
    made = {f"{kind.__name__}-{style}": kind(style).data() for kind in (chat, wild) for style in STYLES}
    return made | {"wild-crlf-bom": b"\xef\xbb\xbf" + wild().data(b"\r\n", last_newline=False)}


@pytest.mark.parametrize(("name", "data"), hand_made().items(), ids=hand_made())
def test_any_growth_schedule_of_a_rollout_gives_what_one_pass_gives(tmp_path: Path, name: str, data: bytes) -> None:
    """I1: the same turns in the same order, each exactly once; with hold-back and without, whatever the version."""
    path = tmp_path / "s.jsonl"
    expected = one_pass(ADAPTER, path, data)
    assert len(expected) > 7
    for seed, cuts in enumerate(schedules(data, tries(25), seed=len(data))):
        chance = random.Random(seed)
        assert identity(follow(ADAPTER, path, data, cuts)) == expected, cuts
        assert identity(follow(ADAPTER, path, data, cuts, lambda: chance.random() < 0.5)) == expected, cuts  # noqa: B023


@pytest.mark.parametrize("style", STYLES)
def test_a_rollout_that_grows_by_single_bytes_gives_what_one_pass_gives(tmp_path: Path, style: str) -> None:
    """No cut is special: every byte position is a stop."""
    rollout = Rollout("tiny", style)
    rollout.exchange("短", "好")
    rollout.exchange("x", "y")
    data = rollout.data()
    path = tmp_path / "s.jsonl"
    cuts = list(range(0, len(data), 3))
    assert identity(follow(ADAPTER, path, data, cuts)) == one_pass(ADAPTER, path, data)


@needs_corpus
@pytest.mark.parametrize("source", REAL, ids=lambda path: path.stem)
def test_any_growth_schedule_of_a_real_rollout_gives_what_one_pass_gives(tmp_path: Path, source: Path) -> None:
    """I1 over the Codex files of the corpus."""
    data = source.read_bytes()
    path = tmp_path / "s.jsonl"
    expected = one_pass(ADAPTER, path, data)
    for cuts in schedules(data, tries(30), seed=len(data)):
        assert identity(follow(ADAPTER, path, data, cuts)) == expected, cuts


def test_what_a_task_says_is_held_until_it_ends(tmp_path: Path) -> None:
    """§4: final with task_complete, turn_aborted or another prompt; the cursor stays before it until then."""
    path = tmp_path / "s.jsonl"
    rollout = Rollout()
    rollout.begin()
    rollout.prompt("first")
    rollout.says("one")
    transcript = whole(rollout.write(path), quiet=False)
    assert [turn.held for turn in transcript.turns] == [True, True]
    assert transcript.cursor.off < transcript.turns[0].end
    rollout.prompt("second")
    rollout.says("two")
    transcript = whole(rollout.write(path), quiet=False)
    assert [turn.text for turn in settled(transcript)] == ["first", "one"]
    rollout.abort()
    assert not any(turn.held for turn in whole(rollout.write(path), quiet=False).turns)
    rollout.exchange("third", "three")
    transcript = whole(rollout.write(path), quiet=False)
    assert not any(turn.held for turn in transcript.turns)
    assert transcript.cursor.off == path.stat().st_size


def test_a_key_does_not_depend_on_where_reading_began(tmp_path: Path) -> None:
    """Equal words in one task are counted from its beginning, also when a later read begins in the middle."""
    path = tmp_path / "s.jsonl"
    data = chat().data()
    expected = one_pass(ADAPTER, path, data)
    for end in (turn.end for turn in whole(path).turns):
        path.write_bytes(data[:end])
        cursor = whole(path).cursor
        path.write_bytes(data)
        later = identity(ADAPTER.read(path, cursor, quiet=True).turns)
        assert later == expected[-len(later) :]


def test_a_long_session_is_read_on_from_its_last_task(tmp_path: Path) -> None:
    """What was read is not read again, however long the session is."""
    rollout = Rollout()
    for number in range(50):
        rollout.exchange(f"prompt {number}", "a", "b")
    path = rollout.write(tmp_path / "s.jsonl")
    assert whole(path).cursor.resume > path.stat().st_size * 0.95
