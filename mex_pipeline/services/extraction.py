"""One job from claim to commit; the same for foreground and worker (product C1, C2). A restore is in restoring.py.

claim → read → gather → think → judge → commit. `think` has no database in its hands and `commit` no extractor's call,
so no transaction is ever open while the network is used.
"""

import asyncio
from datetime import datetime

from mex_pipeline import __version__, faults
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain import known
from mex_pipeline.domain.candidate import About
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin
from mex_pipeline.domain.job import Ending, Job, JobState
from mex_pipeline.errors import ExternalError, LeaseLost, MexError
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.services import archives, async_endings, endings
from mex_pipeline.services.commit import commit
from mex_pipeline.services.compact_job import compact
from mex_pipeline.services.deadlines import patience
from mex_pipeline.services.embed_job import embed, follow
from mex_pipeline.services.extractor import Task
from mex_pipeline.services.heartbeat import Interrupted, Runs
from mex_pipeline.services.jobs import AGAIN, ARCHIVE, COMPACT, EMBED, EXTRACT, RESTORE
from mex_pipeline.services.judging import Thought, judge
from mex_pipeline.services.pauses import Configured, endpoint_scope
from mex_pipeline.services.reading import Reading, read_source
from mex_pipeline.services.rereading import read_again
from mex_pipeline.services.restoring import restore
from mex_pipeline.services.slots import is_suspect
from mex_pipeline.services.spending import require_input
from mex_pipeline.services.thinking import Asked, think
from mex_pipeline.store import history, jobs, memories, migrations, usage
from mex_pipeline.store.tokens import segment

RECENT_RECORDS = 10


async def execute(app: AsyncApp, job_id: str, runs: Runs) -> bool:
    """Run a job if it can be claimed now, and end it whatever happens; False when somebody else has it or it must wait.

    Every error becomes the job's state (docs/jobs.md); nothing is raised but cancellation of the surrounding task, and
    DatabaseNewer before anything is written.
    """
    job = await _claim(app, job_id, runs)
    if job is None:
        return False
    faults.point("claimed")
    runs.begin(job, patience(app.settings.llm, asks_model=app.extractor.kind == "model" or app.compactor is not None))
    try:
        ending, endpoint = await _ending(app, job, runs), _scope(app, job)
        faults.point("ended")
        if ending is not None and not await _leave(app, job, ending, endpoint, runs):
            await _forget_replies(app, job)
        await archives.wake(app, job)
        await follow(app, job)
    except asyncio.CancelledError:
        # In a worker's thread nobody cancels a run but an event loop that SystemExit ends: that is a crash.
        if not runs.slots.is_held():
            await asyncio.shield(async_endings.leave(app.db, job, _interrupted(job, _now(app)), _now(app)))
        raise
    finally:
        runs.end(job)
    return True


async def _claim(app: AsyncApp, job_id: str, runs: Runs) -> Job | None:
    now = _now(app)
    async with app.db.transaction() as tx:
        structure = await tx.first(migrations.version_query())
        migrations.refuse_newer(structure, app.home.database)
        found = await tx.first(jobs.one(job_id))
        if found is None or (is_suspect(found) and not runs.slots.is_alone()):
            return None  # it became a suspect since its thread looked: the next wake-up finds it one
        scope, heed = _scope(app, found), not found.is_foreground
        job = await tx.first(jobs.claim(job_id, runs.owner, now, __version__, heed_pause=heed, endpoint=scope))
        if job is None:
            await tx.run(jobs.wake_later(job_id, now, scope))
        else:
            await tx.run(jobs.event(job.id, now, "claimed", job.fence, runs.owner))
    return job


def _scope(app: AsyncApp, job: Job) -> str:
    """What pauses the job: the configured endpoint, as the relay knows it, also when the job asks another model there.

    Vectors have an endpoint of their own; what it says holds for no other job.
    """
    if job.kind == EMBED:
        return ""
    return Configured(app.home.config).scope() if "model" in job.payload else endpoint_scope(app.settings)


def _interrupted(job: Job, now: int) -> Ending:
    """Interrupted at the terminal: a foreground job ends, one of the background goes back to the queue."""
    if job.is_foreground:
        return Ending(JobState.CANCELLED, "user")
    return Ending(JobState.QUEUED, "shutdown", available_at=now, gives_back=True)


async def _leave(app: AsyncApp, job: Job, ending: Ending, endpoint: str, runs: Runs) -> bool:
    """Write how a run ended; what cannot be written now is left to the watch, which takes the job back (docs/jobs.md)."""
    try:
        return await async_endings.leave(app.db, job, ending, _now(app), endpoint)
    except ExternalError:
        runs.owe(job, ending)
        raise


async def _forget_replies(app: AsyncApp, job: Job) -> None:
    """Drop what a run kept after its job had ended: `mex clear` left nothing of it, or another worker was faster.

    What another job of the source will use stays: one that was merged into it has paid for the same turns.
    """
    async with app.db.transaction() as tx:
        row = await tx.first(jobs.one(job.id))
        if row is None or row.state in (JobState.SUCCEEDED, JobState.CANCELLED):
            await tx.run(usage.drop_replies_of(job.id))


async def _ending(app: AsyncApp, job: Job, runs: Runs) -> Ending | None:
    """Do the work; None when the commit has ended the job itself, or nothing may be written any more."""
    try:
        return await runs.guard(job, _work(app, job, runs))
    except Interrupted as stop:
        if stop.why == "hands_off":
            return None
        if stop.why == "cancelled":
            return Ending(JobState.CANCELLED, "user")
        if stop.why == "stuck":
            return endings.for_crash(job, _now(app), how="rescued:stuck")
        return Ending(JobState.QUEUED, "shutdown", available_at=_now(app), gives_back=True)
    except LeaseLost:
        # Cancelled inside the commit, or taken over: the guard of the next move tells the two apart.
        return Ending(JobState.CANCELLED, "user")
    except MexError as error:
        return endings.for_error(error, job, _now(app))
    except Exception as error:  # noqa: BLE001 - a fault of ours must end the job, not the worker
        return endings.for_error(MexError("internal", kind=type(error).__name__), job, _now(app))


async def _work(app: AsyncApp, job: Job, runs: Runs) -> Ending | None:
    """What a job of this kind does; an ending is returned by one that has to come back."""
    if job.kind == RESTORE:
        await restore(app, job)
    elif job.kind == COMPACT:
        await compact(app, job, runs)
    elif job.kind == EMBED:
        await embed(app, job, runs)
    elif job.kind == ARCHIVE:
        return await archives.hand_out(app, job, runs)
    else:
        await _run(app, job, runs)
    return None


async def _run(app: AsyncApp, job: Job, runs: Runs) -> None:
    purges = await app.db.first(history.last_purge()) or 0
    reading = await (read_again if job.kind == AGAIN else read_source)(app, job)
    faults.point("read")
    runs.progressed(job)
    if not reading.chunks:
        await _commit(app, job, reading, Thought((), (), 0), 0)
        return
    asked, withheld = await _gather(app, job, reading, purges)
    await require_input(app, job, asked)

    async def on_done(done: int) -> None:
        async with app.db.transaction() as tx:
            if await tx.run(jobs.progress(job, done, len(asked), "asking")) != 1:
                raise LeaseLost(id=job.id)  # no further call for a job that was taken over, or cleared away
        runs.progressed(job)

    await on_done(0)
    heard = await think(
        app.extractor,
        asked,
        gate=app.calls,
        concurrency=app.settings.llm.concurrency,
        on_done=on_done,
        on_sign=lambda: runs.progressed(job),
    )
    faults.point("asked")
    transcript = reading.transcript
    origin = Origin(
        agent=transcript.agent,
        session_id=transcript.session_id,
        project=transcript.project,
        source_file=None if reading.key is None else str(reading.key),
        job_id=job.id,
        has_speakers=transcript.has_speakers,
    )
    about = About.OTHER if job.payload.get("subject") == "other" else None
    # In a thread: on a huge session the checks take seconds, and a cancel must be heard meanwhile.
    redact = app.settings.privacy.redact_secrets
    thought = await asyncio.to_thread(
        judge, heard, app.schema, origin=origin, examples=app.extractor.examples, about=about, redact=redact
    )
    await _commit(app, job, reading, thought, withheld)


async def _commit(app: AsyncApp, job: Job, reading: Reading, thought: Thought, withheld: int) -> None:
    """Commit, again when the file was locked: the fence makes the repetition harmless."""
    await async_endings.patiently(lambda: commit(app, job, reading, thought, withheld=withheld))


async def _gather(app: AsyncApp, job: Job, reading: Reading, purges: int) -> tuple[tuple[Asked, ...], int]:
    """Choose the known values each chunk is shown; returns the questions and how many values were withheld at most."""
    now = iso(app.clock.now())
    active = await app.db.all(memories.slot_memories(now))
    records = await app.db.all(memories.recent_records(now, "", RECENT_RECORDS, None))
    words = {memory.id: frozenset(segment(memory.content).split()) for memory in (*active, *records)}
    today = _today(app)
    asked = []
    withheld = 0
    for chunk in reading.chunks:
        said = await asyncio.to_thread(said_in, chunk)
        near = {key for key, own in words.items() if own and len(own & said) * 2 >= len(own)}
        shown = known.select(active, records, near, app.schema, app.settings.extraction.known_tokens)
        withheld = max(withheld, shown.withheld)
        lines = shown.lines
        if app.settings.privacy.redact_secrets:  # a person may have stored one
            lines = await asyncio.to_thread(_without_secrets, lines)
        task = Task(
            job_id=job.id,
            source_file=job.lock_key or job.id,
            purpose=EXTRACT if job.kind == AGAIN else job.kind,
            today=today,
            purges=purges,
            known=lines,
            agent=job.payload.get("adapter"),
        )
        asked.append(Asked(chunk, task, shown.values))
    return tuple(asked), withheld


def said_in(chunk: Chunk) -> frozenset[str]:
    """Return the search tokens of a chunk's turns; one turn after the other, for the tokens take fifty times their text."""
    return frozenset(token for _, turn, _ in chunk.numbered for token in segment(turn.text).split())


def _without_secrets(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(redacted(line) for line in lines)


def _today(app: AsyncApp) -> str:
    local: datetime = app.clock.now().astimezone()
    return f"{local:%Y-%m-%d %A %H:%M} {local.tzname()} (UTC{local:%z})"


def _now(app: AsyncApp) -> int:
    return millis(app.clock.now())
