"""Vectors of texts: how one is kept in 384 bytes instead of 1,536, and how ranked lists become one (docs/semantic.md)."""

import math
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

LONGEST_TEXT = 1_000
"""Characters of a text that a model is shown: a long one costs seconds and makes a vector of everything and nothing."""
NEAREST = 20
"""Memories that may be found by their meaning alone: there is no measure below which one means something else."""
WORDS, HALVED = 2.0, 20
"""What the best hit by words gains, in standard deviations, and the place at which it is half of that (measured)."""
_MOST = 127


class Vector(NamedTuple):
    """A vector of length 1 in int8: a component is its value times `scale`. A tuple: ten thousand are made for a question."""

    scale: float
    values: bytes


def packed(components: Sequence[float]) -> Vector:
    """Return a vector as it is kept, brought to length 1; raises ValueError for one that has no direction."""
    length = math.hypot(*components)
    if not 0 < length < math.inf:
        raise ValueError("no direction")
    largest = max(map(abs, components))
    values = bytes(round(one * _MOST / largest) & 0xFF for one in components)
    return Vector(largest / length / _MOST, values)


def fused(worded: Sequence[str], likeness: Mapping[str, float]) -> list[str]:
    """Return the ids of what holds some of the words, the best first, and of what is nearest in meaning, as one list.

    `likeness` says of every memory with a vector how near it is, in standard deviations above the mean. The words add
    up to WORDS of them, less for each place further down: a list of places, fused as usual by 1/(60 + place), lets a
    chance word outrank what is plainly meant.
    """
    near = nlargest(NEAREST, likeness, key=lambda one: likeness[one])
    said = {one: WORDS * HALVED / (HALVED + place) for place, one in enumerate(worded)}
    score = {one: said.get(one, 0.0) + likeness.get(one, 0.0) for one in (*worded, *near)}
    return sorted(score, key=lambda one: score[one], reverse=True)
