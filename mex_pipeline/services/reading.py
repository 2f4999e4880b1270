"""The read phase of an extraction: the turns that are new, cut into chunks (product C2, H4, H6)."""

import asyncio
import math
from dataclasses import dataclass, replace
from functools import partial

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.plain import parse_plain
from mex_pipeline.adapters.port import Look
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import from_iso, iso_of_millis
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Chunk, Cursor, Transcript, Turn, settled
from mex_pipeline.domain.job import Job
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable
from mex_pipeline.services.files import key_of
from mex_pipeline.services.jobs import IMPORT
from mex_pipeline.services.transcripts import look, read
from mex_pipeline.store import cursors, jobs

RULES_CHUNK_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one read of a job's source gave. `key` is None for given text.

    `looked_size` is the size of the source when it was read, as its Look has it. `leaves_turns` says that it holds turns behind
    the end of this reading, which another job must read. `moves_cursor` says that the source may grow: its cursor is
    moved and its messages are marked as seen. Given text and an imported file are read once and leave neither (seed 004
    §6.4).
    """

    transcript: Transcript
    new: tuple[Turn, ...]
    chunks: tuple[Chunk, ...]
    since: Cursor
    key: SourceKey | None
    looked_size: int | None
    leaves_turns: bool = False
    moves_cursor: bool = True

    @property
    def spoken(self) -> int:
        """How many new turns the user spoke."""
        return sum(turn.role == "user" for turn in self.new)


async def read_source(app: AsyncApp, job: Job) -> Reading:
    """Return the new turns of the job's source; the first attempt fixes where it ends, so that a retry sees the same.

    An import is read as it is now at every attempt: nobody would come for what was written since the first.
    Raises SourceGone, SourceUnreadable, SourceFormat.
    """
    if "path" not in job.payload:
        return _from_text(app, job)
    key = key_of(job.payload)
    adapter = registry.find(job.payload["adapter"])
    moves_cursor = job.kind != IMPORT
    until = job.end_off if moves_cursor else None
    kind = app.extractor.kind
    position = cursors.position(str(key), kind, adapter.name)
    since = (await app.db.first(position) or Cursor()) if moves_cursor else Cursor()
    stands = await asyncio.to_thread(look, key, adapter)
    is_still = moves_cursor and await _has_been_still(app, key, stands)
    quiet_seconds = -math.inf if is_still else app.settings.extraction.quiet_seconds
    read_on = partial(read, key, adapter, quiet_seconds=quiet_seconds)
    try:
        transcript = await asyncio.to_thread(read_on, since, until=until)
    except (SourceFormat, SourceUnreadable):
        await _fix_end(app, job, None, stands.size)  # a size that cannot be read is not swept again (product H6)
        raise
    if until is None:
        await _fix_end(app, job, transcript.cursor.off, stands.size)
    rest = transcript if until is None else await asyncio.to_thread(read_on, transcript.cursor)
    turns = settled(transcript) if moves_cursor else transcript.turns
    keys = [turn.key for turn in turns] if moves_cursor else []
    known = set(await app.db.all(cursors.seen(transcript.agent, keys, kind)))
    new = tuple(turn for turn in turns if turn.key not in known)
    return Reading(
        transcript,
        new,
        _chunks(app, turns, new),
        since,
        key,
        stands.size if until is None else job.end_size,
        leaves_turns=_leaves_turns(rest, transcript.cursor, is_still=is_still),
        moves_cursor=moves_cursor,
    )


def _leaves_turns(rest: Transcript, cursor: Cursor, *, is_still: bool) -> bool:
    """True when there are turns behind the cursor that will be read once they are settled.

    What is held although the source is still is not counted, or job after job would be sent after it for ever.
    """
    return any(turn.end > cursor.off and not (turn.held and is_still) for turn in rest.turns)


async def _has_been_still(app: AsyncApp, key: SourceKey, stands: Look) -> bool:
    """True when the last look, long enough ago, saw the same size: it is quiet then, whatever clock its file has."""
    last_size, looked_at = await app.db.first(cursors.last_look(str(key), app.extractor.kind)) or (None, "")
    if stands.size != last_size:
        return False
    return (app.clock.now() - from_iso(looked_at)).total_seconds() >= app.settings.extraction.quiet_seconds


async def _fix_end(app: AsyncApp, job: Job, end_off: int | None, size: int) -> None:
    async with app.db.transaction() as tx:
        await tx.run(jobs.fix_end(job, end_off, size))


def _from_text(app: AsyncApp, job: Job) -> Reading:
    if job.given_text is None:
        raise SourceGone("text_gone")
    said_at = iso_of_millis(job.created_at)  # what is handed over was said now
    given = parse_plain(job.given_text)
    transcript = replace(given, turns=tuple(replace(turn, at=said_at) for turn in given.turns))
    chunks = _chunks(app, transcript.turns, transcript.turns)
    return Reading(transcript, transcript.turns, chunks, Cursor(), None, None, moves_cursor=False)


def _chunks(app: AsyncApp, turns: tuple[Turn, ...], new: tuple[Turn, ...]) -> tuple[Chunk, ...]:
    limit = app.settings.extraction.chunk_tokens if app.extractor.kind == "model" else RULES_CHUNK_TOKENS
    return cut(turns, frozenset(turn.key for turn in new), limit)
