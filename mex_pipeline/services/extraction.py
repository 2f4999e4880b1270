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
from mex_pipeline.domain.evidence import Origin
from mex_pipeline.domain.job import Ending, Job, JobState
from mex_pipeline.errors import LeaseLost, MexError
from mex_pipeline.services import async_endings, endings
from mex_pipeline.services.commit import commit
from mex_pipeline.services.extractor import Task
from mex_pipeline.services.heartbeat import Interrupted, Runs
from mex_pipeline.services.jobs import RESTORE
from mex_pipeline.services.pauses import endpoint_scope
from mex_pipeline.services.reading import Reading, read_source
from mex_pipeline.services.restoring import restore
from mex_pipeline.services.thinking import Asked, Thought, judge, think
from mex_pipeline.store import jobs, memories, usage
from mex_pipeline.store.tokens import segment

RECENT_RECORDS = 10


async def execute(app: AsyncApp, job_id: str, runs: Runs) -> bool:
    """Run a job if it can be claimed now, and end it whatever happens; False when somebody else has it or it must wait.

    Every error becomes the job's state (docs/jobs.md); nothing is raised but cancellation of the surrounding task.
    """
    job = await _claim(app, job_id, runs.owner)
    if job is None:
        return False
    faults.point("claimed")
    runs.begin(job)
    try:
        ending = await _ending(app, job, runs)
        faults.point("ended")
        if ending is not None and not await async_endings.leave(app.db, job, ending, _now(app)):
            await _forget_replies(app, job)
    except asyncio.CancelledError:
        # Interrupted at the terminal: a foreground job ends, one of the background goes back to the queue.
        back = Ending(JobState.QUEUED, "shutdown", available_at=_now(app), gives_back=True)
        ending = Ending(JobState.CANCELLED, "user") if job.is_foreground else back
        await asyncio.shield(async_endings.leave(app.db, job, ending, _now(app)))
        raise
    finally:
        runs.end(job)
    return True


async def _claim(app: AsyncApp, job_id: str, owner: str) -> Job | None:
    now = _now(app)
    async with app.db.transaction() as tx:
        found = await tx.first(jobs.one(job_id))
        heed = found is not None and not found.is_foreground
        job = await tx.first(
            jobs.claim(job_id, owner, now, __version__, heed_pause=heed, endpoint=endpoint_scope(app.settings.llm))
        )
        if job is not None:
            await tx.run(jobs.event(job.id, now, "claimed", job.fence, owner))
    return job


async def _forget_replies(app: AsyncApp, job: Job) -> None:
    """Drop what a run kept whose row is gone: `mex clear` left nothing of it, so nothing may come after."""
    async with app.db.transaction() as tx:
        if job.lock_key and await tx.first(jobs.one(job.id)) is None:
            await tx.run(usage.drop_replies(job.lock_key))


async def _ending(app: AsyncApp, job: Job, runs: Runs) -> Ending | None:
    """Do the work; None when the commit has ended the job itself."""
    try:
        await runs.guard(job, restore(app, job) if job.kind == RESTORE else _run(app, job))
    except Interrupted as stop:
        if stop.why == "cancelled":
            return Ending(JobState.CANCELLED, "user")
        return Ending(JobState.QUEUED, "shutdown", available_at=_now(app), gives_back=True)
    except LeaseLost:
        # Cancelled inside the commit, or taken over: the guard of the next move tells the two apart.
        return Ending(JobState.CANCELLED, "user")
    except MexError as error:
        return endings.for_error(error, job, _now(app))
    except Exception as error:  # noqa: BLE001 - a fault of ours must end the job, not the worker
        return endings.for_error(MexError("internal", kind=type(error).__name__), job, _now(app))
    return None


async def _run(app: AsyncApp, job: Job) -> None:
    reading = await read_source(app, job)
    faults.point("read")
    if not reading.chunks:
        await _commit(app, job, reading, Thought((), (), 0), 0)
        return
    asked, withheld = await _gather(app, job, reading)

    async def on_done(done: int) -> None:
        async with app.db.transaction() as tx:
            if await tx.run(jobs.progress(job, done, len(asked), "asking")) != 1:
                raise LeaseLost(id=job.id)  # no further call for a job that was taken over, or cleared away

    await on_done(0)
    extracted = await think(app.extractor, asked, concurrency=app.settings.llm.concurrency, on_done=on_done)
    faults.point("asked")
    transcript = reading.transcript
    origin = Origin(
        agent=transcript.agent,
        session_id=transcript.session_id,
        project=transcript.project,
        source_file=job.payload.get("path"),
        job_id=job.id,
        has_speakers=transcript.has_speakers,
    )
    about = About.OTHER if job.payload.get("subject") == "other" else None
    # In a thread: on a huge session the checks take seconds, and a cancel must be heard meanwhile.
    thought = await asyncio.to_thread(
        judge, extracted, asked, app.schema, origin=origin, examples=app.extractor.examples, about=about
    )
    await _commit(app, job, reading, thought, withheld)


async def _commit(app: AsyncApp, job: Job, reading: Reading, thought: Thought, withheld: int) -> None:
    """Commit, again when the file was locked: the fence makes the repetition harmless."""
    await async_endings.patiently(lambda: commit(app, job, reading, thought, withheld=withheld))


async def _gather(app: AsyncApp, job: Job, reading: Reading) -> tuple[tuple[Asked, ...], int]:
    """Choose the known values each chunk is shown; returns the questions and how many values were withheld at most."""
    now = iso(app.clock.now())
    active = await app.db.all(memories.slot_memories(now))
    records = await app.db.all(memories.recent_records(now, "", RECENT_RECORDS, None))
    words = {memory.id: frozenset(segment(memory.content).split()) for memory in (*active, *records)}
    today = _today(app)
    asked = []
    withheld = 0
    for chunk in reading.chunks:
        said = frozenset(segment(" ".join(turn.text for _, turn, _ in chunk.numbered)).split())
        near = {key for key, own in words.items() if own and len(own & said) * 2 >= len(own)}
        shown = known.select(active, records, near, app.schema, app.settings.extraction.known_tokens)
        withheld = max(withheld, shown.withheld)
        task = Task(
            job_id=job.id,
            source_file=job.lock_key or job.id,
            purpose=job.kind,
            today=today,
            known=shown.lines,
        )
        asked.append(Asked(chunk, task, shown.values))
    return tuple(asked), withheld


def _today(app: AsyncApp) -> str:
    local: datetime = app.clock.now().astimezone()
    return f"{local:%Y-%m-%d %A %H:%M} {local.tzname()} (UTC{local:%z})"


def _now(app: AsyncApp) -> int:
    return millis(app.clock.now())
