"""Gemini sessions that grow while they are read, and those of the shared corpus against its truth."""

import json
import random
from pathlib import Path

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.domain.conversation import Cursor, Turn, settled
from tests.adapters.corpus import CORPUS, needs_corpus, sha, truth
from tests.adapters.gemini_session import ADAPTER, Journal, as_document, chat, whole
from tests.adapters.growing import identity
from tests.support.extent import tries

REAL = CORPUS / "real-clients" / "gemini-cli-0.61.0.jsonl"
SESSIONS = CORPUS / "sessions"


def long_chat() -> Journal:
    """A chat in three processes with a failed request."""
    journal = chat()
    before = list(journal.messages.values())
    journal.user("这句话没有回答")
    journal.send(before)
    journal.start()
    journal.user("again")
    journal.tool("looking")
    journal.says("done")
    return journal


def follow(path: Path, states: list[bytes], quiet: list[bool]) -> list[Turn]:
    """Read the file in each of its states, as jobs would, and return the turns they extract."""
    cursor, seen, taken = Cursor(), set[str](), list[Turn]()
    for data, is_quiet in zip(states, quiet, strict=True):
        path.write_bytes(data)
        transcript = ADAPTER.read(path, cursor, quiet=is_quiet)
        assert transcript.reset is None
        assert transcript.cursor.off >= cursor.off
        new = [turn for turn in settled(transcript) if turn.key not in seen]
        assert all(cursor.off < turn.end <= transcript.cursor.off for turn in new)
        assert all(turn.end > transcript.cursor.off for turn in transcript.turns if turn.held)
        retry = ADAPTER.read(path, cursor, quiet=False, until=transcript.cursor.off)
        assert identity(retry.turns) == identity(settled(transcript))
        assert retry.cursor.off == transcript.cursor.off
        taken += new
        seen |= {turn.key for turn in new}
        cursor = Cursor.from_json(transcript.cursor.to_json())
    return taken


def cuts(data: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    stops = sorted(chance.choices(range(len(data) + 1), k=chance.randint(1, 8)))
    return [data[:stop] for stop in stops] + [data]


def quiet_at_the_end(states: list[bytes], seed: int, share: float) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() < share for _ in states[1:]] + [True]


@pytest.mark.parametrize("form", ["plain", "crlf-bom"])
def test_any_growth_of_a_journal_gives_what_one_pass_gives(tmp_path: Path, form: str) -> None:
    """I1: the same turns in the same order, each exactly once, with hold-back and without."""
    data = long_chat().data() if form == "plain" else b"\xef\xbb\xbf" + long_chat().data(b"\r\n", last_newline=False)
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    expected = identity(whole(path).turns)
    assert len(expected) == 13
    for seed in range(tries(110)):
        states = cuts(data, seed)
        assert identity(follow(path, states, quiet_at_the_end(states, seed, seed % 2 / 2))) == expected, seed


def test_any_growth_of_a_document_gives_what_one_pass_gives(tmp_path: Path) -> None:
    """I1: it is written anew with more messages each time; an old message gains tool calls in place."""
    journal, path = chat(), tmp_path / "s.json"
    path.write_bytes(as_document(journal))
    expected = identity(whole(path).turns)
    count = len(journal.messages)
    for seed in range(tries(110)):
        chance = random.Random(seed)
        counts = [*sorted(chance.choices(range(count + 1), k=chance.randint(1, 8))), count]
        states = [as_document(journal, one, indent=chance.choice([None, 2])) for one in counts]
        assert identity(follow(path, states, quiet_at_the_end(states, seed, seed % 2 / 2))) == expected, seed


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("sessions") if name.startswith("gm")])
def test_a_real_document_gives_the_turns_of_the_truth(name: str) -> None:
    """I3, I4: human turns and the model's texts in order, and nothing that must not appear."""
    expected = truth("sessions")[name]
    transcript = whole(SESSIONS / name)
    for role in ("user", "assistant"):
        texts = [turn.text for turn in transcript.turns if turn.role == role]
        assert [sha(text) for text in texts] == [entry["sha"] for entry in expected[role]]
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)


@needs_corpus
def test_a_session_of_the_real_client_gives_its_turns() -> None:
    """Prompts equal, answers among the turns, injected context absent."""
    expected = truth("real-clients")[REAL.name]
    transcript = whole(REAL)
    assert [turn.text for turn in transcript.turns if turn.role == "user"] == expected["user"]
    answers = [turn.text for turn in transcript.turns if turn.role == "assistant"]
    assert set(expected["assistant_includes"]) <= set(answers)
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert not {"unknown_type", "unknown_block", "bad_line"} & transcript.dropped.keys()


@needs_corpus
def test_any_growth_of_a_real_journal_gives_what_one_pass_gives(tmp_path: Path) -> None:
    """I1 over the session of the real client, which was resumed four times."""
    data, path = REAL.read_bytes(), tmp_path / "s.jsonl"
    expected = identity(whole(REAL).turns)
    for seed in range(30):
        states = cuts(data, seed)
        assert identity(follow(path, states, quiet_at_the_end(states, seed, 0.3))) == expected, seed


@needs_corpus
def test_the_second_stage_of_a_real_document_brings_only_what_is_new(tmp_path: Path) -> None:
    """Between the stages an old message gained tool calls in place."""
    path = tmp_path / "s.json"
    path.write_bytes((SESSIONS / "gm01-stage1.json").read_bytes())
    first = whole(path)
    path.write_bytes((SESSIONS / "gm02-stage2.json").read_bytes())
    second = ADAPTER.read(path, first.cursor, quiet=True)
    assert second.reset is None
    assert [turn.key for turn in second.turns if turn.end > first.cursor.off] == [turn.key for turn in second.turns[3:]]


@needs_corpus
def test_files_of_the_corpus_are_told_apart() -> None:
    """Every Gemini file is this adapter's alone, and no other is."""
    for folder in (SESSIONS, CORPUS / "real-clients"):
        for path in folder.iterdir():
            is_mine = path.name.startswith(("gm", "gemini"))
            assert ADAPTER.detect(path) == is_mine, path.name
            if is_mine:
                assert [name for name in registry._BUILT_IN if registry.find(name).detect(path)] == ["gemini"]


@needs_corpus
def test_a_real_journal_as_a_document_has_the_same_keys(tmp_path: Path) -> None:
    """I2 the other way round: gm02 as the journal that resuming it makes."""
    value = json.loads((SESSIONS / "gm02-stage2.json").read_bytes())
    messages = value.pop("messages")
    lines = [value, *messages, {"$set": {"messages": [one for one in messages if one["type"] != "info"]}}]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    assert identity(whole(path).turns) == identity(whole(SESSIONS / "gm02-stage2.json").turns)


def test_memory_is_bounded_by_a_line_not_by_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: an oversized record is passed over; what was said before it and after it is read."""
    monkeypatch.setattr("mex_pipeline.adapters.records.LINE_CAP", 4096)
    journal = Journal()
    journal.user("before")
    journal.tool("x", output="A" * 9000)
    journal.user("after")
    transcript = whole(journal.write_to(tmp_path / "s"))
    assert [turn.text for turn in transcript.turns] == ["before", "x", "after"]
    assert transcript.dropped["oversized_line"] == 2
