"""A session that grows in the client's database: each turn comes once, whole and in order, whenever it is read."""

import random
from pathlib import Path

import pytest

from mex_pipeline.domain.conversation import Cursor, Turn, settled
from tests.adapters.growing import identity
from tests.adapters.opencode_session import ADAPTER, START, Export, chat, of, rich, steps, store, text, write
from tests.support.extent import tries


class Reader:
    """Reads a session as jobs do: a cursor, and the keys of what was extracted."""

    def __init__(self) -> None:
        self.cursor = Cursor()
        self.taken: list[Turn] = []

    def read(self, path: Path, *, quiet: bool) -> None:
        transcript = ADAPTER.read_session(path, "ses_1", self.cursor, quiet=quiet)
        retry = ADAPTER.read_session(path, "ses_1", self.cursor, quiet=False, until=transcript.cursor.off)
        assert identity(retry.turns) == identity(settled(transcript))
        assert retry.cursor.off == transcript.cursor.off >= self.cursor.off
        seen = {turn.key for turn in self.taken}
        self.taken += [turn for turn in settled(transcript) if turn.key not in seen]
        self.cursor = Cursor.from_json(transcript.cursor.to_json())


@pytest.mark.parametrize("seed", range(4))
def test_any_schedule_of_reads_gives_what_one_pass_gives(tmp_path: Path, seed: int) -> None:
    """I1: random schedules of the client's inserts and updates, read in between; no turn lost, doubled, cut or moved."""
    chance = random.Random(seed)
    path = store(tmp_path / "o.db", mode="delete")
    expected = identity(of(store(tmp_path / "whole.db", rich())).turns)
    changes = late_answer(rich())
    for _ in range(tries(60)):
        write(path, *((f"DELETE FROM {table}", ()) for table in ("session", "message", "part")))
        reader, done = Reader(), 0
        write(path, changes[0])
        for cut in sorted(chance.choices(range(1, len(changes)), k=chance.randrange(1, 9))):
            write(path, *changes[max(done, 1) : cut])
            done = cut
            reader.read(path, quiet=False)
        write(path, *changes[max(done, 1) :])
        reader.read(path, quiet=False)
        reader.read(path, quiet=True)
        assert identity(reader.taken) == expected


def late_answer(export: Export) -> list[tuple[str, tuple[object, ...]]]:
    """The steps of a session, with the answer that the user talked into completed after those words."""
    found = list(steps(export))
    complete = next(step for step in found if step[0].startswith("UPDATE message") and step[1][-1] == "msg_0006")
    found.remove(complete)
    after = max(number for number, step in enumerate(found) if step[1][1] == "msg_0007")
    found.insert(after + 1, complete)
    return found


def test_the_users_last_words_wait_for_their_other_parts(tmp_path: Path) -> None:
    """The client writes a message before its parts; what follows it, or a while, says that it is whole."""
    path, changes = store(tmp_path / "o.db"), list(steps(Export().user("one", "two").says("three")))
    write(path, *changes[:3])
    assert [(turn.text, turn.held) for turn in of(path, quiet=False).turns] == [("one", True)]
    write(path, changes[3])
    assert [(turn.text, turn.held) for turn in of(path, quiet=False).turns] == [("one\ntwo", True)]
    assert not of(path).turns[0].held
    write(path, *changes[4:])
    assert not any(turn.held for turn in of(path, quiet=False).turns)


def test_an_answer_that_is_being_made_is_held_with_what_was_said_meanwhile(tmp_path: Path) -> None:
    """Else the user's words would be taken before those they follow; a later answer says that it ended long ago."""
    export = Export().user("one").says("half", is_open=True).user("meanwhile")
    path = store(tmp_path / "o.db", export)
    transcript = of(path, quiet=False)
    assert [turn.held for turn in transcript.turns] == [False, True, True]
    assert transcript.cursor.off == 1
    path.unlink()
    path = store(path, export.says("after").user("next").says("last"))
    transcript = of(path, quiet=False)
    assert [turn.text for turn in transcript.turns] == ["one", "meanwhile", "after", "next", "last"]
    assert not any(turn.held for turn in transcript.turns)
    assert transcript.dropped["unfinished"] == 1


def test_a_fork_in_the_same_database_brings_only_what_is_new(tmp_path: Path) -> None:
    """It copies messages under new ids and keeps their times."""
    fork = chat().forked(3)
    fork.message("user", text("only in the fork"), time={"created": START + 50_000})
    fork.messages[-1]["info"]["id"] = fork.messages[-1]["parts"][0]["messageID"] = "msg_fork_new"
    fork.messages[-1]["parts"][0]["id"] = "prt_fork_new"
    path = store(tmp_path / "o.db", chat(), fork)
    known = {turn.key for turn in of(path).turns}
    assert [turn.text for turn in of(path, "ses_fork").turns if turn.key not in known] == ["only in the fork"]
