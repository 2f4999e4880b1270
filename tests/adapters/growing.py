"""A JSONL session that grows while it is read, as jobs read it: what the tests of every such format share."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from mex_pipeline.adapters.port import Adapter
from mex_pipeline.domain.conversation import CONTEXT_TURNS, Cursor, Transcript, Turn, settled

Quiet = Callable[[], bool]


def never() -> bool:
    """A file that is never at rest."""
    return False


def said(transcript: Transcript) -> list[tuple[str, str]]:
    """Who said what."""
    return [(turn.role, turn.text) for turn in transcript.turns]


def identity(turns: Iterable[Turn]) -> list[tuple[str, str]]:
    """What must be the same however a session was read."""
    return [(turn.key, turn.text) for turn in turns]


def check_retry(adapter: Adapter, path: Path, cursor: Cursor, transcript: Transcript) -> None:
    """A retry that is given the end of the first attempt sees the same turns and ends at the same place."""
    retry = adapter.read(path, cursor, quiet=False, until=transcript.cursor.off)
    assert identity(retry.turns) == identity(settled(transcript))
    assert not any(turn.held for turn in retry.turns)
    assert (retry.cursor.off, retry.cursor.resume) == (transcript.cursor.off, transcript.cursor.resume)


def follow(
    adapter: Adapter, path: Path, data: bytes, cuts: list[int], is_quiet: Quiet = never, *, rewinds: bool = False
) -> list[Turn]:
    """Read the file after each of its growth steps, as jobs would, and return the turns they extract.

    Where the person `rewinds`, what was said before is no context of what is said now.
    """
    cursor, seen, taken = Cursor(), set[str](), list[Turn]()
    for number, cut in enumerate([*cuts, len(data)]):
        path.write_bytes(data[:cut])
        transcript = adapter.read(path, cursor, quiet=number == len(cuts) or is_quiet())
        assert transcript.reset is None
        assert transcript.cursor.resume <= transcript.cursor.off <= cut
        assert transcript.cursor.off >= cursor.off
        context = [turn for turn in transcript.turns if turn.end <= cursor.off]
        assert rewinds or len(context) >= min(CONTEXT_TURNS, len(taken))
        assert {turn.key for turn in context} <= seen
        new = [turn for turn in settled(transcript) if turn.key not in seen]
        assert all(cursor.off < turn.end <= transcript.cursor.off for turn in new)
        assert all(turn.end > transcript.cursor.off for turn in transcript.turns if turn.held)
        check_retry(adapter, path, cursor, transcript)
        taken += new
        seen |= {turn.key for turn in new}
        cursor = Cursor.from_json(transcript.cursor.to_json())
    return taken


def one_pass(adapter: Adapter, path: Path, data: bytes) -> list[tuple[str, str]]:
    """The turns of the whole file, each key once."""
    path.write_bytes(data)
    turns = identity(adapter.read(path, Cursor(), quiet=True).turns)
    assert len({key for key, _ in turns}) == len(turns)
    return turns


def schedules(data: bytes, count: int, seed: int) -> list[list[int]]:
    """`count` random schedules of one to eight growth steps each, at any byte."""
    chance = random.Random(seed)
    return [sorted(chance.choices(range(len(data) + 1), k=chance.randint(1, 8))) for _ in range(count)]
