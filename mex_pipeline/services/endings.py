"""How a run ends: what each error means for its job, and the one guarded move out of `running` (docs/jobs.md)."""

import random
from collections.abc import Mapping
from typing import Any

from mex_pipeline import faults
from mex_pipeline.clock import from_iso, iso_of_millis, millis
from mex_pipeline.domain.job import (
    BUDGET_DAILY,
    MAX_BAD_OUTPUTS,
    MAX_CRASHES,
    OVER_BUDGET,
    Ending,
    Job,
    JobState,
    Outcome,
    backoff_ms,
)
from mex_pipeline.errors import (
    DatabaseBusy,
    InvalidInput,
    LLMBadReply,
    LLMRejected,
    LLMUnavailable,
    MexError,
    NotConfigured,
    OverBudget,
    SourceFormat,
    SourceGone,
    SourceUnreadable,
)
from mex_pipeline.services.jobs import EMBED, PAUSED_REASONS, SETTINGS
from mex_pipeline.store import jobs, usage, workers
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement

LONGEST_RETRY_AFTER = 30
"""Seconds a Retry-After may ask for and still be waited for inside the call (llm/retry.py); beyond, the job waits."""
_FAILING = frozenset({"llm_timeout", "llm_server_error", "llm_connection_lost"})
"""What an endpoint in trouble does: it is there, but does not answer."""
PAUSE_MS = 600_000
"""How long a pause that waits for a person lasts before the endpoint is tried once more by itself."""
HOLD_MS = DISK_MS = 60_000
LONGEST_MS = 3_600_000
"""The longest wait whatever a server asks for: then it is asked again, and may say so again."""
OFFLINE_MS, LONGEST_OFFLINE_MS = 60_000, 600_000
FAILURES_BORNE, CIRCUIT_MS, LONGEST_CIRCUIT_MS = 3, 30_000, 600_000
_BACKOFF_SCALE = faults.seconds("MEX_TEST_BACKOFF", 15.0) / 15.0
"""A test names the first wait in seconds."""


def for_error(error: MexError, job: Job, now: int) -> Ending:
    """Return where a job goes after an error (product C8, H7, H8; docs/jobs.md has the table)."""
    outcome = _outcome(error)
    said = record(error, job, now)
    final = Ending(JobState.FAILED, error.code, outcome, error=said, bad_output=isinstance(error, LLMBadReply))
    is_busy = error.code == "source_busy"  # another program's lock on its own database passes
    is_of_the_source = isinstance(error, SourceGone | SourceFormat | SourceUnreadable) and not is_busy
    # A job that names its model will name it for as long as it waits.
    names_no_model = error.code == "llm_unknown_model" and "model" in job.payload
    # Vectors heed no pause, so that nothing could hold their job back; what asked for them asks again.
    is_refused = job.kind == EMBED and (error.code in PAUSED_REASONS or isinstance(error, OverBudget))
    if job.is_foreground or is_of_the_source or names_no_model or is_refused:
        return final
    if error.code in PAUSED_REASONS or isinstance(error, OverBudget):
        return Ending(JobState.QUEUED, error.code, available_at=now, gives_back=True, error=said)
    if error.code == "llm_unreachable":
        wait = _scaled(min(LONGEST_OFFLINE_MS, OFFLINE_MS * 2 ** min(job.snoozes, 10)))
        return Ending(JobState.QUEUED, "offline", available_at=now + wait, gives_back=True, error=said)
    asked_for = min(LONGEST_MS, int(1000 * (error.params.get("retry_after") or 0)))
    if error.code == "llm_rate_limited" and asked_for > 1000 * LONGEST_RETRY_AFTER:
        return Ending(JobState.QUEUED, "rate_limit", available_at=now + asked_for, gives_back=True, error=said)
    if error.code in ("disk_full", "disk_error"):
        return Ending(JobState.QUEUED, "disk_full", available_at=now + DISK_MS, gives_back=True, error=said)
    if isinstance(error, DatabaseBusy):
        return Ending(JobState.RETRYING, "database_busy", available_at=now + 5_000, gives_back=True, error=said)
    bad_outputs = job.bad_outputs + int(isinstance(error, LLMBadReply))
    if not (error.retryable or is_busy) or job.attempt >= job.max_attempts or bad_outputs >= MAX_BAD_OUTPUTS:
        return final
    wait = max(_scaled(backoff_ms(job.attempt, random.random())), asked_for)
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
    if isinstance(error, SourceFormat | LLMBadReply | InvalidInput):
        return Outcome.UNPARSEABLE
    of_model = LLMRejected | LLMUnavailable | OverBudget | NotConfigured
    return Outcome.LLM_ERROR if isinstance(error, of_model) else Outcome.POISON


def record(error: MexError, job: Job, now: int) -> dict[str, Any]:
    """Return what a job keeps of an error: its code and plain facts, never content."""
    params = {key: value for key, value in error.params.items() if isinstance(value, str | int | float)}
    return {
        "code": error.code,
        "params": params,
        "at": iso_of_millis(now),
        "attempt": job.attempt,
        "retryable": error.retryable or error.code in PAUSED_REASONS or isinstance(error, OverBudget),
    }


def consequences(job: Job, ending: Ending, sibling: str | None, now: int) -> list[Statement]:
    """What follows in the same transaction once the guarded move has succeeded."""
    follow = [jobs.wake_followers(job.lock_key), jobs.event(job.id, now, ending.state, job.fence, ending.reason)]
    if sibling is not None and ending.state.is_waiting:
        follow += [jobs.carry_over(job, ending, sibling), *([usage.let_job(sibling)] if job.over_budget else [])]
    if ending.state is JobState.CANCELLED and job.lock_key:
        follow.append(usage.drop_unpreviewed_replies(job.lock_key))
    return follow


def pauses(ending: Ending, endpoint: str, known: Mapping[str, Any] | None, now: int) -> list[Statement]:
    """Return what an ending means for other jobs: a pause of the endpoint, or of everything, and its failures counted.

    `endpoint` is its scope (empty: the run asked none), `known` its row of `queue_control`. A failure while the endpoint
    is paused tells nothing new: that run had begun before.
    """
    if ending.state is JobState.QUEUED and ending.reason == "disk_full":
        return [workers.pause_at_least("*", now + DISK_MS, "disk_full", now)]
    if not endpoint or ending.error is None:
        return []
    if ending.state is JobState.QUEUED and ending.reason in OVER_BUDGET:
        return [_parked(ending.reason, endpoint, ending.error["params"], now)]
    before = known or {"paused_until": 0, "reason": None, "at": now, "failures": 0}
    # A 429 that does not say until when may last for a day; asked by every job in turn, the endpoint would never rest.
    is_limited = ending.reason == "rate_limit" and ending.state is JobState.RETRYING
    if (ending.error["code"] in _FAILING or is_limited) and before["paused_until"] <= now:
        failures = before["failures"] + 1
        counted = [workers.count_failure(endpoint, now)]
        if failures < FAILURES_BORNE:
            return counted
        wait = circuit_ms(failures, random.random())
        return [*counted, workers.pause_at_least(endpoint, now + wait, "circuit", now)]
    if ending.state is not JobState.QUEUED or ending.reason not in {*PAUSED_REASONS, "offline", "rate_limit"}:
        return []
    until = ending.available_at
    if ending.reason in PAUSED_REASONS:
        until = now + PAUSE_MS
    elif ending.reason == "offline":
        until = now + _offline_ms(before)
    return [workers.pause_at_least(endpoint, until, ending.reason or "", now)]


def _parked(reason: str, endpoint: str, told: Mapping[str, Any], now: int) -> Statement:
    """The day's budget holds every job of the endpoint until that day ends, one job's only that job, until a person acts."""
    if reason == BUDGET_DAILY:
        return workers.pause_at_least(endpoint, millis(from_iso(told["until"])), reason, now)
    return workers.pause(f"{endpoint}:{told['id']}", None, reason, now)


def circuit_ms(failures: int, fraction: float) -> int:
    """Return how long an endpoint is left alone after so many failures: 30 s doubling to 10 min, less up to a fifth."""
    wait = min(LONGEST_CIRCUIT_MS, CIRCUIT_MS * 2 ** min(failures - FAILURES_BORNE, 10))
    return _scaled(wait * (0.8 + fraction / 5))


def _offline_ms(before: Mapping[str, Any]) -> int:
    """A minute, and twice the last pause when that one was of no use, up to ten minutes."""
    last = before["paused_until"] - before["at"] if before["reason"] == "offline" else 0
    return min(_scaled(LONGEST_OFFLINE_MS), max(_scaled(OFFLINE_MS), 2 * last))


def _scaled(wait: float) -> int:
    return int(wait * _BACKOFF_SCALE)


def unless_cancelled(ending: Ending, row: Job | None) -> Ending:
    """A job that somebody asked to cancel does not wait for another run."""
    if row is not None and row.cancel_requested and ending.state.is_waiting:
        return Ending(JobState.CANCELLED, "user", error=ending.error, crashed=ending.crashed)
    return ending


def leave(db: Database, job: Job, ending: Ending, now: int, endpoint: str = "") -> bool:
    """End a run in one transaction; False when the job belongs to a later claim. `endpoint` is the scope it has asked."""
    with db.transaction() as tx:
        row = tx.first(jobs.one(job.id))
        ending = unless_cancelled(ending, row)
        sibling = tx.first(jobs.waiting_sibling(job))
        if tx.run(jobs.leave(job, ending, sibling, now)) != 1:
            return False
        known = tx.first(workers.control(endpoint))
        tx.run(*consequences(job, ending, sibling, now), *pauses(ending, endpoint, known, now))
    return True
