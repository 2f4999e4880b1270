"""What must not be learned again, kept as salted hashes: the words themselves are gone (product B6, C6)."""

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.text import normalised

MIN_HIDDEN = 6
"""Normalised characters from which a value is recognised inside other words too: a shorter one is in half the language."""


class RefusalKind(StrEnum):
    """Why something is not learned: forgotten and never to be known again, declined in review, or a merge declined."""

    NEVER_AGAIN = "never_again"
    DECLINED = "declined"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refused value of a place: `slot` as `place` gives it, `length` of the normalised value, its salted hash."""

    kind: RefusalKind
    slot: str
    length: int
    salt: str
    hash: str
    created_at: str

    def meets(self, value: str) -> bool:
        """True when `value` is the refused one, but for case, width and spaces."""
        text = normalised(value)
        return len(text) == self.length and _hash(self.salt, text) == self.hash

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the refused value stands in `text`, which is normalised already."""
        for start in range(len(text) - self.length + 1):
            if _hash(self.salt, text[start : start + self.length]) == self.hash:
                yield start, start + self.length


def place(topic: str | None, sub_topic: str | None) -> str:
    """Return the slot as a refusal names it: `topic.sub_topic`, the topic of a record, or nothing."""
    return ".".join(name for name in (topic, sub_topic) if name)


def refuse(kind: RefusalKind, slot: str, value: str, now: str) -> Refusal:
    """Return the refusal of a value at a place; every one has a salt of its own, so that exports can carry it."""
    text, salt = normalised(value), secrets.token_hex(16)
    return Refusal(kind, slot, len(text), salt, _hash(salt, text), now)


def refuse_memory(kind: RefusalKind, memory: Memory, now: str) -> Refusal:
    """Return the refusal of what a memory says where it says it."""
    return refuse(kind, place(memory.topic, memory.sub_topic), memory.content, now)


def pair(first: str, second: str) -> str:
    """Return the one value that stands for two contents whose merge was declined, whichever comes first."""
    return "\n".join(sorted((normalised(first), normalised(second))))


def refused(refusals: Iterable[Refusal], slot: str, value: str) -> Refusal | None:
    """Return the refusal that a value at a place meets, if any."""
    return next((one for one in refusals if one.slot == slot and one.meets(value)), None)


def _hash(salt: str, text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=bytes.fromhex(salt), digest_size=16).hexdigest()
