"""How much like a question vectors are, computed by numpy, against the same by hand."""

import random

import pytest

pytest.importorskip("numpy", reason="the extra `semantic` is not installed")

from mex_pipeline.domain.vector import packed
from mex_pipeline.embedding.likeness import likeness
from tests.semantic.test_vector import unpacked


def test_vectors_are_ordered_by_their_products_with_the_question_and_measured_against_their_mean() -> None:
    source = random.Random(1)
    given = [[source.gauss(0, 1) for _ in range(48)] for _ in range(200)]
    asked = [source.gauss(0, 1) for _ in range(48)]
    kept = [packed(one) for one in given]
    told = likeness(asked, kept)
    by_hand = [sum(a * b for a, b in zip(asked, unpacked(one), strict=True)) for one in kept]
    assert sorted(range(200), key=told.__getitem__)[-20:] == sorted(range(200), key=by_hand.__getitem__)[-20:]
    assert sum(told) / 200 == pytest.approx(0, abs=1e-4)
    assert sum(one * one for one in told) / 200 == pytest.approx(1, abs=1e-3)


def test_no_vectors_and_equal_vectors_are_no_fault() -> None:
    assert likeness([1.0, 0.0], []) == []
    assert likeness([1.0, 0.0], [packed([0.5, 0.5])] * 3) == pytest.approx([0, 0, 0], abs=1e-3)
