"""Running a job in front of the person who asked, and with an archive all of its conversations (product C1, C8)."""

from collections.abc import Callable

from mex_pipeline.app import App
from mex_pipeline.bootstrap import run_job_here
from mex_pipeline.clock import monotonic
from mex_pipeline.domain.job import Job
from mex_pipeline.services import children, jobs

_TELL_SECONDS = 0.5
"""How far an export is, is counted no more often: counting thousands of conversations takes longer than running one."""


def whole(app: App, job_id: str, tell: Callable[[int, Job], None] = lambda *_: None) -> None:
    """Run a job here until it has ended or must wait; the conversations of an archive after it, one after the other.

    `tell(0, job)` is told how far an archive is. When it is interrupted, or one conversation fails for a reason that all
    others would meet, the rest is cancelled: it is not run later unasked.
    """
    try:
        run_job_here(app, job_id)
        if jobs.get(app.db, job_id).kind == jobs.ARCHIVE:
            _run_children(app, job_id, tell)
    except BaseException:
        children.give_up(app, jobs.get(app.db, job_id), "user")
        raise


def _run_children(app: App, job_id: str, tell: Callable[[int, Job], None]) -> None:
    tried: set[str] = set()
    may_go_on = True
    told_at = -_TELL_SECONDS
    while True:
        job = jobs.get(app.db, job_id)
        left = [one for one in children.unfinished(app.db, job) if one not in tried]
        for chosen in left:
            if monotonic() - told_at >= _TELL_SECONDS:
                told_at = monotonic()
                tell(0, children.as_it_stands(app, job))
            run_job_here(app, chosen)
            tried.add(chosen)
            failed = jobs.get(app.db, chosen)
            if children.is_hopeless(failed):
                children.give_up(app, job, failed.reason or "user")
                return
        if left:
            may_go_on = True
        elif may_go_on and children.go_on(app, job):
            may_go_on = False
            run_job_here(app, job_id)
        else:
            return
