"""The ask phase: every chunk to the extractor, concurrently and bounded (product C2)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from mex_pipeline.domain.chunks import smaller
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.errors import LLMBadReply, LLMRejected, MexError
from mex_pipeline.services.extractor import Extracted, Extractor, NoFurtherCall, Task
from mex_pipeline.services.gate import Gate

_NOT_TAKEN = {"llm_context_length": "too_long", "llm_refusal": "refused"}
GIVE_UP_AFTER = 10
"""Single turns not taken, and nothing answered yet: it is the endpoint or its limit, not the words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One chunk with what the extractor is told, and the known values it was shown."""

    chunk: Chunk
    task: Task
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A turn that no model would read, even alone; `reason` is `too_long` or `refused`. Never its words."""

    message_key: str
    said_at: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A chunk as it was asked in the end, whole or in part, and what it gave."""

    asked: Asked
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class Heard:
    """What the extractor gave for all chunks, in order, and the turns it would not read."""

    answered: tuple[Answered, ...] = ()
    skipped: tuple[Skipped, ...] = ()


async def think(
    extractor: Extractor,
    asked: tuple[Asked, ...],
    *,
    gate: Gate,
    concurrency: int,
    on_done: Callable[[int], Awaitable[None]],
    on_sign: Callable[[], None] = lambda: None,
) -> Heard:
    """Return what the extractor gave for each chunk; `on_done` is told how many are done, `on_sign` that it goes on.

    Calls pass the gate of the whole process; a job has at most `concurrency` before it, so that others come in between.
    When one chunk fails no further call is begun, but those under way end: their replies arrive and are kept, so that
    the retry does not pay for them again (product P4). Then the first error is raised.
    """
    asking = _Asking(extractor, gate, on_sign)
    own = asyncio.Semaphore(concurrency)
    done = 0

    async def one(item: Asked) -> Heard:
        nonlocal done
        async with own:
            if asking.failed:
                return Heard()
            try:
                heard = await asking.ask(item)
                done += 1
                await on_done(done)
            except NoFurtherCall:
                return Heard()
            except BaseException:
                asking.failed = True
                raise
            return heard

    results = await asyncio.gather(*(one(item) for item in asked), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    heard = _joined([result for result in results if isinstance(result, Heard)])
    if asking.refusal is not None and not heard.answered:
        raise LLMRejected(asking.refusal.code, **asking.refusal.params)
    return heard


class _Asking:
    """The questions of one job: a chunk that is not taken whole is asked in smaller parts (queue §5.6)."""

    def __init__(self, extractor: Extractor, gate: Gate, on_sign: Callable[[], None]) -> None:
        self.failed = False
        self.refusal: MexError | None = None
        self._extractor = extractor
        self._gate = gate
        self._on_sign = on_sign
        self._answered = self._skipped = 0

    async def ask(self, item: Asked) -> Heard:
        """Return what a chunk gave; raises the LLM errors, and NoFurtherCall once `failed` is set."""
        found = await self._whole(item)
        return found if isinstance(found, Heard) else await self._in_parts(found)

    async def _in_parts(self, parts: tuple[Asked, ...]) -> Heard:
        """Ask all parts before any part of them: the half that is taken tells that the other is not the endpoint's fault."""
        found = [await self._whole(part) for part in parts]
        return _joined([one if isinstance(one, Heard) else await self._in_parts(one) for one in found])

    async def _whole(self, item: Asked) -> Heard | tuple[Asked, ...]:
        """Return what a chunk gave, or the parts that are to be asked in its place."""
        try:
            extracted = await self._extractor.extract(item.chunk, item.task, self._turnstile)
        except (LLMRejected, LLMBadReply) as error:
            if not helps_to_split(error, item.chunk):
                raise
            self._on_sign()
            parts = smaller(item.chunk)
            return tuple(replace(item, chunk=part) for part in parts) if parts else self._skip(item, error)
        self._on_sign()
        self._answered += 1
        return Heard((Answered(item, extracted),))

    def _skip(self, item: Asked, error: MexError) -> Heard:
        """Leave out the single turn of a chunk; raises when nothing at all seems to be taken."""
        self.refusal = self.refusal or error
        self._skipped += 1
        if self._skipped >= GIVE_UP_AFTER and not self._answered:
            raise LLMRejected(error.code, **error.params)
        (turn,) = item.chunk.turns
        return Heard(skipped=(Skipped(turn.key, turn.at, _NOT_TAKEN[error.code]),))

    @asynccontextmanager
    async def _turnstile(self) -> AsyncIterator[None]:
        async with self._gate.place(self._on_sign):
            if self.failed:
                raise NoFurtherCall
            yield


def helps_to_split(error: MexError, chunk: Chunk) -> bool:
    """True when a chunk that failed so may succeed in parts; a reply that was cut off is shorter for half the turns."""
    return error.code in _NOT_TAKEN or (error.code == "llm_cut_off" and len(chunk.turns) > 1)


def _joined(parts: list[Heard]) -> Heard:
    return Heard(
        tuple(one for part in parts for one in part.answered), tuple(one for part in parts for one in part.skipped)
    )
