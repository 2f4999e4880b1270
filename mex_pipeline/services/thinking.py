"""The ask phase: every chunk to the extractor, concurrently and bounded, then each candidate judged (product C2, C4, C11)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import About, Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, is_echo, rests_on_assistant, verify
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.domain.schema import Schema
from mex_pipeline.services.extractor import Extracted, Extractor, Task


@dataclass(frozen=True, slots=True)
class Asked:
    """One chunk with what the extractor is told, and the known values it was shown."""

    chunk: Chunk
    task: Task
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Thought:
    """The candidates of a whole job that passed every check, the others with their reasons, and kept replies used."""

    candidates: tuple[Candidate, ...]
    discarded: tuple[Discarded, ...]
    reused: int


async def think(
    extractor: Extractor,
    asked: tuple[Asked, ...],
    *,
    concurrency: int,
    on_done: Callable[[int], Awaitable[None]],
) -> list[Extracted]:
    """Return what the extractor gave for each chunk, in order; `on_done` is told how many are done.

    When one chunk fails no further call is begun, but those under way end: their replies arrive and are kept, so that
    the retry does not pay for them again (product P4). Then the first error is raised.
    """
    gate = asyncio.Semaphore(concurrency)
    failed = asyncio.Event()
    done = 0

    async def one(item: Asked) -> Extracted | None:
        nonlocal done
        async with gate:
            if failed.is_set():
                return None
            try:
                extracted = await extractor.extract(item.chunk, item.task)
            except BaseException:
                failed.set()
                raise
            done += 1
            await on_done(done)
            return extracted

    results = await asyncio.gather(*(one(item) for item in asked), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Extracted)]


def judge(
    extracted: list[Extracted],
    asked: tuple[Asked, ...],
    schema: Schema,
    *,
    origin: Origin,
    examples: frozenset[str],
    about: About | None = None,
) -> Thought:
    """Return the candidates that keep the rules, each with its source checked, and every other one with its reason.

    `about` says whom the whole source is about, when the person who gave it has said so (`--subject`, product B3).
    """
    kept: list[Candidate] = []
    discarded: list[Discarded] = []
    for result, item in zip(extracted, asked, strict=True):
        discarded.extend(result.discarded)
        for proposed in result.candidates:
            checked = check_candidate(schema, proposed if about is None else replace(proposed, about=about))
            if isinstance(checked, Discarded):
                discarded.append(checked)
            elif is_echo(checked, examples=examples, known=item.known, chunk=item.chunk, schema=schema):
                discarded.append(Discarded(checked.content, "echo"))
            elif rests_on_assistant(checked, item.chunk, origin):
                discarded.append(Discarded(checked.content, "said_by_assistant"))
            else:
                kept.append(verify(checked, item.chunk, origin))
    return Thought(tuple(kept), tuple(discarded), sum(result.reused for result in extracted))
