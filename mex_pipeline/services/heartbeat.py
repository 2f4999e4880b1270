"""The jobs this process runs: shown alive by a beat, stopped by a cancel, a shutdown or their deadline (docs/jobs.md)."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from mex_pipeline import faults
from mex_pipeline.clock import monotonic
from mex_pipeline.domain.job import Ending, Job
from mex_pipeline.errors import ExternalError
from mex_pipeline.services.slots import Slots
from mex_pipeline.store import jobs, migrations
from mex_pipeline.store.database import Database

log = logging.getLogger("mex.worker")
T = TypeVar("T")
Interruption = Literal["cancelled", "shutdown", "stuck", "hands_off"]

LEASE_SECONDS = faults.seconds("MEX_TEST_LEASE", 60.0)
BEAT_SECONDS = LEASE_SECONDS / 4
LOOK_SECONDS = 0.25
LONGEST_LOOK_SECONDS = 1.0
"""What one look counts for at most: a process that slept, or was stopped, was not silent meanwhile."""


class Interrupted(Exception):
    """The run was asked to stop; `why` says by whom."""

    def __init__(self, why: Interruption) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class _Run:
    """One run: its claim, and for how long it has shown no progress, in seconds that this process was awake."""

    job: Job
    patience: float
    silent: float = 0.0

    @property
    def is_stuck(self) -> bool:
        return self.silent > self.patience


class Runs:
    """What this owner runs right now. A thread beats for exactly these jobs and listens for cancels.

    Beating for every row that names the owner would keep a job alive whose thread has died. It beats for no run that is
    past its deadline either: the watch takes that one back, whatever its thread does. `hands_off` says that mex.db is not
    for this process any more (a later meX has changed its structure, or another hand the file): nothing is written, and
    whoever comes next takes the runs back.
    """

    def __init__(self, owner: str, database: Path) -> None:
        self.owner = owner
        self.stop = threading.Event()
        self.hands_off = False
        self.slots = Slots(self.stop)
        self._database = database
        self._running: dict[str, _Run] = {}
        self._cancelled: set[str] = set()
        self._unwritten: dict[tuple[str, int], Ending] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="mex-beat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def begin(self, job: Job, patience: float) -> None:
        """Take a claimed job into the beat. Without a sign of progress for `patience` seconds it counts as stuck."""
        self._running[job.id] = _Run(job, patience)
        self.slots.begin(job)
        log.info("begun", extra={"job": job.id, "fence": job.fence})

    def progressed(self, job: Job) -> None:
        """Start the run's deadline anew: something has come of it (product H7)."""
        run = self._running.get(job.id)
        if run is not None and run.job.fence == job.fence:
            run.silent = 0.0

    def end(self, job: Job) -> None:
        """Leave a run, however it ended; a later claim of the same job is not touched."""
        if self.runs(job.id, job.fence):
            self._running.pop(job.id, None)
            self._cancelled.discard(job.id)
        self.slots.end(job)

    def owe(self, job: Job, ending: Ending) -> None:
        """Remember how a run ended that could not be written down: the file was locked or the disk full."""
        self._unwritten[job.id, job.fence] = ending

    def owed(self, job: Job) -> Ending | None:
        """Return how this claim of the job ended, when that is still to be written."""
        return self._unwritten.get((job.id, job.fence))

    def settled(self, job: Job) -> None:
        """Forget what was owed: it is written, or the job belongs to a later claim."""
        self._unwritten.pop((job.id, job.fence), None)

    def runs(self, job_id: str, fence: int) -> bool:
        """True while this very claim of the job is being worked on here."""
        run = self._running.get(job_id)
        return run is not None and run.job.fence == fence

    def is_stuck(self, job_id: str, fence: int) -> bool:
        """True when this claim of the job is past its deadline."""
        run = self._running.get(job_id)
        return run is not None and run.job.fence == fence and run.is_stuck

    @property
    def is_idle(self) -> bool:
        """True when nothing runs here."""
        return not self._running

    def interruption(self, job: Job) -> Interruption | None:
        """Return why the job should stop, or None."""
        if self.hands_off:
            return "hands_off"
        if not self.runs(job.id, job.fence):
            return "stuck"  # taken back from under this thread
        if job.id in self._cancelled:
            return "cancelled"
        if self.is_stuck(job.id, job.fence):
            return "stuck"
        return "shutdown" if self.stop.is_set() else None

    async def guard(self, job: Job, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns, or raise Interrupted as soon as the job must stop: see `interruption`."""
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
        looked = last_beat = monotonic()
        last_version = -1
        while not self._closed.wait(LOOK_SECONDS):
            moment = monotonic()
            running = list(self._running.values())
            for run in running:
                run.silent += min(moment - looked, LONGEST_LOOK_SECONDS)
            looked = moment
            try:
                database = database or Database.open(self._database)
                if moment - last_beat >= BEAT_SECONDS:
                    last_beat = moment
                    alive = [run.job for run in running if not run.is_stuck]
                    if alive and not self.hands_off:
                        self._write_beats(database, alive)
                if running and last_version != (version := database.data_version()):
                    self._cancelled.update(database.all(jobs.cancelled_of(self.owner)))
                    last_version = version
            except ExternalError:
                continue  # busy or full: the next look comes soon, and the lease allows for several missed beats
        if database is not None:
            database.close()

    def _write_beats(self, database: Database, alive: list[Job]) -> None:
        """Raises DatabaseNewer, and writes nothing, when a later meX has changed the structure."""
        with database.transaction() as tx:
            migrations.refuse_newer(migrations.version(tx), self._database)
            tx.run(*(jobs.beat(job.id, job.fence) for job in alive))
