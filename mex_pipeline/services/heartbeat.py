"""The jobs this process runs: shown alive by a beat, stopped by a cancel or a shutdown (docs/jobs.md)."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from mex_pipeline import faults
from mex_pipeline.clock import Clock, monotonic
from mex_pipeline.domain.job import Job
from mex_pipeline.errors import ExternalError
from mex_pipeline.store import jobs
from mex_pipeline.store.database import Database

T = TypeVar("T")
Interruption = Literal["cancelled", "shutdown"]

LEASE_SECONDS = faults.seconds("MEX_TEST_LEASE", 60.0)
BEAT_SECONDS = LEASE_SECONDS / 4
LOOK_SECONDS = 0.25


class Interrupted(Exception):
    """The run was asked to stop; `why` says by whom."""

    def __init__(self, why: Interruption) -> None:
        super().__init__(why)
        self.why = why


class Runs:
    """What this owner runs right now. A thread beats for exactly these jobs and listens for cancels.

    Beating for every row that names the owner would keep a job alive whose thread has died.
    """

    def __init__(self, owner: str, database: Path, clock: Clock) -> None:
        self.owner = owner
        self.stop = threading.Event()
        self._database = database
        self._clock = clock
        self._running: dict[str, int] = {}
        self._cancelled: set[str] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="mex-beat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def begin(self, job: Job) -> None:
        """Take a claimed job into the beat."""
        self._running[job.id] = job.fence

    def end(self, job: Job) -> None:
        """Leave a job, however it ended."""
        self._running.pop(job.id, None)
        self._cancelled.discard(job.id)

    def runs(self, job_id: str, fence: int) -> bool:
        """True while this very claim of the job is being worked on here."""
        return self._running.get(job_id) == fence

    @property
    def is_idle(self) -> bool:
        """True when nothing runs here."""
        return not self._running

    def interruption(self, job: Job) -> Interruption | None:
        """Return why the job should stop, or None."""
        if job.id in self._cancelled:
            return "cancelled"
        return "shutdown" if self.stop.is_set() else None

    async def guard(self, job: Job, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns, or raise Interrupted as soon as the job is cancelled or the process must stop."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=0.1)
                why = self.interruption(job)
                if why is not None and not task.done():
                    raise Interrupted(why)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    def _beat(self) -> None:
        database: Database | None = None
        last_beat, last_version = monotonic(), -1
        while not self._closed.wait(LOOK_SECONDS):
            try:
                database = database or Database.open(self._database)
                if monotonic() - last_beat >= BEAT_SECONDS:
                    last_beat = monotonic()
                    running = list(self._running.items())
                    if running:
                        database.run(*(jobs.beat(job_id, fence) for job_id, fence in running))
                if self._running and last_version != (version := database.data_version()):
                    self._cancelled.update(database.all(jobs.cancelled_of(self.owner)))
                    last_version = version
            except ExternalError:
                continue  # busy or full: the next look comes soon, and the lease allows for several missed beats
        if database is not None:
            database.close()
