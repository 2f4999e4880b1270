"""The worker's watch over the job table: publish what is due, rescue what was abandoned (docs/jobs.md)."""

import os
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Literal

from mex_pipeline import __version__, faults, lease
from mex_pipeline.clock import Clock, millis, monotonic
from mex_pipeline.domain.job import PAYLOAD_V, Job
from mex_pipeline.errors import MexError
from mex_pipeline.paths import Home
from mex_pipeline.services import endings
from mex_pipeline.services.heartbeat import LEASE_SECONDS, Runs
from mex_pipeline.services.pauses import Configured
from mex_pipeline.services.upkeep import Upkeep
from mex_pipeline.services.workers import is_older
from mex_pipeline.store import jobs, migrations, workers
from mex_pipeline.store.database import Database

LOOK_SECONDS = 1.0
RESCUE_SECONDS = LEASE_SECONDS / 12
OWN_SILENCE_SECONDS = 2.0
LONGEST_WAIT_MS = 3_600_000
LeaveReason = Literal["stop", "newer"]


def stop_mark(home: Home) -> int:
    """Return the mark that a request to stop will change; read it before taking the lock that such a request looks at."""
    with closing(Database.open(home.database)) as db:
        return (db.first(workers.stop_request()) or (0, None))[0]


def waiting_job(home: Home, job_id: str) -> Job | None:
    """Return the job of a wake-up while it waits; None for a stale one. Raises DatabaseNewer."""
    with closing(Database.open(home.database)) as db:
        migrations.refuse_newer(migrations.version(db), home.database)
        job = db.first(jobs.one(job_id))
    return job if job is not None and job.state.is_waiting else None


class Watch:
    """Looks at the jobs on every tick. A wake-up is only a hint: the claim decides, so sending it twice is harmless.

    `publish(job_id, priority)` puts a wake-up on the queue; False when it could not. `mark` is what `stop_mark` gave.
    `has_newer_jobs` says that a job waits which only a later meX understands.
    """

    def __init__(self, home: Home, runs: Runs, clock: Clock, publish: Callable[[str, int], bool], mark: int) -> None:
        self._db = Database.open(home.database)
        self._file = home.database
        self._inode = home.database.stat().st_ino
        self._runs = runs
        self._run_folder = home.run
        self._clock = clock
        self._publish = publish
        self._endpoint = Configured(home.config)
        self._upkeep = Upkeep(home, clock)
        self._stop_mark = mark
        self._version = -1
        self._looked = self._rescued = self._rescued_others = float("-inf")
        self._beats: dict[tuple[str, int], tuple[int, float]] = {}
        self.has_newer_jobs = False
        self._is_known = False
        self._must_forget = True
        self._started_at = millis(clock.now())

    def _hello(self) -> None:
        """Write down this worker for `mex worker status`, and strike out those that are no more."""
        dead = [row["owner"] for row in self._db.all(workers.all_rows()) if not self._lives(row["owner"])]
        hello = workers.hello(self._runs.owner, socket.gethostname(), os.getpid(), __version__, self._started_at)
        with self._db.transaction() as tx:
            tx.run(*(workers.gone(owner) for owner in dead), hello)
        self._is_known = True

    def _lives(self, owner: str) -> bool:
        return lease.is_alive(self._run_folder, owner)

    def goodbye(self) -> None:
        """Remove this worker's row and close the database, which is not touched when it is not for us any more."""
        if not self._runs.hands_off:
            with suppress(MexError):
                Database.open(self._file).close()  # raises for a file that was overwritten: what is left of it stays
                with self._db.transaction() as tx:
                    tx.run(workers.gone(self._runs.owner))
                self.settle()
        self._db.close()

    def settle(self) -> None:
        """Bring everything from the WAL into mex.db, so that a plain copy of it at rest is complete (product D6)."""
        wal = self._file.with_name(self._file.name + "-wal")
        if wal.exists() and wal.stat().st_size:
            self._db.script("PRAGMA wal_checkpoint(TRUNCATE);")

    def tick(self) -> None:
        """Look once: cheap while nothing has changed (one PRAGMA). What fails (a locked file, a full disk) comes again.

        Raises DatabaseNewer, and has written nothing then, when a later meX has changed the structure; DatabaseDamaged when
        another hand has overwritten the file.
        """
        moment = monotonic()
        version = self._db.data_version()
        if version != self._version:
            migrations.refuse_newer(migrations.version(self._db), self._file)
        if not self._is_known:
            self._hello()
        if self._must_forget:
            with self._db.transaction() as tx:
                tx.run(jobs.forget_published())
            self._must_forget, self._version = False, -1
        self._look_for_abandoned(moment)
        if version != self._version or moment - self._looked >= LOOK_SECONDS:
            self._version, self._looked = version, moment
            self.relay()
            self._upkeep.tick()

    def relay(self) -> int:
        """Publish every due job: first the wake-up, then the mark, so that a crash doubles a hint and never loses one."""
        now, scope = self._now(), self._endpoint.scope()
        sent = [job_id for job_id, priority in self._db.all(jobs.due(now, scope)) if self._publish(job_id, priority)]
        if sent:
            faults.point("published")
            with self._db.transaction() as tx:
                tx.run(*(jobs.mark_published(job_id, now, scope) for job_id in sent))
        return len(sent)

    def _look_for_abandoned(self, moment: float) -> None:
        """Rescue what is due for a look: the runs of this process more often, for here it is known what runs."""
        silent = moment - self._rescued
        if silent < min(LOOK_SECONDS, RESCUE_SECONDS):
            return
        if silent > LEASE_SECONDS / 2:
            self._beats = {}  # this process slept, and so may those have that it watches
        self._rescued = moment
        others = moment - self._rescued_others >= RESCUE_SECONDS
        if others:
            self._rescued_others = moment
            Database.open(self._file).close()  # raises DatabaseDamaged for a file that was overwritten under us
            self._clamp(self._now())
            self.has_newer_jobs = self._db.first(jobs.has_newer()) is not None
        if self.rescue(others=others):
            self._version = -1  # what is committed here changes no data version here, yet it is due at once

    def rescue(self, *, others: bool = True) -> int:
        """Take back jobs whose process is dead (its file lock is free), or silent for a lease on our own clock, or stuck here.

        Wall clocks are never compared, so neither a clock step nor a suspend steals a live job. Without `others` only the
        runs of this process are looked at.
        """
        now, moment = self._now(), monotonic()
        running = [job for job in self._db.all(jobs.running()) if others or job.lease_owner == self._runs.owner]
        beats = {(job.id, job.fence): self._last_beat(job, moment) for job in running}
        self._beats = beats if others else self._beats | beats
        abandoned = [(job, how) for job in running if (how := self._abandoned(job, moment)) is not None]
        for job, how in abandoned:
            endings.leave(self._db, job, self._runs.owed(job) or endings.for_crash(job, now, how=how), now)
            self._runs.settled(job)
            self._runs.end(job)
        return len(abandoned)

    def _clamp(self, now: int) -> None:
        """Undo what a clock that was set back has put off; nothing is written while nothing is."""
        latest = now + LONGEST_WAIT_MS
        if self._db.first(jobs.has_later(latest)) or self._db.first(workers.overdue(latest)):
            with self._db.transaction() as tx:
                tx.run(jobs.clamp_waits(latest), workers.clamp_pauses(now, latest))

    def _last_beat(self, job: Job, moment: float) -> tuple[int, float]:
        """(beat, when this rescuer first saw that beat)."""
        seen = self._beats.get((job.id, job.fence))
        return seen if seen is not None and seen[0] == job.beat else (job.beat, moment)

    def _abandoned(self, job: Job, moment: float) -> str | None:
        owner = job.lease_owner or ""
        silent = moment - self._beats[job.id, job.fence][1]
        if job.payload_v > PAYLOAD_V:
            return None
        if owner == self._runs.owner:
            if self._runs.is_stuck(job.id, job.fence):
                return "rescued:stuck"
            lost = not self._runs.runs(job.id, job.fence) and silent > OWN_SILENCE_SECONDS
            return "rescued:dead" if lost else None
        if not self._lives(owner):
            return "rescued:dead"
        return "rescued:lease" if silent > LEASE_SECONDS else None

    def forget_published(self) -> None:
        """Have the next tick publish everything again: the queue file is new, or a wake-up came to nothing."""
        self._must_forget = True

    def has_work(self) -> bool:
        """True when something runs here or waits for its moment; what is paused for a person does not count."""
        return not self._runs.is_idle or self._db.first(jobs.has_work(self._now(), self._endpoint.scope())) is not None

    def stop_asked(self) -> LeaveReason | None:
        """Return why this worker should leave: asked to since the mark it began with, by a person or by a newer meX.

        A worker also leaves when mex.db is another file now. A request of a meX that is not newer asks somebody else.
        """
        mark, newer = self._db.first(workers.stop_request()) or (self._stop_mark, None)
        if mark != self._stop_mark:
            if newer is None:
                return "stop"
            if is_older(__version__, newer):
                return "newer"
            self._stop_mark = mark
        try:
            return None if self._file.stat().st_ino == self._inode else "stop"
        except OSError:
            return "stop"

    def _now(self) -> int:
        return millis(self._clock.now())
