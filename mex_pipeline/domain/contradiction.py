"""Which memories of one topic cannot both hold: one says what another denies, or tells the same time otherwise.

A person is shown both sides, so that a wrong pair costs more than a missed one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from mex_pipeline.domain.claim import Claim, claims
from mex_pipeline.domain.likeness import are_same, bare
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.schema import Schema, Slot
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.wording import OPEN_ENDS

OPPOSITE, OVERLAP = "opposite", "overlap"
"""Why two memories contradict each other: a thing is affirmed and denied; one subject is told twice of the same time."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two active memories that cannot both hold, in the order in which they were given; `reason` is a message id."""

    first: Memory
    second: Memory
    reason: str


def contradictions(memories: Iterable[Memory], schema: Schema) -> list[Contradiction]:
    """Return the pairs among active memories that contradict each other; those outside declared slots never do.

    Plain values may stand in different slots of one topic (`diet.like`, `diet.avoid`), structured ones in the same.
    """
    placed = [(memory, slot) for memory in memories if (slot := schema.find(memory.topic, memory.sub_topic))]
    return [*_opposites(placed), *_overlaps(placed)]


def _opposites(placed: Sequence[tuple[Memory, Slot]]) -> Iterator[Contradiction]:
    said: defaultdict[tuple[str, bool, str], list[tuple[Memory, Claim]]] = defaultdict(list)
    for memory, slot in placed:
        for claim in () if slot.fields else claims(memory.content, slot):
            said[slot.topic, claim.is_taste, claim.thing].append((memory, claim))
    for of_thing in said.values():
        for (one, claim), (other, another) in combinations(of_thing, 2):
            if claim.affirms is not another.affirms:
                yield Contradiction(one, other, OPPOSITE)


def _overlaps(placed: Sequence[tuple[Memory, Slot]]) -> Iterator[Contradiction]:
    told: defaultdict[tuple[str, str], list[tuple[Memory, Slot]]] = defaultdict(list)
    for memory, slot in placed:
        subject = None if slot.unique else _subject(slot, memory)
        if subject:
            told[slot.path, subject].append((memory, slot))
    for of_subject in told.values():
        for (one, slot), (other, _) in combinations(of_subject, 2):
            if not are_same(one.content, other.content) and _share_time(slot, one, other):
                yield Contradiction(one, other, OVERLAP)


def _subject(slot: Slot, memory: Memory) -> str | None:
    """What a structured value is about: the first field it must have, times aside."""
    name = next((field.name for field in slot.fields if field.required and not field.is_time), None)
    fields = text_fields(memory.content) or {}
    return bare(fields[name]) if name is not None and fields.get(name) else None


def _share_time(slot: Slot, one: Memory, other: Memory) -> bool:
    """True when two stretches of time overlap, and for values of a slot that knows no times."""
    times = [field.name for field in slot.fields if field.is_time]
    if not times:
        return True
    first, second = (_stretch(slot, times, memory) for memory in (one, other))
    return first is not None and second is not None and _begins_within(first, second) and _begins_within(second, first)


def _stretch(slot: Slot, times: Sequence[str], memory: Memory) -> tuple[str, str] | None:
    """(start, end) of a structured value; None when one of them is not known, or the slot has a single date."""
    fields = text_fields(memory.content) or {}
    ends = [name for name in times if name in slot.open_fields]
    start, end = fields.get(times[0]), fields.get(ends[0]) if ends else None
    if not start or not end:
        return None
    return start, "9999" if end in OPEN_ENDS else end


def _begins_within(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """True when the first surely begins before the second ends, as precisely as both dates are known."""
    start, end = first[0], second[1]
    shared = min(len(start), len(end))
    return start[:shared] < end[:shared]
