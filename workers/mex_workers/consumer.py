"""The worker's life: one instance, a tick that publishes and rescues, idle exit with a second look, graceful drain."""

import asyncio
import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass

from mex_pipeline import __version__, lease
from mex_pipeline.bootstrap import run_job
from mex_pipeline.clock import SystemClock, monotonic
from mex_pipeline.errors import DatabaseDamaged, DatabaseNewer, MexError
from mex_pipeline.jobqueue import DRAIN_SECONDS, JobQueue, require
from mex_pipeline.logs import open_worker_log
from mex_pipeline.paths import Home
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.services.watch import Watch, stop_mark, waiting_job
from mex_pipeline.services.workers import HAND_OVER, lock_file, next_lock_file, spawn
from mex_workers.memory import resident_bytes

LOOK_SECONDS = 0.5
SHORT_WAIT = 0.25
MOST_BYTES = 400_000_000
"""How much memory an idle worker may hold."""
SERVED, REPLACE_ME = 0, 75
"""Exit statuses: left as asked, or left so that a fresh process takes over (EX_TEMPFAIL: a service starts it again)."""

log = logging.getLogger("mex.worker")


@dataclass(frozen=True, slots=True)
class Options:
    """How a worker serves. `idle` and `wait` are seconds.

    It leaves after `idle` without work (None = never) and waits for `wait` until another worker has left (None = as long
    as it takes). `extra` runs beside another worker: the claims keep them apart. `queue_url` names the server that
    carries the wake-ups, empty = queue.db. `words` are the options a successor is started with.
    """

    threads: int
    idle: float | None
    wait: float | None
    extra: bool
    queue_url: str
    words: tuple[str, ...]


def run(home: Home, options: Options) -> int | None:
    """Serve the jobs of a home and return the exit status; None when another worker already does.

    Raises NotConfigured (`queue_no_redis`) when the package of the queue's server is missing.
    """
    require(options.queue_url)
    mark = stop_mark(home)
    lock = lease.FileLock(lock_file(home))
    if not options.extra and not _is_next(home, lock, options.wait):
        return None
    with suppress(OSError):
        lock.note(f"{os.getpid()} {__version__}\n")
    open_worker_log(home.logs / "worker.log")
    owner = lease.Owner(home.run)
    try:
        with Runs(owner.name, home.database) as runs:
            log.info("started", extra={"threads": options.threads, "version": __version__})
            return _Worker(home, runs, options, lock, mark).serve()
    finally:
        owner.close()
        lock.release()
        log.info("left")


def _is_next(home: Home, lock: lease.FileLock, seconds: float | None) -> bool:
    """Take the single-instance lock, waiting for it as the only one that waits; False when somebody else has it."""
    if _acquire(lock, 0):
        return True
    waiting = lease.FileLock(next_lock_file(home))
    try:
        return _acquire(waiting, SHORT_WAIT) and _acquire(lock, seconds)
    finally:
        waiting.release()


def _acquire(lock: lease.FileLock, seconds: float | None) -> bool:
    """Take a lock; a command that only probes it holds it for a moment, so ask more than once."""
    deadline = None if seconds is None else monotonic() + seconds
    while not lock.acquire():
        if deadline is not None and monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


class _Worker:
    """What the consumer's threads share."""

    def __init__(self, home: Home, runs: Runs, options: Options, lock: lease.FileLock, mark: int) -> None:
        self._home = home
        self._runs = runs
        self._options = options
        self._lock = lock
        self._queue = JobQueue(home.queue, self._handle, on_lost=self._on_lost, url=options.queue_url)
        self._watch = Watch(home, runs, SystemClock(), self._queue.publish, mark)
        self._busy_at = self._looked_at = monotonic()
        self._has_run = False
        self._status = SERVED

    def serve(self) -> int:
        """Work until told to stop or idle for long enough; returns the exit status.

        Before it leaves, an idle worker gives its lock back and looks once more: a job that was queued in between saw a
        live worker and started none.
        """
        self._queue.open(fresh=not self._options.extra)
        try:
            while True:
                self._busy_at = monotonic()
                self._queue.run(threads=self._options.threads, tick=self._tick, on_signal=self._drain)
                if self._runs.stop.is_set():
                    break
                self._lock.release()
                if not self._watch.has_work() or not (self._options.extra or _acquire(self._lock, SHORT_WAIT)):
                    break
            self._put_back()
        finally:
            self._queue.close()
            self._watch.goodbye()
        return self._status

    def _put_back(self) -> None:
        """Wait for what still runs: an idle worker that another one has followed may have taken a wake-up at the last."""
        self._runs.stop.set()
        deadline = monotonic() + DRAIN_SECONDS
        while not self._runs.is_idle and monotonic() < deadline:
            time.sleep(0.05)

    def _drain(self) -> None:
        """Put back what runs. The lock goes first: a job that is queued from now on starts another worker."""
        self._lock.release()
        self._runs.stop.set()

    def _leave(self, why: str, status: int = SERVED) -> None:
        """Leave for a reason, which is logged once."""
        if not self._runs.stop.is_set():
            log.info(why)
            self._status = status
            self._drain()
        self._queue.leave()

    def _leave_to_successor(self, why: str) -> None:
        """Leave because this process is no longer fit to work; while jobs wait, another is started in its place."""
        self._leave(why, REPLACE_ME)
        if self._watch.has_work():
            spawn(self._home, *self._options.words, *HAND_OVER)

    def _leave_untouched(self, error: MexError) -> None:
        """Leave mex.db to the later meX that has changed its structure, or to the person who has to mend it."""
        self._runs.hands_off = True
        if isinstance(error, DatabaseNewer):
            self._leave("mex.db is newer", REPLACE_ME)
        else:
            self._leave("mex.db is damaged", error.exit_code)

    def _handle(self, job_id: str) -> None:
        try:
            job = waiting_job(self._home, job_id)
            if job is None:
                return
            with self._runs.slots.slot(job, lambda: waiting_job(self._home, job_id) is not None) as admitted:
                if admitted:
                    self._run(job_id)
        except (DatabaseNewer, DatabaseDamaged) as error:
            self._leave_untouched(error)
        except Exception as error:  # noqa: BLE001 - whatever it was, the wake-up was used up and nothing came of it
            log.warning("job", extra={"job": job_id, "error": getattr(error, "code", type(error).__name__)})
            self._runs.stop.wait(1.0)
            self._watch.forget_published()

    def _run(self, job_id: str) -> None:
        started = monotonic()
        if asyncio.run(run_job(self._home, job_id, self._runs)):
            self._has_run = True
            log.info("job", extra={"job": job_id, "ms": int(1000 * (monotonic() - started))})

    def _tick(self) -> None:
        if self._runs.hands_off:
            return
        try:
            self._watch.tick()
            moment = monotonic()
            if moment - self._looked_at >= LOOK_SECONDS:
                self._looked_at = moment
                self._look(moment)
        except (DatabaseNewer, DatabaseDamaged) as error:
            self._leave_untouched(error)
        except MexError as error:
            log.warning("tick", extra={"error": error.code})

    def _look(self, moment: float) -> None:
        """Leave when there is a reason to, or nothing to do for long enough."""
        asked = self._watch.stop_asked()
        if asked is not None:
            self._leave("asked to leave", REPLACE_ME if asked == "newer" else SERVED)
        elif self._watch.has_newer_jobs:
            self._leave("jobs are newer", REPLACE_ME)
        elif self._runs.stop.is_set():
            return
        elif self._runs.slots.is_blocked():
            self._leave_to_successor("a thread is blocked")
        elif self._has_run and self._runs.is_idle and resident_bytes() > MOST_BYTES:
            self._leave_to_successor("memory is not given back")
        elif self._watch.has_work():
            self._busy_at = moment
        else:
            self._rest(moment)

    def _rest(self, moment: float) -> None:
        self._watch.settle()
        if self._options.idle is not None and moment - self._busy_at >= self._options.idle:
            self._queue.leave()

    def _on_lost(self) -> None:
        log.warning("queue lost")
        self._watch.forget_published()
