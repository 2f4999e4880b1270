"""The conversations of an archive as a person sees them: counted, waited for, run in front of them, given up (docs/jobs.md)."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import millis
from mex_pipeline.domain.job import BUDGET_DAILY, FINAL, Job, JobState
from mex_pipeline.services import jobs
from mex_pipeline.services.pauses import parked
from mex_pipeline.store import archives, job_reports
from mex_pipeline.store import jobs as job_rows
from mex_pipeline.store.database import Database

_NAMES = ("added", "updated", "retired", "discarded")
HOPELESS = jobs.PAUSED_REASONS | {"llm_unreachable", "llm_rate_limited", BUDGET_DAILY}
"""Errors of an endpoint, not of a conversation: in the foreground the others would fail just so, one after the other."""


@dataclass(frozen=True, slots=True)
class Children:
    """The jobs of an archive's conversations, all together; `usage` as in a job's result, without the model."""

    states: dict[str, int]
    outcomes: dict[str, int]
    written: dict[str, int]
    usage: dict[str, int]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.states.values())

    @property
    def ended(self) -> int:
        """How many of them have ended."""
        return sum(number for state, number in self.states.items() if JobState(state) in FINAL)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"states": self.states, "outcomes": self.outcomes, **self.written, "usage": self.usage}


def of(db: Database, archive: Job) -> Children:
    """Return the conversations of an archive's job so far; those it joined are counted too."""
    rows = db.all(archives.children(archive.id))
    states, outcomes, sums = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        states[row["state"]] += row["jobs"]
        if row["outcome"] is not None:
            outcomes[row["outcome"]] += row["jobs"]
        sums.update({name: row[name] for name in (*_NAMES, "reused")})
    spent = db.first(archives.spent(archive.id)) or {}
    usage = {"calls": spent["calls"], "reused": sums["reused"]} | spent if rows else _nothing_spent()
    return Children(dict(states), dict(outcomes), {name: sums[name] for name in _NAMES}, usage)


def _nothing_spent() -> dict[str, int]:
    return dict.fromkeys(("calls", "reused", "prompt_tokens", "completion_tokens"), 0)


def unfinished(db: Database, archive: Job) -> list[str]:
    """Return the ids of an archive's conversations that have not ended, in the order of the export."""
    return db.all(archives.unfinished(archive.id)) if archive.kind == jobs.ARCHIVE else []


def failed(db: Database, archive: Job, limit: int = jobs.MAX_LIMIT) -> list[Job]:
    """Return the jobs of an archive that failed, its own among them, the newest first; none for another job."""
    if archive.kind != jobs.ARCHIVE:
        return []
    return db.all(job_reports.page(states=(JobState.FAILED,), batch=archive.id, limit=limit))


def are_held(app: App, archive: Job) -> bool:
    """True when some conversations have not ended, and each of these waits for a person."""
    left = app.db.all(archives.unfinished_states(archive.id))
    all_wait = any(pause.outlasts_a_wait for pause in jobs.pauses(app))
    alone = {jobs.SETTINGS} | {pause.reason for pause in parked(app)}
    return bool(left) and all(state != JobState.RUNNING and (all_wait or reason in alone) for state, reason in left)


def as_it_stands(app: App, job: Job) -> Job:
    """Return a job as its progress is shown: that of an archive which is handed out is its conversations'."""
    if job.kind != jobs.ARCHIVE or not job.state.is_final or not unfinished(app.db, job):
        return job
    all_of_them = of(app.db, job)
    return replace(job, state=JobState.RUNNING, progress_done=all_of_them.ended, progress_total=all_of_them.total)


def go_on(app: App, archive: Job) -> bool:
    """Let an archive run at once that waits, or has waited, for its conversations; False when it waits for nothing such."""
    if not archive.state.is_waiting or archive.reason not in (None, jobs.CHILDREN):
        return False
    with app.db.transaction() as tx:
        return tx.run(job_rows.run_now(archive.id, millis(app.clock.now()))) == 1


def is_hopeless(job: Job) -> bool:
    """True for a job that failed here for a reason that those after it would meet too."""
    return job.state is JobState.FAILED and (job.last_error or {}).get("code") in HOPELESS


def give_up(app: App, archive: Job, reason: str) -> None:
    """Cancel what of an archive could not be done in front of the person who asked for it (product C8)."""
    for job_id in (archive.id, *unfinished(app.db, archive)):
        jobs.give_up(app, job_id, reason)
