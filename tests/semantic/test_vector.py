"""How vectors are kept, and how what holds the words and what is meant become one list."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.vector import NEAREST, Vector, fused, packed

COMPONENTS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=32).filter(lambda one: math.hypot(*one) > 1e-3)


def unpacked(vector: Vector) -> list[float]:
    return [(one - 256 if one > 127 else one) * vector.scale for one in vector.values]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (math.hypot(*one) * math.hypot(*other))


@given(COMPONENTS)
def test_a_vector_is_kept_in_a_byte_a_component_and_keeps_its_direction(components: list[float]) -> None:
    kept = packed(components)
    assert len(kept.values) == len(components)
    assert cosine(unpacked(kept), components) > 0.999
    assert math.hypot(*unpacked(kept)) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("nothing", [[], [0.0, 0.0], [math.inf, 1.0], [math.nan]])
def test_what_has_no_direction_is_no_vector(nothing: list[float]) -> None:
    with pytest.raises(ValueError, match="direction"):
        packed(nothing)


def test_what_is_plainly_meant_stands_before_a_chance_word_and_after_what_is_both() -> None:
    near = {"both": 1.5, "meant": 3.0, "chance": -1.0, "neither": -0.5}
    assert fused(["both", "chance"], near) == ["both", "meant", "chance", "neither"]


def test_without_words_the_nearest_come_first_and_without_vectors_the_words() -> None:
    assert fused([], {"far": -1.0, "near": 2.0}) == ["near", "far"]
    assert fused(["first", "second"], {}) == ["first", "second"]


@given(st.lists(st.sampled_from("abcdefghij"), unique=True), st.dictionaries(st.integers().map(str), st.floats(-5, 5)))
def test_everything_with_words_is_shown_once_and_no_more_by_meaning_alone_than_are_worth_it(
    worded: list[str], near: dict[str, float]
) -> None:
    order = fused(worded, near)
    assert len(order) == len(set(order))
    assert set(worded) <= set(order)
    assert len(set(order) - set(worded)) <= NEAREST
