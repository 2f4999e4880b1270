"""A session is read while its agent writes it, two hundred times at random moments: the same turns as one pass."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.port import Adapter, SessionStore
from mex_pipeline.domain.conversation import Cursor, Transcript, settled
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable
from mex_pipeline.services.transcripts import read
from tests.adapters import claude_session, codex_session, gemini_session, opencode_session, workbuddy_session

READS = 200
_WRITER = """
import json, random, sqlite3, sys, time
target, plan, seed = sys.argv[1:]
dice = random.Random(seed)
steps = json.load(open(plan, encoding="utf-8"))
print("writing", flush=True)
if steps["how"] == "rows":
    database = sqlite3.connect(target, isolation_level=None)
    for statement, values in steps["pieces"]:
        database.execute(statement, values)
        time.sleep(dice.random() * steps["pause"])
elif steps["how"] == "append":
    with open(target, "ab", buffering=0) as file:
        for piece in steps["pieces"]:
            file.write(piece.encode("latin-1"))
            time.sleep(dice.random() * steps["pause"])
else:
    for piece in steps["pieces"]:
        with open(target, "wb", buffering=0) as file:
            for start in range(0, len(piece), 4096):
                file.write(piece[start : start + 4096].encode("latin-1"))
        time.sleep(dice.random() * steps["pause"])
"""
"""An agent: it appends bytes in pieces, writes its file anew each time, or writes rows of a database."""


@dataclass(frozen=True)
class Life:
    """How one format's session comes to be: `pieces` are bytes as latin-1 text, or (statement, values)."""

    adapter: str
    how: str
    pieces: list[Any]
    session: str | None = None
    prepare: Callable[[Path], object] = Path.touch


def appended(adapter: str, data: bytes, dice: random.Random) -> Life:
    cuts = sorted(dice.sample(range(1, len(data)), 300))
    ends = [*cuts, len(data)]
    pieces = [data[start:end].decode("latin-1") for start, end in zip([0, *cuts], ends, strict=True)]
    return Life(adapter, "append", pieces)


def claude(dice: random.Random) -> Life:
    return appended("claude", claude_session.chat().data() + claude_session.wild().data(), dice)


def codex(dice: random.Random) -> Life:
    return appended("codex", codex_session.wild().data(), dice)


def workbuddy(dice: random.Random) -> Life:
    return appended("workbuddy", workbuddy_session.wild().data(), dice)


def gemini_journal(dice: random.Random) -> Life:
    return appended("gemini", gemini_session.chat().data(), dice)


def gemini_document(dice: random.Random) -> Life:
    """The whole file anew for each message, so that it is often cut short in the middle."""
    journal = gemini_session.Journal("d1")
    for number in range(60):
        journal.user(f"第 {number} 句话 " + "x" * 40)
        journal.says(f"answer {number} " + "y" * 200)
    count = len(journal.messages)
    pieces = [gemini_session.as_document(journal, upto).decode("latin-1") for upto in range(1, count + 1)]
    return Life("gemini", "rewrite", pieces)


def opencode(dice: random.Random) -> Life:
    export = opencode_session.Export("ses_1")
    for number in range(40):
        export.user(f"第 {number} 句话").says(f"answer {number}")
    rows = [(statement, list(values)) for statement, values in opencode_session.steps(export)]
    return Life("opencode", "rows", rows, "ses_1", opencode_session.store)


class Reader:
    """Reads on from where it stopped, as jobs do: by cursor, and by the messages already seen."""

    def __init__(self, key: SourceKey, adapter: Adapter) -> None:
        self._key = key
        self._adapter = adapter
        self._cursor = Cursor()
        self.turns: dict[str, tuple[str, str]] = {}
        self.reads = 0

    def look(self, *, quiet: bool = False) -> None:
        """Take what is new and settled; a file that is being written anew just now is read the next time."""
        try:
            transcript = self._read(quiet_seconds=-1e9 if quiet else 1e9)
        except (SourceUnreadable, SourceFormat, SourceGone):  # not there yet, or half written
            assert not quiet
            return
        for turn in settled(transcript):
            self.turns.setdefault(turn.key, (turn.role, turn.text))
        self._cursor = transcript.cursor
        self.reads += 1

    def _read(self, quiet_seconds: float) -> Transcript:
        return read(self._key, self._adapter, self._cursor, quiet_seconds=quiet_seconds)


@pytest.mark.parametrize("made", [claude, codex, workbuddy, gemini_journal, gemini_document, opencode])
def test_reading_a_session_while_it_is_written_gives_the_turns_of_one_pass(
    made: Callable[[random.Random], Life], tmp_path: Path
) -> None:
    life = made(random.Random(7))
    path = tmp_path / "session"
    life.prepare(path)
    adapter = registry.find(life.adapter)
    is_store = isinstance(adapter, SessionStore) and life.session is not None
    key = SourceKey(path, life.session if is_store else None)
    reader = Reader(key, adapter)
    during = 0
    with writing(life, path, tmp_path) as is_over:
        dice = random.Random(8)
        while reader.reads < READS:
            time.sleep(dice.random() * 0.008)
            during += not is_over()
            reader.look()
    reader.look(quiet=True)
    whole = read(key, adapter, Cursor(), quiet_seconds=-1e9)
    expected = {turn.key: (turn.role, turn.text) for turn in whole.turns}
    assert reader.turns == expected
    assert list(reader.turns) == list(expected), "in the order they were said"
    assert len(expected) > 5
    assert during > READS / 4, "most looks fell into the writing"


class writing:  # noqa: N801 - reads as what it does
    """The agent at work, until the block ends and it has written everything."""

    def __init__(self, life: Life, path: Path, folder: Path) -> None:
        plan = folder / "plan.json"
        pause = 2.0 / max(1, len(life.pieces))
        plan.write_text(json.dumps({"how": life.how, "pieces": life.pieces, "pause": pause}), encoding="utf-8")
        command = [sys.executable, "-c", _WRITER, str(path), str(plan), "9"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Callable[[], bool]:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            said.readline()
        return lambda: self._process.poll() is not None

    def __exit__(self, *_: object) -> None:
        assert self._process.wait(timeout=60) == 0


def test_every_format_that_grows_is_read_so() -> None:
    """A new adapter of sessions on this machine has to prove itself here."""
    from mex_pipeline.adapters.port import Local

    growing = {adapter.name for adapter in registry.every() if isinstance(adapter, Local)}
    assert growing - {"codebuddy"} == set(lives())


def lives() -> Iterator[str]:
    for made in (claude, codex, workbuddy, gemini_journal, opencode):
        yield made(random.Random(7)).adapter
