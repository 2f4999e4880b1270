"""The read phase of an extraction: the turns that are new, cut into chunks (product C2, H4, H6)."""

import asyncio
import math
from dataclasses import dataclass, replace
from functools import partial

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.markdown import parse_given
from mex_pipeline.adapters.port import Look
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import from_iso, iso_of_millis
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Chunk, Cursor, Transcript, Turn, settled
from mex_pipeline.domain.given import unpack
from mex_pipeline.domain.job import Job
from mex_pipeline.domain.refusal import Refusal, RefusalKind, hidden
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.services.conversations import conversation_key
from mex_pipeline.services.files import key_of
from mex_pipeline.services.jobs import IMPORT
from mex_pipeline.services.transcripts import clean, hushed, look, read
from mex_pipeline.store import cursors, jobs, refusals

RULES_CHUNK_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one read of a job's source gave. `key` is None for given text.

    `looked_size` is the size of the source when it was read, as its Look has it. `leaves_turns` says that it holds turns behind
    the end of this reading, which another job must read. `moves_cursor` says that the source may grow: its cursor is
    moved and its messages are marked as seen. Given text and an imported file are read once and leave neither (seed 004
    §6.4). `is_again` says that a session is read anew: its messages are marked, and the cursor stays; with
    `is_from_kept` from its kept turns, and what was dropped of them meanwhile is not kept anew. `gone` are the
    messages of which something had been forgotten for good before: more of them at the commit means that it was since.
    With `is_preview` nothing of it is written: the job ends with what would have been.
    """

    transcript: Transcript
    new: tuple[Turn, ...]
    chunks: tuple[Chunk, ...]
    since: Cursor
    key: SourceKey | None
    looked_size: int | None
    leaves_turns: bool = False
    moves_cursor: bool = True
    is_again: bool = False
    is_from_kept: bool = False
    gone: frozenset[str] = frozenset()
    is_preview: bool = False

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
        return await _from_given(app, job)
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
    redact, banned = app.settings.privacy.redact_secrets, await never_again(app)
    read_on = partial(read, key, adapter, quiet_seconds=quiet_seconds, redact=redact, banned=banned)
    try:
        transcript = await asyncio.to_thread(read_on, since, until=until)
    except (SourceFormat, SourceUnreadable):
        await _fix_end(app, job, None, stands.size)  # a size that cannot be read is not swept again (product H6)
        raise
    if until is None:
        await _fix_end(app, job, transcript.cursor.off, stands.size)
    rest = transcript if until is None else await asyncio.to_thread(read_on, transcript.cursor)
    gone, turns = await _tellable(app, transcript.agent, settled(transcript) if moves_cursor else transcript.turns)
    new = await _unseen(app, transcript.agent, turns) if moves_cursor else turns
    return Reading(
        transcript,
        new,
        _chunks(app, turns, new),
        since,
        key,
        stands.size if until is None else job.end_size,
        leaves_turns=_leaves_turns(rest, transcript.cursor, is_still=is_still),
        moves_cursor=moves_cursor,
        gone=gone,
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


async def _from_given(app: AsyncApp, job: Job) -> Reading:
    """The turns that a job carries: a text that was handed over, or the new part of a conversation (services/archives.py)."""
    handed_over = await app.db.first(jobs.text(job.id))
    if handed_over is None:
        raise SourceGone("text_gone")
    banned = await never_again(app)
    if "session" not in job.payload:
        said_at = iso_of_millis(job.created_at)  # what is handed over was said now
        given = parse_given(await _safe_text(app, job, handed_over, banned))
        given = await asyncio.to_thread(clean, given, redact=app.settings.privacy.redact_secrets, banned=banned)
        turns = tuple(replace(turn, at=said_at) for turn in given.turns)
        text = replace(given, turns=turns)
        gone, _ = await _tellable(app, text.agent, turns)  # who says it again wants it to be known again
        return Reading(text, turns, _chunks(app, turns, turns), Cursor(), None, None, moves_cursor=False, gone=gone)
    transcript = await asyncio.to_thread(lambda: hushed(unpack(handed_over), banned))
    key = conversation_key(transcript.agent, job.payload["session"])
    since = await app.db.first(cursors.position(str(key), app.extractor.kind, transcript.agent)) or Cursor()
    if since.off > transcript.cursor.off:
        transcript = replace(transcript, cursor=since)  # of an older export than the last one that was read
    gone, turns = await _tellable(app, transcript.agent, transcript.turns)
    new = await _unseen(app, transcript.agent, turns)
    return Reading(transcript, new, _chunks(app, turns, new), since, key, None, gone=gone)


async def never_again(app: AsyncApp) -> tuple[Refusal, ...]:
    """Return what is never to be known again: no turn says it to a model (product B6)."""
    return tuple(await app.db.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN)))


async def _safe_text(app: AsyncApp, job: Job, text: str, banned: tuple[Refusal, ...]) -> str:
    """The given text without secrets and refused values, before it is cut anywhere; the job keeps no other from here on
    (product B6, F2).
    """
    safe = await asyncio.to_thread(redacted, text) if app.settings.privacy.redact_secrets else text
    safe = await asyncio.to_thread(hidden, safe, banned)
    if safe != text:
        async with app.db.transaction() as tx:
            await tx.run(jobs.replace_text(job, safe))
    return safe


async def _tellable(app: AsyncApp, agent: str, turns: tuple[Turn, ...]) -> tuple[frozenset[str], tuple[Turn, ...]]:
    """The keys that said something which was forgotten for good, and the turns without them: no context either (B6)."""
    gone = frozenset(await app.db.all(cursors.purged(agent, [turn.key for turn in turns])))
    return gone, tuple(turn for turn in turns if turn.key not in gone)


async def _unseen(app: AsyncApp, agent: str, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    known = set(await app.db.all(cursors.seen(agent, [turn.key for turn in turns], app.extractor.kind)))
    return tuple(turn for turn in turns if turn.key not in known)


def _chunks(app: AsyncApp, turns: tuple[Turn, ...], new: tuple[Turn, ...]) -> tuple[Chunk, ...]:
    limit = app.settings.extraction.chunk_tokens if app.extractor.kind == "model" else RULES_CHUNK_TOKENS
    return cut(turns, frozenset(turn.key for turn in new), limit)
