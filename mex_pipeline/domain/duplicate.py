"""Which memories of one place say the same, or nearly: what a person may want to be one (product B5)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from mex_pipeline.domain.likeness import NEAR, bare, likeness
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.text import CJK

_HAN = re.compile(f"[{CJK}]")

_MOST = 60
"""How many memories may share a run before it says nothing: "works at" stands in every second one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories of one place; `stays` is the surer one, `goes` the one that would go into it; `share` is 1 for one value."""

    stays: Memory
    goes: Memory
    share: float


def pairs(memories: Iterable[Memory]) -> Iterator[Pair]:
    """Yield the pairs among the active memories of one slot: each memory goes into one other at most."""
    by_value: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_value[bare(memory.content)].append(memory)
    groups = {value: sorted(group, key=_standing) for value, group in by_value.items()}
    for surest, *others in groups.values():
        yield from (Pair(surest, other, 1.0) for other in others)
    yield from _near([group[0] for group in groups.values()])


def repeats(records: Iterable[Memory]) -> Iterator[Pair]:
    """Yield the pairs of records of one topic that say the same of the same time: a record repeats, it is not alike."""
    by_value: defaultdict[tuple[str, str | None], list[Memory]] = defaultdict(list)
    for record in records:
        by_value[bare(record.content), record.occurred_at].append(record)
    for group in by_value.values():
        surest, *others = sorted(group, key=_standing)
        yield from (Pair(surest, other, 1.0) for other in others)


def _standing(memory: Memory) -> tuple[float, int, str, str]:
    """The order of who stays: the surest, then the most often said, then the oldest."""
    return -memory.confidence.weight, -memory.times_seen, memory.created_at, memory.id


def _near(memories: Sequence[Memory]) -> Iterator[Pair]:
    """The pairs that are alike, the best one of each memory that would go.

    Two values that share enough runs share one among the rarest of each (prefix filtering): only such are compared. A
    value with Chinese in it is not compared with one without.
    """
    runs = [frozenset(_runs(bare(memory.content))) for memory in memories]
    spread = Counter(run for of_one in runs for run in of_one)
    holding: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    best: dict[str, Pair] = {}
    for at, of_one in enumerate(runs):
        rarest = sorted(of_one, key=lambda run: (spread[run], run))[: _needed(len(of_one))]
        tried = {other for run in rarest if spread[run] <= _MOST for other in holding[run]}
        for other in sorted(tried):
            share = likeness(memories[at].content, memories[other].content)
            if share >= NEAR:
                stays, goes = sorted((memories[at], memories[other]), key=_standing)
                if goes.id not in best or share > best[goes.id].share:
                    best[goes.id] = Pair(stays, goes, share)
        for run in rarest:
            holding[run].append(at)
    yield from best.values()


def _needed(count: int) -> int:
    """How many of its rarest runs a value is found by: two that are alike at NEAR cannot differ in all of these."""
    return count - ceil(NEAR / (2 - NEAR) * count) + 1


def _runs(text: str) -> Iterator[tuple[str, int]]:
    """The runs of characters that `likeness` counts, each with its number among equal ones."""
    padded, length = f" {text} ", 2 if _HAN.search(text) else 3
    counted = Counter[str]()
    for at in range(max(1, len(padded) - length + 1)):
        run = padded[at : at + length]
        counted[run] += 1
        yield run, counted[run]
