"""Running a job in front of the person who asked (product H2)."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable

from mex_pipeline.app import App
from mex_pipeline.domain.job import JobState
from mex_pipeline.services import jobs
from mex_pipeline.services.rescue import rescue_dead

LOOK_SECONDS = 0.1


async def drive(app: App, job_id: str, run: Callable[[], Awaitable[bool]]) -> None:
    """Run the job here, or wait while another process has it or its source; return when it ended or must wait longer."""
    task = asyncio.current_task()
    if task is not None and sys.platform != "win32":
        # asyncio cancels for Ctrl-C by itself; a terminal or an agent that goes away sends these.
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    rescue_dead(app)
    looks = 0
    while not await run():
        job = jobs.get(app.db, job_id)
        is_idle = job.state is not JobState.RUNNING and not jobs.source_is_busy(app, job)
        looks = looks + 1 if is_idle else 0
        # Idle at one look may mean that the other run ended just now: only a second refusal says that it must wait.
        if job.state.is_final or looks > 1:
            return
        rescue_dead(app)
        await asyncio.sleep(LOOK_SECONDS)
