"""The ask phase: every chunk to the extractor, concurrently and bounded, then each candidate judged (product C2, C4, C11)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from mex_pipeline.clock import in_zone
from mex_pipeline.domain.candidate import About, Candidate, Discarded
from mex_pipeline.domain.chunks import smaller
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, is_echo, rests_on_assistant, verify
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.when import in_absolute_time
from mex_pipeline.errors import LLMBadReply, LLMRejected, MexError
from mex_pipeline.redaction.redact import redacted
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


@dataclass(frozen=True, slots=True)
class Thought:
    """The candidates of a whole job that passed every check, the others with their reasons, and kept replies used."""

    candidates: tuple[Candidate, ...]
    discarded: tuple[Discarded, ...]
    reused: int
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


def judge(
    heard: Heard,
    schema: Schema,
    *,
    origin: Origin,
    examples: frozenset[str],
    about: About | None = None,
    redact: bool = True,
) -> Thought:
    """Return the candidates that keep the rules, each with its source checked, and every other one with its reason.

    `about` says whom the whole source is about, when the person who gave it has said so (`--subject`, product B3). With
    `redact` a secret in what a candidate says is replaced: that is never a reason to discard it (product F2).
    """
    kept: list[Candidate] = []
    discarded: list[Discarded] = []
    for answer in heard.answered:
        item, result = answer.asked, answer.extracted
        discarded.extend(result.discarded)
        proposals = (one if about is None else replace(one, about=about) for one in result.candidates)
        if redact:
            proposals = (_without_secrets(one) for one in proposals)
        verdicts = [_judged(one, item, schema, origin=origin, examples=examples) for one in proposals]
        discarded.extend(verdict for verdict in verdicts if isinstance(verdict, Discarded))
        passed = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
        kept.extend(sorted(passed, key=lambda one: _place(one, item.chunk)))
    reused = sum(answer.extracted.reused for answer in heard.answered)
    told = map(_told, discarded) if redact else discarded  # a model's topic may be one too
    return Thought(tuple(kept), tuple(told), reused, heard.skipped)


def _without_secrets(proposed: Candidate) -> Candidate:
    return replace(
        proposed,
        content=redacted(proposed.content),
        evidence=proposed.evidence and redacted(proposed.evidence),
        quote=proposed.quote and redacted(proposed.quote),
    )


def _told(discarded: Discarded) -> Discarded:
    return replace(
        discarded,
        content=redacted(discarded.content),
        facts={name: redacted(fact) for name, fact in discarded.facts.items()},
    )


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
    if source.message_key is None and len({in_zone(turn.at, turn.zone).date() for turn in chunk.turns if turn.at}) > 1:
        return None
    zones = (turn.zone for turn in chunk.turns if source.message_key in (turn.key, None))
    return in_zone(source.said_at, next(zones, None))


def _place(candidate: Candidate, chunk: Chunk) -> tuple[int, int]:
    """Where its words stand in the chunk: of two values in one reply the later said one counts (product B11)."""
    source = candidate.source
    keys = [turn.key for turn in chunk.turns]
    if source is None or source.message_key not in keys:
        return len(keys), 0
    return keys.index(source.message_key), source.quote_start or 0
