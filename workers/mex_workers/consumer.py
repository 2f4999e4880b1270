"""The worker's life: one instance, a tick that publishes and rescues, idle exit with a second look, graceful drain."""

import asyncio
import logging
import os
import time
from contextlib import suppress

from mex_pipeline import __version__, lease
from mex_pipeline.bootstrap import run_job
from mex_pipeline.clock import SystemClock, monotonic
from mex_pipeline.errors import MexError
from mex_pipeline.jobqueue import JobQueue
from mex_pipeline.logs import open_worker_log
from mex_pipeline.paths import Home
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.services.watch import Watch, stop_mark
from mex_pipeline.services.workers import lock_file

log = logging.getLogger("mex.worker")


def run(home: Home, *, threads: int, idle: float | None, extra: bool) -> bool:
    """Serve the jobs of a home; False when another worker already does. `idle` is in seconds, None = never leave.

    `extra` runs beside another worker: the claims keep them apart.
    """
    mark = stop_mark(home)
    lock = lease.FileLock(lock_file(home))
    if not extra and not _acquire(lock):
        return False
    with suppress(OSError):
        lock.note(f"{os.getpid()} {__version__}\n")
    open_worker_log(home.logs / "worker.log")
    owner = lease.Owner(home.run)
    try:
        with Runs(owner.name, home.database, SystemClock()) as runs:
            log.info("started", extra={"threads": threads, "version": __version__})
            _Worker(home, runs, idle, lock, mark).serve(threads, extra=extra)
    finally:
        owner.close()
        lock.release()
        log.info("left")
    return True


def _acquire(lock: lease.FileLock) -> bool:
    """Take the single-instance lock; a command that only probes it holds it for a moment, so ask more than once."""
    for _ in range(5):
        if lock.acquire():
            return True
        time.sleep(0.05)
    return False


class _Worker:
    """What the consumer's threads share."""

    def __init__(self, home: Home, runs: Runs, idle: float | None, lock: lease.FileLock, mark: int) -> None:
        self._home = home
        self._runs = runs
        self._idle = idle
        self._lock = lock
        self._queue = JobQueue(home.queue, self._handle, on_lost=self._on_lost)
        self._watch = Watch(home, runs, SystemClock(), self._queue.publish, mark)
        self._busy_at = self._looked_at = monotonic()

    def serve(self, threads: int, *, extra: bool) -> None:
        """Work until told to stop or idle for long enough.

        Before it leaves, an idle worker gives its lock back and looks once more: a job that was queued in between saw a
        live worker and started none.
        """
        self._queue.open(fresh=not extra)
        try:
            while True:
                self._busy_at = monotonic()
                self._queue.run(threads=threads, tick=self._tick, on_signal=self._drain)
                if self._runs.stop.is_set():
                    break
                self._lock.release()
                if not self._watch.has_work() or not (extra or _acquire(self._lock)):
                    break
        finally:
            self._queue.close()
            self._watch.goodbye()

    def _drain(self) -> None:
        """Put back what runs. The lock goes first: a job that is queued from now on starts another worker."""
        self._lock.release()
        self._runs.stop.set()

    def _handle(self, job_id: str) -> None:
        if self._runs.stop.is_set():
            return
        started = monotonic()
        try:
            ran = asyncio.run(run_job(self._home, job_id, self._runs))
        except Exception as error:  # noqa: BLE001 - whatever it was, the wake-up was used up and nothing came of it
            log.warning("job", extra={"job": job_id, "error": getattr(error, "code", type(error).__name__)})
            self._runs.stop.wait(1.0)
            self._watch.forget_published()
            return
        if ran:
            log.info("job", extra={"job": job_id, "ms": int(1000 * (monotonic() - started))})

    def _tick(self) -> None:
        try:
            self._watch.tick()
            moment = monotonic()
            if moment - self._looked_at < 0.5:
                return
            self._looked_at = moment
            if self._watch.stop_asked():
                self._drain()
                self._queue.leave()
            elif self._watch.has_work():
                self._busy_at = moment
            else:
                self._rest(moment)
        except MexError as error:
            log.warning("tick", extra={"error": error.code})

    def _rest(self, moment: float) -> None:
        self._watch.settle()
        if self._idle is not None and moment - self._busy_at >= self._idle:
            self._queue.leave()

    def _on_lost(self) -> None:
        log.warning("queue file replaced")
        self._watch.forget_published()
