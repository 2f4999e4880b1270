"""How much like a question every vector is: all are looked at, which takes a few milliseconds for 10,000 (docs/semantic.md)."""

import os
from collections.abc import Sequence
from typing import Any

from mex_pipeline.domain.vector import Vector
from mex_pipeline.errors import NotConfigured


def likeness(question: Sequence[float], vectors: Sequence[Vector]) -> list[float]:
    """Return for each vector how many standard deviations its cosine with the question lies above the mean of all.

    A cosine by itself tells nothing: with e5, what is meant has 0.86, and what is not has 0.84. Each vector has as many
    components as the question. Raises NotConfigured("semantic_not_installed") without numpy.
    """
    if not vectors:
        return []
    numpy = _numpy()
    matrix = numpy.frombuffer(b"".join(one.values for one in vectors), dtype=numpy.int8)
    scales = numpy.array([one.scale for one in vectors], dtype=numpy.float32)
    asked = numpy.array(question, dtype=numpy.float32)
    cosines = (matrix.reshape(len(vectors), len(question)).astype(numpy.float32) @ asked) * scales
    spread = cosines.std() or 1.0
    told: list[float] = ((cosines - cosines.mean()) / spread).tolist()
    return told


def _numpy() -> Any:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting its threads takes longer than all the rest
    try:
        import numpy  # noqa: PLC0415, ICN001 - an extra
    except ImportError as error:
        raise NotConfigured("semantic_not_installed") from error
    return numpy
