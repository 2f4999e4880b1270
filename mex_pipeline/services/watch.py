"""The worker's watch over the job table: publish what is due, rescue what was abandoned (docs/jobs.md)."""

import os
import socket
from collections.abc import Callable

from mex_pipeline import __version__, lease
from mex_pipeline.clock import Clock, millis, monotonic
from mex_pipeline.domain.job import Job
from mex_pipeline.paths import Home
from mex_pipeline.services import endings
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.store import jobs, workers
from mex_pipeline.store.database import Database

LOOK_SECONDS = 1.0
RESCUE_SECONDS = 5.0
LEASE_SECONDS = jobs.LEASE_MS / 1000
OWN_SILENCE_SECONDS = 2.0
LONGEST_WAIT_MS = 3_600_000


class Watch:
    """Looks at the jobs on every tick. A wake-up is only a hint: the claim decides, so sending it twice is harmless.

    `publish(job_id, priority)` puts a wake-up on the queue.
    """

    def __init__(self, home: Home, runs: Runs, clock: Clock, publish: Callable[[str, int], None]) -> None:
        self._db = Database.open(home.database)
        self._runs = runs
        self._run_folder = home.run
        self._clock = clock
        self._publish = publish
        self._version = -1
        self._looked = self._rescued = float("-inf")
        self._beats: dict[tuple[str, int], tuple[int, float]] = {}
        self.started_at = millis(clock.now())

    def hello(self) -> None:
        """Write down this worker for `mex worker status`."""
        with self._db.transaction() as tx:
            tx.run(workers.hello(self._runs.owner, socket.gethostname(), os.getpid(), __version__, self.started_at))

    def goodbye(self) -> None:
        """Remove this worker's row and close the database."""
        with self._db.transaction() as tx:
            tx.run(workers.gone(self._runs.owner))
        self.settle()
        self._db.close()

    def settle(self) -> None:
        """Bring everything from the WAL into mex.db, so that a plain copy of it at rest is complete (product D6)."""
        self._db.script("PRAGMA wal_checkpoint(TRUNCATE);")

    def tick(self) -> None:
        """Look once: cheap while nothing has changed (one PRAGMA)."""
        moment = monotonic()
        if moment - self._rescued >= RESCUE_SECONDS:
            self._rescued = moment
            self.rescue()
            self._db.run(workers.seen(self._runs.owner, self._now()))
        version = self._db.data_version()
        if version != self._version or moment - self._looked >= LOOK_SECONDS:
            self._version, self._looked = version, moment
            self.relay()

    def relay(self) -> int:
        """Publish every due job: first the wake-up, then the mark, so that a crash doubles a hint and never loses one."""
        now = self._now()
        due = self._db.all(jobs.due(now))
        for job_id, priority in due:
            self._publish(job_id, priority)
        if due:
            with self._db.transaction() as tx:
                tx.run(*(jobs.mark_published(job_id, now) for job_id, _ in due))
        return len(due)

    def rescue(self) -> int:
        """Take back jobs whose process is dead (its file lock is free), or silent for a lease on our own clock.

        Wall clocks are never compared, so neither a clock step nor a suspend steals a live job.
        """
        now, moment = self._now(), monotonic()
        running = self._db.all(jobs.running())
        self._beats = {(job.id, job.fence): self._last_beat(job, moment) for job in running}
        abandoned = [(job, how) for job in running if (how := self._abandoned(job, moment)) is not None]
        for job, how in abandoned:
            endings.leave(self._db, job, endings.for_crash(job, now, how=how), now)
        with self._db.transaction() as tx:
            tx.run(jobs.clamp_waits(now + LONGEST_WAIT_MS))
        return len(abandoned)

    def _last_beat(self, job: Job, moment: float) -> tuple[int, float]:
        """(beat, when this rescuer first saw that beat)."""
        seen = self._beats.get((job.id, job.fence))
        return seen if seen is not None and seen[0] == job.beat else (job.beat, moment)

    def _abandoned(self, job: Job, moment: float) -> str | None:
        owner = job.lease_owner or ""
        silent = moment - self._beats[job.id, job.fence][1]
        if owner == self._runs.owner:
            lost = not self._runs.runs(job.id, job.fence) and silent > OWN_SILENCE_SECONDS
            return "rescued:dead" if lost else None
        if not lease.is_alive(self._run_folder, owner):
            return "rescued:dead"
        return "rescued:lease" if silent > LEASE_SECONDS else None

    def forget_published(self) -> None:
        """Publish everything again: the queue file is new or was lost."""
        with self._db.transaction() as tx:
            tx.run(jobs.forget_published())
        self._version = -1

    def has_work(self) -> bool:
        """True when something runs here or waits for its moment; what is paused for a person does not count."""
        return not self._runs.is_idle or self._db.first(jobs.has_work(self._now())) is not None

    def stop_asked(self) -> bool:
        """True when a stop was asked for after this worker started."""
        asked = self._db.first(workers.stop_asked_at())
        return asked is not None and asked >= self.started_at

    def _now(self) -> int:
        return millis(self._clock.now())
