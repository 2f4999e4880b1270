"""The ask phase: every chunk to the extractor, concurrently and bounded, then each candidate judged (product C2, C4, C11)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from mex_pipeline.clock import from_iso
from mex_pipeline.domain.candidate import About, Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, is_echo, rests_on_assistant, verify
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.when import in_absolute_time
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
        proposals = (one if about is None else replace(one, about=about) for one in result.candidates)
        verdicts = [_judged(one, item, schema, origin=origin, examples=examples) for one in proposals]
        discarded.extend(verdict for verdict in verdicts if isinstance(verdict, Discarded))
        passed = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
        kept.extend(sorted(passed, key=lambda one: _place(one, item.chunk)))
    return Thought(tuple(kept), tuple(discarded), sum(result.reused for result in extracted))


def _judged(
    proposed: Candidate, item: Asked, schema: Schema, *, origin: Origin, examples: frozenset[str]
) -> Candidate | Discarded:
    """One candidate through every check; its relative times are resolved before the schema looks at its fields."""
    sourced = verify(proposed, item.chunk, origin)
    dated = in_absolute_time(sourced, _said(sourced, item.chunk))
    checked = check_candidate(schema, sourced if isinstance(dated, Discarded) else dated)
    if isinstance(checked, Discarded):
        return checked
    if is_echo(proposed, examples=examples, known=item.known, chunk=item.chunk, schema=schema):
        return Discarded(checked.content, "echo")
    if rests_on_assistant(proposed, item.chunk, origin):
        return Discarded(checked.content, "said_by_assistant")
    return dated if isinstance(dated, Discarded) else checked


def _said(candidate: Candidate, chunk: Chunk) -> datetime | None:
    """The local moment a candidate's words were said at; without their message, only what the whole chunk agrees on."""
    source = candidate.source
    if source is None or source.said_at is None:
        return None
    if source.message_key is None and len({_local(turn.at).date() for turn in chunk.turns if turn.at}) > 1:
        return None
    return _local(source.said_at)


def _local(stored: str) -> datetime:
    return from_iso(stored).astimezone()


def _place(candidate: Candidate, chunk: Chunk) -> tuple[int, int]:
    """Where its words stand in the chunk: of two values in one reply the later said one counts (product B11)."""
    source = candidate.source
    keys = [turn.key for turn in chunk.turns]
    if source is None or source.message_key not in keys:
        return len(keys), 0
    return keys.index(source.message_key), source.quote_start or 0
