"""Jobs as a person sees them: submit, look, wait, cancel, retry (product D2-D4, H2)."""

import hashlib
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mex_pipeline import faults
from mex_pipeline.app import App
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.domain.job import FINAL, MAX_ATTEMPTS, Job, JobState, Trigger
from mex_pipeline.errors import InvalidInput, JobStateConflict, NotFound
from mex_pipeline.services.memories import require_prefix
from mex_pipeline.services.pauses import endpoint_scope
from mex_pipeline.services.transcripts import adapter_for, require_file
from mex_pipeline.store import jobs, usage, workers
from mex_pipeline.store.database import Database

EXTRACT, IMPORT, RESTORE = "extract", "import", "restore"
"""Kinds of jobs: a source that grows, a file read once, an export that is put back. Only a restore needs no model."""
MAX_LIMIT = 10_000
PLAIN = "plain"
WAITED_FOR, ASYNC_PRIORITY = 10, 0
PAUSED_REASONS = frozenset({"llm_auth", "llm_quota", "llm_unknown_model"})
SETTINGS = "settings"


def submit_file(
    app: App, path: Path, *, adapter: str | None, trigger: Trigger, subject: str = "user"
) -> tuple[Job, bool]:
    """Queue the extraction of a session file; (job, was merged into one that waits). The row is committed and synced.

    The source is named by its real path, so that a symlink and a relative path are one source (product D4, H4).
    Raises InvalidInput for a path that cannot be read.
    """
    real = require_file(path)
    payload = {"adapter": adapter_for(adapter, real).name, "path": str(real), "subject": subject}
    return submit(app, EXTRACT, payload=payload, key=str(real), trigger=trigger)


def submit_text(app: App, text: str, *, trigger: Trigger, subject: str = "user") -> tuple[Job, bool]:
    """Queue the extraction of given text; equal text merges only with a job that is unfinished (product H4)."""
    if not text.strip():
        raise InvalidInput("text_blank")
    digest = hashlib.sha256(f"{subject}\0{text}".encode("utf-8", "replace")).hexdigest()
    payload = {"adapter": PLAIN, "subject": subject}
    return submit(app, EXTRACT, payload=payload, key=f"text:{digest}", given_text=text, trigger=trigger)


def submit(
    app: App, kind: str, *, payload: dict[str, Any], key: str, trigger: Trigger, given_text: str | None = None
) -> tuple[Job, bool]:
    """Queue a job of a kind, or merge it into the one that waits under the same key; (job, was merged)."""
    app.settings.llm.require_whole()
    now = millis(app.clock.now())
    foreground = trigger is Trigger.FOREGROUND
    job = Job(
        id=str(uuid.uuid4()),
        kind=kind,
        payload=payload,
        state=JobState.QUEUED,
        trigger=trigger,
        available_at=now,
        created_at=now,
        # A foreground extraction is one attempt: it fails in front of the person who asked (product C8).
        max_attempts=1 if foreground else MAX_ATTEMPTS,
        given_text=given_text,
        priority=WAITED_FOR if foreground else ASYNC_PRIORITY,
        dedup_key=key,
        lock_key=key,
    )
    faults.point("before_submit")
    with app.db.transaction() as tx:
        row = tx.first(jobs.insert_or_merge(job))
        assert row is not None
        job_id, merged = row
        tx.run(jobs.event(job_id, now, "merged" if merged else "queued"))
    faults.point("submitted")
    return get(app.db, job_id), merged


def get(db: Database, prefix: str) -> Job:
    """Return the job of an id or prefix; raises NotFound (`job_not_found`, `ambiguous_id`)."""
    found = db.all(jobs.by_prefix(require_prefix(prefix)))
    if not found:
        raise NotFound("job_not_found", id=prefix)
    if len(found) > 1:
        raise NotFound("ambiguous_id", id=prefix)
    return found[0]


def tokens(db: Database, job: Job) -> dict[str, int]:
    """Return `{calls, prompt_tokens, completion_tokens}` of a job so far, all attempts together."""
    return db.first(usage.of_job(job.id)) or {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}


def story(db: Database, job: Job) -> list[dict[str, Any]]:
    """Return what happened to a job, oldest first: `{at, event, fence, note}`; never content."""
    return [row | {"at": iso_of_millis(row["at"])} for row in db.all(jobs.events(job.id))]


def page(app: App, *, states: tuple[str, ...] = (), limit: int = 50) -> list[Job]:
    """Return the newest jobs; raises InvalidInput for a state that does not exist."""
    unknown = set(states) - {state.value for state in JobState}
    if unknown:
        raise InvalidInput("unknown_state", value=sorted(unknown)[0], known=", ".join(JobState))
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=MAX_LIMIT)
    return app.db.all(jobs.page(states=states, limit=limit))


def cancel(app: App, prefix: str, *, reason: str = "user") -> Job:
    """Cancel a job: at once when it waits, at its next checkpoint when it runs.

    Raises JobStateConflict when it has ended already.
    """
    job = get(app.db, prefix)
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        changed = tx.run(jobs.cancel_waiting(job.id, reason, now))
        if changed and job.lock_key:
            tx.run(usage.drop_replies(job.lock_key))
        changed = changed or tx.run(jobs.request_cancel(job.id))
        if not changed:
            current = get(app.db, job.id)
            raise JobStateConflict("job_already_ended", id=job.id, state=current.state)
        tx.run(jobs.event(job.id, now, "cancel_requested"))
    return get(app.db, job.id)


def retry(app: App, prefix: str) -> Job:
    """Run a failed or cancelled job again, or a waiting one at once. Replies that arrived are not asked for again.

    Returns the job that will run: the waiting one for the same source, when there is one.
    Raises JobStateConflict for a job that runs or succeeded, or whose text is gone.
    """
    job = get(app.db, prefix)
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        job = get(app.db, job.id)
        if job.state in (JobState.RUNNING, JobState.SUCCEEDED):
            raise JobStateConflict("job_not_retryable", id=job.id, state=job.state)
        if job.state.is_final and "path" not in job.payload and job.given_text is None:
            raise JobStateConflict("job_text_gone", id=job.id)
        tx.run(workers.resume("llm"))
        sibling = tx.first(jobs.waiting_sibling(job)) if job.dedup_key and job.state.is_final else None
        target = sibling or job.id
        if job.state.is_final and sibling is None:
            tx.run(jobs.requeue(job.id, now))
        else:
            tx.run(jobs.run_now(target, now))
        tx.run(jobs.event(target, now, "retry_requested"))
    return get(app.db, target)


def wait(
    app: App, prefix: str, *, timeout: float | None, on_change: Callable[[Job], None] = lambda _: None
) -> tuple[Job, bool]:
    """Return (job, ended) when the job has ended, is paused, or `timeout` seconds have passed.

    `on_change` is told of every new state and step. The row is read only when another process has committed. A job that
    was merged into another is followed there.
    """
    job = _followed(app.db, get(app.db, prefix))
    deadline = None if timeout is None else time.monotonic() + timeout
    on_change(job)
    pause = 0.05
    version = app.db.data_version()
    while job.state not in FINAL and not is_paused(app, job):
        if deadline is not None and time.monotonic() >= deadline:
            return job, False
        time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
        pause = min(pause * 1.3, 0.5)
        if version == (version := app.db.data_version()):
            continue
        fresh = _followed(app.db, get(app.db, job.id))
        if fresh != job:
            job, pause = fresh, 0.05
            on_change(job)
    return job, job.state in FINAL


def _followed(db: Database, job: Job) -> Job:
    """The job that does the work of a merged one."""
    while job.reason is not None and job.reason.startswith("merged:"):
        job = get(db, job.reason.removeprefix("merged:"))
    return job


def source_is_busy(app: App, job: Job) -> bool:
    """True while another job works on the same source."""
    return any(other.lock_key == job.lock_key for other in app.db.all(jobs.running()))


def is_paused(app: App, job: Job) -> bool:
    """True when the job waits for something only a person can put right: a key, a quota, a model's name, a setting."""
    if not job.state.is_waiting:
        return False
    if job.reason in PAUSED_REASONS or job.reason == SETTINGS:
        return True
    return any(row["scope"] == "*" or job.kind != RESTORE for row in pauses(app))


def waits_for_a_worker(app: App) -> bool:
    """True when some job waits for its moment and is not paused."""
    return app.db.first(jobs.has_work(millis(app.clock.now()), endpoint_scope(app.settings.llm))) is not None


def pauses(app: App) -> list[dict[str, Any]]:
    """Return what is paused now: `{scope, paused_until, reason}`."""
    return app.db.all(workers.paused(millis(app.clock.now())))
