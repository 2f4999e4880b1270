"""The worker process as the commands see it: start one, ask it to leave, say how it is (product D5)."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mex_pipeline import lease
from mex_pipeline.app import App
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.errors import ExternalError
from mex_pipeline.paths import PRIVATE_FILE, Home
from mex_pipeline.store import jobs, stats, workers

Presence = Literal["running", "spawned", "absent"]


def lock_file(home: Home) -> Path:
    """The file whose lock makes the worker a single instance."""
    return home.run / "worker.lock"


def is_running(home: Home) -> bool:
    """True while a worker holds the single-instance lock."""
    return lease.is_held(lock_file(home))


def ensure_running(app: App) -> Presence:
    """Start a worker when none lives and the settings allow it."""
    if is_running(app.home):
        return "running"
    if not app.settings.worker.autostart:
        return "absent"
    spawn(app.home)
    return "spawned"


def spawn(home: Home, *options: str) -> None:
    """Start a worker that outlives this process and its terminal; a second one leaves by itself when the lock is taken."""
    log = os.open(home.logs / "worker.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
    try:
        subprocess.Popen(
            [sys.executable, "-m", "mex_workers", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.root,
            env=os.environ | {"MEX_HOME": str(home.root)},
            start_new_session=True,
            close_fds=True,
        )
    except OSError as error:
        raise ExternalError("worker_not_started", detail=error.strerror or "") from error
    finally:
        os.close(log)


def start(app: App, *options: str, timeout: float = 10.0) -> bool:
    """Start a worker and wait until it is there; False when one ran already. Raises ExternalError when none comes up."""
    if is_running(app.home):
        return False
    spawn(app.home, *options)
    deadline = time.monotonic() + timeout
    while not is_running(app.home):
        if time.monotonic() >= deadline:
            raise ExternalError("worker_not_started", detail=str(app.home.logs / "worker.err"))
        time.sleep(0.05)
    return True


def stop(app: App, timeout: float = 30.0) -> bool:
    """Ask the worker to finish and leave, and wait for it; False when none ran. Its jobs stay queued for the next."""
    live = _live_owners(app)
    if not is_running(app.home) and not live:
        return False
    with app.db.transaction() as tx:
        tx.run(workers.ask_stop(millis(app.clock.now())))
    deadline = time.monotonic() + timeout
    while is_running(app.home) or any(_lives(app, owner) for owner in live):
        if time.monotonic() >= deadline:
            raise ExternalError("worker_not_stopped", seconds=int(timeout))
        time.sleep(0.05)
    return True


def _live_owners(app: App) -> list[str]:
    return [row["owner"] for row in app.db.all(workers.all_rows()) if _lives(app, row["owner"])]


def _lives(app: App, owner: str) -> bool:
    return lease.is_held(app.home.run / f"{owner}.lock")


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """Whether a worker lives, which processes work, what is paused, and the number of jobs per state."""

    running: bool
    workers: tuple[dict[str, Any], ...]
    paused: tuple[dict[str, Any], ...]
    jobs: dict[str, int]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "running": self.running,
            "workers": list(self.workers),
            "paused": list(self.paused),
            "jobs": self.jobs,
        }


def status(app: App) -> WorkerStatus:
    """Return how the worker is; whether a process lives is asked of the kernel."""
    rows = [row for row in app.db.all(workers.all_rows()) if _lives(app, row["owner"])]
    live = tuple(
        {key: row[key] for key in ("owner", "host", "pid", "version")}
        | {"started_at": iso_of_millis(row["started_at"]), "seen_at": iso_of_millis(row["seen_at"])}
        for row in rows
    )
    paused = tuple(
        {"scope": row["scope"], "until": iso_of_millis(row["paused_until"]), "reason": row["reason"]}
        for row in app.db.all(workers.paused(millis(app.clock.now())))
    )
    return WorkerStatus(is_running(app.home), live, paused, dict(app.db.all(stats.jobs_by_state())))


def will_run(app: App) -> bool:
    """True when a live process may run waiting jobs."""
    return is_running(app.home) or any(_lives(app, job.lease_owner or "") for job in app.db.all(jobs.running()))
