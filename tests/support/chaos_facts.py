"""The facts of a chaos run: each is said once, in a turn of its own, so that lines and memories can be counted."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

WORDS = {
    "爱好": ("leisure", "hobbies"),
    "创作": ("leisure", "creative"),
    "技术": ("work", "tech_stack"),
    "饮食": ("health", "diet"),
}
"""Slots of many values, by the word the facts about them are made of."""
_SENTENCE = re.compile(f"我的({'|'.join(WORDS)})是(\\1\\d+)。")


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of one slot, and the words that say it."""

    topic: str
    sub_topic: str
    value: str
    said: str


def sentence(number: int) -> str:
    """The sentence that says the n-th fact."""
    word = tuple(WORDS)[number % len(WORDS)]
    return f"我的{word}是{word}{number:07}。"


def facts(text: str) -> list[Fact]:
    """The facts a text says, in order."""
    return [Fact(*WORDS[found[1]], found[2], found[0].removesuffix("。")) for found in _SENTENCE.finditer(text)]


def said_in(session: Path) -> list[str]:
    """The values said in the whole lines of a session file."""
    whole = session.read_bytes().rpartition(b"\n")[0].decode()
    records = [json.loads(line) for line in whole.splitlines()]
    return [one.value for record in records for one in facts(str(record["message"]["content"]))]
