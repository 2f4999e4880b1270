"""What turns a chunk of conversation into candidates: a model, or the built-in rules (product C9)."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk

ExtractorKind = Literal["model", "rules"]
"""Cursors and seen messages are kept per kind: what only the rules have read stays owed to a model (product C9)."""

Turnstile = Callable[[], AbstractAsyncContextManager[None]]
"""What every single call passes through: it waits for a place, and raises NoFurtherCall when none is to be made."""


class NoFurtherCall(Exception):
    """Another chunk of the same job has failed: what has not been asked yet is not asked now."""


@dataclass(frozen=True, slots=True)
class Task:
    """What an extractor must know beside the chunk: whose job it is, and what is known already.

    `known` are prompt lines, `purpose` (`extract` or `import`) and `agent` go into `llm_usage`, `today` is the local
    date, time and zone in words, `purges` the last line of history that told of a purge before the job read anything.
    """

    job_id: str
    source_file: str
    purpose: str
    today: str
    purges: int
    known: tuple[str, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one chunk gave; `reused` says that a kept reply answered instead of a call."""

    candidates: tuple[Candidate, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    reused: bool = False


class Extractor(Protocol):
    """Reads chunks. `name` is the model's name, or `rules`."""

    kind: ExtractorKind
    name: str
    examples: frozenset[str]
    """Values of the prompt's own examples: a candidate that repeats one was not said (product B3)."""

    def input_tokens(self, chunk: Chunk, task: Task) -> int:
        """Return about how many tokens are sent for a chunk, all that goes with it included; 0 when nothing is sent."""
        ...

    async def extract(self, chunk: Chunk, task: Task, turnstile: Turnstile) -> Extracted:
        """Return the candidates of one chunk; raises the LLM errors when a model cannot answer, and NoFurtherCall."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
