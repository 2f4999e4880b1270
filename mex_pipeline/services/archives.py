"""The work of an archive's job: it reads an export once and hands every conversation to a job of its own (docs/jobs.md).

A conversation's job carries its new turns, so that it needs no file. Neither waits in the other's way: with enough
conversations in the queue the archive's job leaves, and comes back when half of them have ended.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from mex_pipeline import faults
from mex_pipeline.adapters import registry
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import millis
from mex_pipeline.domain.conversation import Cursor, Transcript, Turn
from mex_pipeline.domain.given import pack, part
from mex_pipeline.domain.job import Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.domain.refusal import Refusal
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import ExternalError, LeaseLost, SourceGone
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.conversations import Reader, conversation_key, stream
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.services.jobs import ARCHIVE, BATCH_PRIORITY, CHILDREN, EXTRACT, WAITED_FOR, Request, new_job
from mex_pipeline.services.reading import never_again
from mex_pipeline.services.transcripts import clean, look
from mex_pipeline.store import archives, cursors, jobs
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Query

AT_ONCE = faults.number("MEX_TEST_AT_ONCE", 50)
"""Conversations of one transaction at most."""
LOOK_AGAIN_MS = 600_000
"""How long an archive waits when nobody wakes it: whoever should have died in between."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What has become of the conversations so far; `dropped` counts what was left out of all that were read."""

    conversations: int = 0
    queued: int = 0
    unchanged: int = 0
    without_user_turns: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    def plus(self, counts: Mapping[str, int], dropped: Mapping[str, int]) -> "Tally":
        """Return the sums."""
        numbers = {name: getattr(self, name) + number for name, number in counts.items()}
        return replace(self, **numbers, dropped=dict(sorted((Counter(self.dropped) + Counter(dropped)).items())))

    @property
    def reason(self) -> str:
        """Why nothing was extracted by the archive's own job."""
        if self.queued:
            return "distributed"
        if self.unchanged:
            return "nothing_new"
        return "no_user_turn" if self.conversations else "no_turns"


@dataclass(frozen=True, slots=True)
class _New:
    """A conversation with something new: its packed turns, the time of its last change (ms), and how far it is read."""

    session: str
    key: str
    off: int
    text: str
    position: Query[Cursor]


async def hand_out(app: AsyncApp, job: Job, runs: Runs) -> Ending | None:
    """Make the jobs of an archive's conversations; returns the ending of a job that has to wait, None for one that is done.

    They are inserted some at a time, each time with how far the stream is dealt with: whoever comes next goes on there,
    and begins anew with a file that has changed. Of a damaged file what can be read is handed out first. Raises
    SourceGone (`session_not_in_file`: `session`, `path`), SourceUnreadable, SourceFormat, and LeaseLost when the job
    belongs to a later claim or was cancelled.
    """
    room = await _room(app, job, share=2)
    if room < 1:
        return _wait(app)
    path, only = Path(job.payload["path"]), job.payload.get("session")
    adapter = registry.find(job.payload["adapter"])
    skip, tally = await _begin(app, job, path)
    reader = Reader(partial(stream, adapter, path), skip=skip, only=only)
    try:
        while (piece := await asyncio.to_thread(reader.read, max(1, min(room, AT_ONCE)))) is not None:
            runs.progressed(job)
            if not piece:
                continue
            if room < 1:
                return _wait(app)  # only now: the end of the stream needs no room
            tally = await _take(app, job, piece, reader.position, tally)
            if only is not None:
                break
            room = await _room(app, job)
    finally:
        await asyncio.to_thread(reader.close)
    if only is not None and not tally.conversations:
        raise SourceGone("session_not_in_file", session=only, path=str(path))
    await patiently(lambda: _finish(app, job, tally))
    return None


async def wake(app: AsyncApp, job: Job) -> None:
    """Let the archive of a conversation whose run is over go on, if it waits for that; or the archive itself.

    What cannot be written now is left: the archive looks again by itself.
    """
    parent = job.id if job.kind == ARCHIVE else job.batch_id
    if parent is None:
        return
    with suppress(ExternalError):
        if await app.db.first(archives.waits_for_children(parent)):
            async with app.db.transaction() as tx:
                await tx.run(archives.wake(parent, millis(app.clock.now())))


def _wait(app: AsyncApp) -> Ending:
    later = millis(app.clock.now()) + LOOK_AGAIN_MS
    return Ending(JobState.QUEUED, CHILDREN, available_at=later, gives_back=True)


async def _room(app: AsyncApp, job: Job, share: int = 1) -> int:
    """How many more conversations may be queued; a share of that in which nothing is left makes none."""
    number, size = await app.db.first(archives.load(job.id)) or (0, 0)
    is_full = number > archives.MOST // share or size > archives.MOST_BYTES // share
    return 0 if is_full else archives.MOST - number


async def _begin(app: AsyncApp, job: Job, path: Path) -> tuple[int, Tally]:
    """How much of the stream is dealt with, and how: nothing of a file that is not the one an earlier run has read."""
    stands = await asyncio.to_thread(look, SourceKey(path), registry.find(job.payload["adapter"]))
    if (job.end_size, job.end_off) == (stands.size, stands.changed_at) and job.result is not None:
        return job.progress_done or 0, Tally(**job.result)
    async with app.db.transaction() as tx:
        await tx.run(jobs.fix_end(job, stands.changed_at, stands.size))
        await _note(tx, job, 0, Tally())
    return 0, Tally()


async def _note(tx: AsyncDatabase, job: Job, position: int, tally: Tally) -> None:
    if await tx.run(archives.handed_out(job, position, asdict(tally))) != 1:
        raise LeaseLost(id=job.id)


async def _take(app: AsyncApp, job: Job, piece: list[Transcript], position: int, tally: Tally) -> Tally:
    """Deal with a piece of the stream in one transaction; returns the tally after it."""
    sifted = [await _sift(app, one) for one in piece if one.session_id is not None]
    new = [one for one in sifted if isinstance(one, _New)]
    dropped = sum((Counter(one.dropped) for one in piece), Counter[str]())

    async def write() -> Tally:
        async with app.db.transaction() as tx:
            fates = [await _queue(tx, job, one, millis(app.clock.now())) for one in new]
            counts = Counter(["conversations"] * len(sifted) + fates + [one for one in sifted if isinstance(one, str)])
            after = tally.plus(counts, dropped)
            await _note(tx, job, position, after)
            faults.point(f"handing_out:{position}")
        faults.point(f"handed_out:{position}")
        return after

    return await patiently(write)


async def _sift(app: AsyncApp, transcript: Transcript) -> _New | str:
    """What of a conversation nobody has read, or the name of the count it belongs to."""
    agent, session, kind = transcript.agent, transcript.session_id or "", app.extractor.kind
    key, off = str(conversation_key(agent, session)), transcript.cursor.off
    if await _is_read(app.db, cursors.position(key, kind, agent), off):
        return "unchanged"
    known = set(await app.db.all(cursors.seen(agent, [turn.key for turn in transcript.turns], kind)))
    turns = part(transcript.turns, known)
    if not any(turn.role == "user" and turn.key not in known for turn in turns):
        return "unchanged" if transcript.turns and not turns else "without_user_turns"
    banned = await never_again(app)
    text = await asyncio.to_thread(_packed, transcript, turns, app.settings.privacy.redact_secrets, banned)
    return _New(session, key, off, text, cursors.position(key, kind, agent))


async def _is_read(db: AsyncDatabase, position: Query[Cursor], off: int) -> bool:
    """True when a conversation has been read as it was at its last change."""
    read = await db.first(position)
    return read is not None and 0 < off <= read.off


def _packed(transcript: Transcript, turns: tuple[Turn, ...], redact: bool, banned: tuple[Refusal, ...]) -> str:
    return pack(clean(replace(transcript, turns=turns), redact=redact, banned=banned))


async def _queue(tx: AsyncDatabase, job: Job, new: _New, now: int) -> str:
    """Make the job of a conversation; one that has all of it already, of another import, is joined, or has just ended."""
    if await _is_read(tx, new.position, new.off):
        return "unchanged"
    subject = job.payload.get("subject", "user")
    standing = [one for one in await tx.all(archives.standing(new.key)) if one.subject == subject]
    newest = max(standing, key=lambda one: one.off, default=None)
    if newest is not None and newest.off >= new.off > 0:
        if newest.batch_id == job.id:
            return "unchanged"
        await tx.run(jobs.event(newest.job_id, now, "merged", note=job.id))
        return "queued"
    payload = {"adapter": job.payload["adapter"], "session": new.session, "off": new.off, "subject": subject}
    request = Request(EXTRACT, payload, new.key, new.text)
    here = job.is_foreground
    made = new_job(
        request,
        Trigger.FOREGROUND if here else Trigger.COMMAND,
        WAITED_FOR if here else BATCH_PRIORITY,
        now=now,
        batch=job.id,
    )
    row = await tx.first(jobs.insert_or_merge(made))
    assert row is not None
    child, merged = row
    await tx.run(jobs.event(child, now, "merged", note=job.id) if merged else jobs.event(child, now, "queued"))
    return "queued"


async def _finish(app: AsyncApp, job: Job, tally: Tally) -> None:
    """End the archive's own job: all of its conversations are dealt with."""
    at = millis(app.clock.now())
    result: dict[str, Any] = asdict(tally)
    ending = Ending(JobState.SUCCEEDED, tally.reason, Outcome.SKIPPED, result=result)
    async with app.db.transaction() as tx:
        await tx.run(jobs.progress(job, tally.conversations, tally.conversations, CHILDREN))
        if await tx.run(jobs.leave(job, ending, None, at)) != 1:
            raise LeaseLost(id=job.id)
        await tx.run(jobs.wake_followers(job.lock_key), jobs.event(job.id, at, "succeeded", job.fence, ending.reason))
    faults.point("distributed")
