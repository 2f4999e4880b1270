"""The move out of `running` through the asynchronous gateway, and patience with a locked file."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mex_pipeline import faults
from mex_pipeline.domain.job import Ending, Job
from mex_pipeline.errors import DatabaseBusy
from mex_pipeline.services.endings import consequences, pauses, unless_cancelled
from mex_pipeline.store import jobs, workers
from mex_pipeline.store.async_database import AsyncDatabase

T = TypeVar("T")


async def leave(db: AsyncDatabase, job: Job, ending: Ending, now: int, endpoint: str = "") -> bool:
    """The same move through the asynchronous gateway, tried again while the file is locked: the fence makes it safe."""
    return await patiently(lambda: _leave_once(db, job, ending, now, endpoint))


async def patiently(step: Callable[[], Awaitable[T]], tries: int = 5) -> T:
    """Return what `step` returns, again and again while another process holds the write lock; then DatabaseBusy."""
    for attempt in range(1, tries):
        try:
            return await step()
        except DatabaseBusy:
            await asyncio.sleep(0.2 * attempt)
    return await step()


async def _leave_once(db: AsyncDatabase, job: Job, ending: Ending, now: int, endpoint: str) -> bool:
    async with db.transaction() as tx:
        row = await tx.first(jobs.one(job.id))
        ending = unless_cancelled(ending, row)
        faults.point("leaving")
        sibling = await tx.first(jobs.waiting_sibling(job))
        if await tx.run(jobs.leave(job, ending, sibling, now)) != 1:
            return False
        known = await tx.first(workers.control(endpoint))
        await tx.run(*consequences(job, ending, sibling, now), *pauses(ending, endpoint, known, now))
    return True
