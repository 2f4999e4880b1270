"""How a run ends: what each error means for its job, and the one guarded move out of `running` (docs/jobs.md)."""

import random
from typing import Any

from mex_pipeline.clock import iso_of_millis
from mex_pipeline.domain.job import MAX_BAD_OUTPUTS, MAX_CRASHES, Ending, Job, JobState, Outcome, backoff_ms
from mex_pipeline.errors import (
    DatabaseBusy,
    LLMBadReply,
    LLMRejected,
    LLMUnavailable,
    MexError,
    SourceFormat,
    SourceGone,
    SourceUnreadable,
)
from mex_pipeline.services.jobs import PAUSED_REASONS, SETTINGS
from mex_pipeline.store import jobs, usage, workers
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement

PAUSE_MS = 600_000
"""How long a pause that waits for a person lasts before the endpoint is tried once more by itself."""
HOLD_MS = 60_000


def for_error(error: MexError, job: Job, now: int) -> Ending:
    """Return where a job goes after an error (product C8, H7, H8; docs/jobs.md has the table)."""
    outcome = _outcome(error)
    said = record(error, job, now)
    final = Ending(JobState.FAILED, error.code, outcome, error=said, bad_output=isinstance(error, LLMBadReply))
    if job.is_foreground or isinstance(error, SourceGone | SourceFormat | SourceUnreadable):
        return final
    if error.code in PAUSED_REASONS:
        return Ending(JobState.QUEUED, error.code, available_at=now, gives_back=True, error=said)
    if error.code == "llm_unreachable":
        wait = min(600_000, 60_000 * 2 ** min(job.snoozes, 10))
        return Ending(JobState.QUEUED, "offline", available_at=now + wait, gives_back=True, error=said)
    if error.code in ("disk_full", "disk_error"):
        return Ending(JobState.QUEUED, "disk_full", available_at=now + 60_000, gives_back=True, error=said)
    if isinstance(error, DatabaseBusy):
        return Ending(JobState.RETRYING, "database_busy", available_at=now + 5_000, gives_back=True, error=said)
    bad_outputs = job.bad_outputs + int(isinstance(error, LLMBadReply))
    if not error.retryable or job.attempt >= job.max_attempts or bad_outputs >= MAX_BAD_OUTPUTS:
        return final
    wait = backoff_ms(job.attempt, random.random())
    wait = max(wait, int(1000 * (error.params.get("retry_after") or 0)))
    reason = "rate_limit" if error.code == "llm_rate_limited" else "error"
    return Ending(
        JobState.RETRYING, reason, available_at=now + wait, error=said, bad_output=isinstance(error, LLMBadReply)
    )


def hold(db: Database, job_id: str, error: MexError, now: int) -> None:
    """Write on a job that cannot even begin (settings or schema that cannot be read) why it waits, for a minute."""
    with db.transaction() as tx:
        job = tx.first(jobs.one(job_id))
        if job is not None and job.state.is_waiting:
            tx.run(jobs.hold(job, SETTINGS, record(error, job, now), now + HOLD_MS))


def for_crash(job: Job, now: int, *, how: str) -> Ending:
    """Return where a job goes whose process died or fell silent (`rescued:dead`, `rescued:lease`)."""
    said: dict[str, Any] = {
        "code": "crashed",
        "params": {},
        "at": iso_of_millis(now),
        "attempt": job.attempt,
        "retryable": True,
    }
    if job.crashes + 1 >= MAX_CRASHES or job.attempt >= job.max_attempts:
        return Ending(JobState.FAILED, "poison", Outcome.POISON, crashed=True, error=said)
    wait = 0 if job.crashes == 0 else 5_000 * 2 ** (job.crashes - 1)
    return Ending(JobState.RETRYING, how, available_at=now + wait, crashed=True, error=said)


def _outcome(error: MexError) -> Outcome:
    if isinstance(error, SourceGone | SourceUnreadable):
        return Outcome.SOURCE_GONE
    if isinstance(error, SourceFormat | LLMBadReply):
        return Outcome.UNPARSEABLE
    return Outcome.LLM_ERROR if isinstance(error, LLMRejected | LLMUnavailable) else Outcome.POISON


def record(error: MexError, job: Job, now: int) -> dict[str, Any]:
    """Return what a job keeps of an error: its code and plain facts, never content."""
    params = {key: value for key, value in error.params.items() if isinstance(value, str | int | float)}
    return {
        "code": error.code,
        "params": params,
        "at": iso_of_millis(now),
        "attempt": job.attempt,
        "retryable": error.retryable or error.code in PAUSED_REASONS,
    }


def consequences(job: Job, ending: Ending, sibling: str | None, now: int) -> list[Statement]:
    """What follows in the same transaction once the guarded move has succeeded."""
    follow = [jobs.wake_followers(job.lock_key), jobs.event(job.id, now, ending.state, job.fence, ending.reason)]
    if sibling is not None and ending.state.is_waiting:
        follow.append(jobs.carry_over(job, ending, sibling))
    if ending.state is JobState.CANCELLED and job.lock_key:
        follow.append(usage.drop_replies(job.lock_key))
    if ending.reason in PAUSED_REASONS and ending.state is JobState.QUEUED:
        follow.append(workers.pause("llm", now + PAUSE_MS, ending.reason or "", now))
    return follow


def unless_cancelled(ending: Ending, row: Job | None) -> Ending:
    """A job that somebody asked to cancel does not wait for another run."""
    if row is not None and row.cancel_requested and ending.state.is_waiting:
        return Ending(JobState.CANCELLED, "user", error=ending.error, crashed=ending.crashed)
    return ending


def leave(db: Database, job: Job, ending: Ending, now: int) -> bool:
    """End a run in one transaction; False when the job belongs to a later claim."""
    with db.transaction() as tx:
        row = tx.first(jobs.one(job.id))
        ending = unless_cancelled(ending, row)
        sibling = tx.first(jobs.waiting_sibling(job))
        if tx.run(jobs.leave(job, ending, sibling, now)) != 1:
            return False
        tx.run(*consequences(job, ending, sibling, now))
    return True
