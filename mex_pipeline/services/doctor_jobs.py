"""What `mex doctor` asks of the jobs: what must hold of them and of what they wrote, who waits for whom (docs/jobs.md)."""

import time

from mex_pipeline import lease
from mex_pipeline.app import App
from mex_pipeline.clock import Clock, millis
from mex_pipeline.domain.job import JobState
from mex_pipeline.paths import Home
from mex_pipeline.services import jobs, workers
from mex_pipeline.services.findings import FIX, Check, Item, Status, found
from mex_pipeline.services.pauses import Configured, Pause, current, parked
from mex_pipeline.services.rescue import rescue_dead
from mex_pipeline.services.upkeep import drop_dead_workers
from mex_pipeline.store import invariants
from mex_pipeline.store import jobs as job_rows
from mex_pipeline.store import upkeep as upkeep_rows
from mex_pipeline.store.database import Database
from mex_pipeline.store.invariants import Violation

PUBLISHED_WITHIN = 2.0
"""Seconds within which a live worker sends out a job that is due."""
_OF_SOURCES = frozenset({"jobs_two_run", "jobs_two_wait", "jobs_read_unended", "jobs_leftovers"})
_COMMANDS = {"jobs_not_sent": (FIX, "mex worker stop"), "jobs_leftovers": (FIX,)}


def violations(db: Database, home: Home, clock: Clock) -> list[Violation]:
    """Return every row that breaks an invariant; a sound home has none."""
    with db.snapshot():
        broken = [one for query in invariants.of_rows() for one in db.all(query)]
    return broken + (_stuck(db, home, clock) if workers.is_running(home) else [])


def _stuck(db: Database, home: Home, clock: Clock) -> list[Violation]:
    """I8: due jobs that a live worker does not send out. Looked at twice, for a busy worker needs a moment."""
    endpoint = Configured(home.config).scope()

    def unsent() -> set[str]:
        return {job_id for job_id, _ in db.all(job_rows.due(millis(clock.now()), endpoint))}

    early = unsent()
    if early:
        time.sleep(PUBLISHED_WITHIN)
    still = early & unsent() if early and workers.is_running(home) else set()
    return [Violation("I8", "jobs_not_sent", job_id) for job_id in sorted(still)]


def check(app: App) -> Check:
    """Return how the jobs stand: what is broken, what a dead process left running, and what waits for a person."""
    broken = [_item(one) for one in violations(app.db, app.home, app.clock)]
    stranded = [
        Item("job_stranded", {"id": job.id}, (FIX,))
        for job in app.db.all(job_rows.running())
        if not lease.is_held(app.home.run / f"{job.lease_owner}.lock")
    ]
    waiting = [
        Item("job_waits", {"id": job.id, "reason": job.reason}, (_remedy(job.reason), f"mex jobs retry {job.id}"))
        for job in jobs.page(app, states=(JobState.QUEUED, JobState.RETRYING), limit=jobs.MAX_LIMIT)
        if job.reason in jobs.PAUSED_REASONS or job.reason == jobs.SETTINGS
    ]
    held = [*current(app), *parked(app)]
    asked = [Item("jobs_paused", commands=("mex jobs resume",))] if any(one.by_person for one in held) else []
    over = [item for one in held if (item := _over_budget(app, one)) is not None]
    items = broken + stranded + waiting + asked + over
    return found("jobs", items, Status.PROBLEM if broken or stranded else Status.WARNING)


def _over_budget(app: App, pause: Pause) -> Item | None:
    """What a budget holds back, in numbers: every job that asks a model, or one of them."""
    if pause.today is not None:
        return Item("budget_day", {"spent": pause.today.spent, "cap": pause.today.cap or 0}, ("mex jobs resume",))
    job = None if pause.job_id is None else app.db.first(job_rows.one(pause.job_id))
    if job is None or not job.last_error:
        return None
    told = job.last_error["params"]
    facts = {"id": job.id, "reason": pause.reason, "wanted": told.get("spent", 0) + told.get("next", 0)}
    return Item("budget_job", facts | {"cap": told.get("cap", 0)}, (f"mex jobs retry {job.id} --over-budget",))


def _item(one: Violation) -> Item:
    name = "source" if one.code in _OF_SOURCES else "id"
    return Item(one.code, {name: one.subject}, _COMMANDS.get(one.code, ()))


def _remedy(reason: str) -> str:
    return "mex schema --check" if reason == jobs.SETTINGS else "mex config llm"


def repair(app: App) -> int:
    """Take back jobs of dead processes, strike out dead workers, drop leftovers and have due jobs sent out again.

    Returns how much was done.
    """
    done = rescue_dead(app)
    done += drop_dead_workers(app.db, app.home)
    with app.db.transaction() as tx:
        done += tx.run(upkeep_rows.drop_orphaned_replies()) + tx.run(upkeep_rows.forget_ended_texts())
        tx.run(job_rows.forget_published())
    return done
