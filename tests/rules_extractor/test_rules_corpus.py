"""The rules on other people's dialogues: precision first. These texts stay in the shared corpus."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rules_extractor.said import candidates, found

BENCH = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "bench"

pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason="the shared corpus is not beside the checkout")

SLOTS = {
    "basic.name": "basic_info.name",
    "location.city": "basic_info.location",
    "work.company": "work.company",
    "work.title": "work.position",
    "diet.avoid": "health.diet",
    "hobby": "leisure.hobbies",
    "health.allergy": "health.allergy",
    "tool.lang": "work.tech_stack",
    "reply.style": "interaction.preferences",
}


def records(name: str) -> list[dict[str, Any]]:
    with gzip.open(BENCH / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def gold_turns() -> Iterator[dict[str, Any]]:
    for user in records("zh-gold-users-00-14.jsonl.gz"):
        for session in user["sessions"]:
            yield from (turn for turn in session["turns"] if turn["role"] == "user")


def test_task_dialogues_hold_next_to_nothing_personal() -> None:
    """1,472 user turns that look for hotels and restaurants: at most one may be mistaken for a memory."""
    texts = [
        turn["content"]
        for dialogue in records("crosswoz_negative/val_every3rd.jsonl.gz")
        for turn in dialogue["turns"]
        if turn["role"] == "user"
    ]
    assert len(texts) > 1_000
    assert sum(len(candidates(text)) for text in texts) <= 1


def test_nothing_is_taken_from_traps_and_passing_states() -> None:
    """Third parties, wishes, quotations and states of a day: the gold stream marks them as no change of the profile."""
    traps = {"third_party", "hypothetical", "quoted", "temporary", "retract", "record", "chat"}
    taken = [turn["op"] for turn in gold_turns() if turn["op"] in traps and candidates(turn["text"])]
    assert taken == []


def test_plain_statements_are_taken_right_and_most_of_them_are_found() -> None:
    """Precision 1.0 and a recall of two thirds on what the gold stream asserts or changes in slots the rules know."""
    stated = [turn for turn in gold_turns() if turn["op"] in ("assert", "update") and turn["slot"] in SLOTS]
    right = 0
    for turn in stated:
        values = found(turn["text"])
        assert all(value.startswith(SLOTS[turn["slot"]]) and turn["value"] in value for value in values)
        right += bool(values)
    assert right / len(stated) > 2 / 3


@pytest.mark.parametrize("persona", ["Lin_Wanyu", "Pak_Budi", "Sophie_Dubois"])
def test_long_working_sessions_yield_a_handful_at_most(persona: str) -> None:
    """500 to 760 user turns each, most of them requests and pasted prompts of a chat assistant's users."""
    with gzip.open(BENCH / "realmem" / f"{persona}.json.gz", "rt", encoding="utf-8") as file:
        sessions = json.load(file)["dialogues"]
    texts = [turn["content"] for one in sessions for turn in one["dialogue_turns"] if turn["speaker"] == "User"]
    assert sum(len(candidates(text)) for text in texts) <= 4
