"""The worker process as the commands see it: start one, ask it to leave, say how it is (product D5)."""

import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mex_pipeline import __version__, lease
from mex_pipeline.app import App, OpenHome
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.errors import ExternalError
from mex_pipeline.paths import PRIVATE_FILE, Home
from mex_pipeline.services.pauses import current
from mex_pipeline.store import job_reports, workers

Presence = Literal["running", "spawned", "absent"]
HAND_OVER = ("--wait", "60s")
"""Options of a worker that is started while another one leaves."""


def lock_file(home: Home) -> Path:
    """The file whose lock makes the worker a single instance."""
    return home.run / "worker.lock"


def next_lock_file(home: Home) -> Path:
    """The file whose lock is held by the one worker that waits for the other to leave."""
    return home.run / "worker-next.lock"


def is_running(home: Home) -> bool:
    """True while a worker holds the single-instance lock."""
    return lease.is_held(lock_file(home))


def ensure_running(app: OpenHome) -> Presence:
    """Start a worker when none lives, or only one of an older version, and the settings allow it; waits for nothing."""
    if is_running(app.home):
        return "spawned" if app.settings.worker.autostart and _take_over(app) else "running"
    if not app.settings.worker.autostart:
        return "absent"
    spawn(app.home)
    return "spawned"


def _take_over(app: OpenHome) -> bool:
    """Ask workers of an older version to leave and start one of this version; False when there are none."""
    if not any(is_older(row["version"], __version__) for row in _live(app)):
        return False
    with app.db.transaction() as tx:
        tx.run(workers.ask_stop(millis(app.clock.now()), newer=__version__))
    if not lease.is_held(next_lock_file(app.home)):
        spawn(app.home, *HAND_OVER)
    return True


def is_older(version: str, than: str) -> bool:
    """True when a version is certainly older than another: by its numbers, and a pre-release before its release."""
    one, other = _order(version), _order(than)
    return one is not None and other is not None and one < other


def _order(version: str) -> tuple[tuple[int, ...], bool] | None:
    """A value that sorts as the version does; None for what has no numbers, which is neither older nor newer."""
    found = re.match(r"(\d+(?:\.\d+)*)(.*)", version)
    if found is None:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), not found[2] or found[2].startswith(("+", ".post"))


def spawn(home: Home, *options: str) -> None:
    """Start a worker that outlives this process and its terminal; a second one leaves by itself when the lock is taken."""
    import subprocess  # noqa: PLC0415 - 3 ms that only the command that starts a worker pays

    log = os.open(home.logs / "worker.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
    try:
        subprocess.Popen(
            [sys.executable, "-m", "mex_workers", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
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
    """Start a worker and wait until it is there; False when one ran already. Raises ExternalError when none comes up.

    One of an older version is replaced, which is not waited for.
    """
    if is_running(app.home):
        return _take_over(app)
    spawn(app.home, *options)
    deadline = time.monotonic() + timeout
    while not is_running(app.home):
        if time.monotonic() >= deadline:
            raise ExternalError("worker_not_started", detail=str(app.home.logs / "worker.err"))
        time.sleep(0.05)
    return True


def stop(app: App, timeout: float = 30.0) -> bool:
    """Ask the worker to finish and leave, and wait for it; False when none ran. Its jobs stay queued for the next."""
    live = [row["owner"] for row in _live(app)]
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


def _live(app: OpenHome) -> list[dict[str, Any]]:
    return [row for row in app.db.all(workers.all_rows()) if _lives(app, row["owner"])]


def _lives(app: OpenHome, owner: str) -> bool:
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
    live = tuple(
        {key: row[key] for key in ("owner", "host", "pid", "version")}
        | {"started_at": iso_of_millis(row["started_at"]), "seen_at": iso_of_millis(row["seen_at"])}
        for row in _live(app)
    )
    paused = tuple(
        {"scope": one.scope, "until": iso_of_millis(one.until), "reason": one.reason} for one in current(app)
    )
    return WorkerStatus(is_running(app.home), live, paused, dict(app.db.all(job_reports.jobs_by_state())))


def will_run(app: App) -> bool:
    """True when a live worker may run waiting jobs; a command that runs its own job is none."""
    return is_running(app.home) or bool(_live(app))
