"""The read phase of an extraction: the turns that are new, cut into chunks (product C2, H4, H6)."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.plain import parse_plain
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso_of_millis
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Chunk, Cursor, Transcript, Turn, settled
from mex_pipeline.domain.job import Job
from mex_pipeline.errors import SourceGone, SourceUnreadable
from mex_pipeline.services.jobs import IMPORT
from mex_pipeline.services.transcripts import read
from mex_pipeline.store import cursors, jobs

RULES_CHUNK_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one read of a job's source gave. `path` is None for given text.

    `moves_cursor` says that the source may grow: its cursor is moved and its messages are marked as seen. Given text and
    an imported file are read once and leave neither (seed 004 §6.4).
    """

    transcript: Transcript
    new: tuple[Turn, ...]
    chunks: tuple[Chunk, ...]
    since: Cursor
    path: Path | None
    looked_size: int | None
    moves_cursor: bool = True

    @property
    def spoken(self) -> int:
        """How many new turns the user spoke."""
        return sum(turn.role == "user" for turn in self.new)


async def read_source(app: AsyncApp, job: Job) -> Reading:
    """Return the new turns of the job's source; the first attempt fixes where it ends, so that a retry sees the same.

    Raises SourceGone, SourceUnreadable, SourceFormat.
    """
    if "path" not in job.payload:
        return _from_text(app, job)
    path = Path(job.payload["path"])
    adapter = registry.find(job.payload["adapter"])
    moves_cursor = job.kind != IMPORT
    position = cursors.position(str(path), app.extractor.kind, adapter.name)
    since = (await app.db.first(position) or Cursor()) if moves_cursor else Cursor()
    size = await asyncio.to_thread(size_of, path)
    transcript = await asyncio.to_thread(
        read, path, adapter, since, quiet_seconds=app.settings.extraction.quiet_seconds, until=job.end_off
    )
    if job.end_off is None:
        async with app.db.transaction() as tx:
            await tx.run(jobs.fix_end(job, transcript.cursor.off, size))
    turns = settled(transcript) if moves_cursor else transcript.turns
    keys = [turn.key for turn in turns] if moves_cursor else []
    known = set(await app.db.all(cursors.seen(transcript.agent, keys, app.extractor.kind)))
    new = tuple(turn for turn in turns if turn.key not in known)
    looked = size if job.end_size is None else job.end_size
    return Reading(transcript, new, _chunks(app, turns, new), since, path, looked, moves_cursor=moves_cursor)


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


def size_of(path: Path) -> int:
    """Return the file's size in bytes; raises SourceGone or SourceUnreadable."""
    try:
        return path.stat().st_size
    except FileNotFoundError as error:
        raise SourceGone(path=str(path)) from error
    except OSError as error:
        raise SourceUnreadable(path=str(path), detail=error.strerror or "") from error
