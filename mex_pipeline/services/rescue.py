"""Taking back jobs whose process is gone (docs/jobs.md)."""

from mex_pipeline import lease
from mex_pipeline.app import App
from mex_pipeline.clock import millis
from mex_pipeline.services import endings
from mex_pipeline.store import jobs


def rescue_dead(app: App) -> int:
    """Take back every running job whose owner's file lock is free; returns how many. For commands; the worker watches."""
    now = millis(app.clock.now())
    dead = [job for job in app.db.all(jobs.running()) if not lease.is_alive(app.home.run, job.lease_owner or "")]
    return sum(endings.leave(app.db, job, endings.for_crash(job, now, how="rescued:dead"), now) for job in dead)
