"""Jobs as a person sees them: submit, look, cancel, retry (product D2-D4, H2). Waiting and batches: job_control.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mex_pipeline import faults
from mex_pipeline.app import App, OpenHome
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.domain.ids import new_id, require_prefix
from mex_pipeline.domain.job import MAX_ATTEMPTS, Job, JobState, Trigger
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput, JobStateConflict, NotFound
from mex_pipeline.services.pauses import EVERYTHING, Pause, current, endpoint_scope, go_again
from mex_pipeline.store import jobs, usage
from mex_pipeline.store.database import Database

EXTRACT, IMPORT, RESTORE, ARCHIVE, AGAIN = "extract", "import", "restore", "archive", "again"
"""Kinds of jobs: a source that grows, a file read once, an export of meX that is put back, and an agent's export whose
conversations are handed out to jobs of their own. AGAIN reads a session anew, whatever was read of it before."""
COMPACT = "compact"
"""The kind of what condenses old records (services/compact_job.py)."""
EMBED = "embed"
"""The kind of what makes the vectors of memories (services/embed_job.py)."""
UNDO = "undo"
"""The kind of what takes other jobs back: it is written finished and never queued (services/undo.py)."""
ASKING = frozenset({EXTRACT, IMPORT, AGAIN, COMPACT})
"""The kinds that ask a model themselves."""
MAX_LIMIT = 10_000
PLAIN = "plain"
WAITED_FOR, ASYNC_PRIORITY, BATCH_PRIORITY = 10, 0, -10
"""Who comes first: what somebody waits for in front of it, then single requests, then the files of a batch."""
MAX_DELAY_SECONDS = jobs.MAX_WAIT_MS / 1000
PAUSED_REASONS = frozenset({"llm_auth", "llm_quota", "llm_unknown_model"})
SETTINGS, CHILDREN = "settings", jobs.CHILDREN


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is asked to do: its kind, its payload, and the key that equal requests share (product H4).

    `lock` is the source that it works on when equal requests do not share that key with all others of the source.
    """

    kind: str
    payload: dict[str, Any]
    key: str
    given_text: str | None = None
    lock: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """A request that is now a job. `worker` is `running`, `spawned` or `absent`."""

    job_id: str
    state: str
    merged: bool
    worker: str

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{job_id, state, merged, worker}` (product H9)."""
        return {"job_id": self.job_id, "state": self.state, "merged": self.merged, "worker": self.worker}


@dataclass(frozen=True, slots=True)
class SubmittedBatch:
    """A request for several jobs at once, each with whether it was merged. `worker` as in Submitted."""

    batch_id: str
    jobs: tuple[tuple[Job, bool], ...]
    worker: str

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{batch_id, jobs: [{job_id, state, merged}], worker}`."""
        rows = [{"job_id": job.id, "state": job.state, "merged": merged} for job, merged in self.jobs]
        return {"batch_id": self.batch_id, "jobs": rows, "worker": self.worker}


def extraction(adapter: str, key: SourceKey, subject: str = "user") -> Request:
    """Return the request to read a source that may go on growing."""
    return Request(EXTRACT, payload(adapter, key, subject), str(key))


def payload(adapter: str, key: SourceKey, subject: str) -> dict[str, Any]:
    """Return the payload of such a job."""
    session = {} if key.session is None else {"session": key.session}
    return {"adapter": adapter, "path": str(key.path), **session, "subject": subject}


def submit_text(
    app: OpenHome, text: str, *, trigger: Trigger, subject: str = "user", delay: float = 0
) -> tuple[Job, bool]:
    """Queue the extraction of given text; equal text merges only with a job that is unfinished (product H4)."""
    if not text.strip():
        raise InvalidInput("text_blank")
    import hashlib  # noqa: PLC0415 - 3 ms that a file does not need

    digest = hashlib.sha256(f"{subject}\0{text}".encode("utf-8", "replace")).hexdigest()
    request = Request(EXTRACT, {"adapter": PLAIN, "subject": subject}, f"text:{digest}", text)
    return submit(app, request, trigger=trigger, delay=delay)


def submit(app: OpenHome, request: Request, *, trigger: Trigger, delay: float = 0) -> tuple[Job, bool]:
    """Queue a job, or merge the request into the one that waits under the same key; (job, was merged).

    The row is committed and synced. The job runs `delay` seconds after the last such request, and at most half an hour
    after the first; raises InvalidInput (`delay_too_long`: `most`) for a delay beyond that.
    """
    priority = WAITED_FOR if trigger is Trigger.FOREGROUND else ASYNC_PRIORITY
    return _insert(app, [request], trigger, priority, delay=delay)[0]


def submit_all(
    app: OpenHome, requests: Sequence[Request], *, trigger: Trigger, delay: float = 0
) -> tuple[str, list[tuple[Job, bool]]]:
    """Queue the requests as one batch, all of them or none; (the batch's id, (job, was merged) of each).

    A request that is merged into a job that waits belongs to the batch all the same: the job's story says so.
    """
    batch = new_id()
    priority = WAITED_FOR if trigger is Trigger.FOREGROUND else BATCH_PRIORITY
    return batch, _insert(app, requests, trigger, priority, delay=delay, batch=batch)


def _insert(
    app: OpenHome,
    requests: Sequence[Request],
    trigger: Trigger,
    priority: int,
    *,
    delay: float = 0,
    batch: str | None = None,
) -> list[tuple[Job, bool]]:
    if delay > MAX_DELAY_SECONDS:
        raise InvalidInput("delay_too_long", most=f"{MAX_DELAY_SECONDS / 60:.0f}m")
    if any(request.kind not in (RESTORE, EMBED) for request in requests):
        app.settings.llm.require_whole()
    now = millis(app.clock.now())
    made = [new_job(request, trigger, priority, now=now, delay=delay, batch=batch) for request in requests]
    faults.point("before_submit")
    rows = []
    with app.db.transaction() as tx:
        for job in made:
            row = tx.first(jobs.insert_or_merge(job))
            assert row is not None
            job_id, merged = row
            event = jobs.event(job_id, now, "merged", note=batch) if merged else jobs.event(job_id, now, "queued")
            tx.run(event)
            rows.append(row)
    faults.point("submitted")
    return [(_row(app.db, job_id), merged) for job_id, merged in rows]


def new_job(
    request: Request, trigger: Trigger, priority: int, *, now: int, delay: float = 0, batch: str | None = None
) -> Job:
    """Return the row of a request that is made at `now` (ms) and due `delay` seconds later."""
    return Job(
        id=new_id(),
        kind=request.kind,
        payload=request.payload,
        state=JobState.QUEUED,
        trigger=trigger,
        available_at=now + int(1000 * delay),
        created_at=now,
        # A foreground extraction is one attempt: it fails in front of the person who asked (product C8).
        max_attempts=1 if trigger is Trigger.FOREGROUND else MAX_ATTEMPTS,
        given_text=request.given_text,
        priority=priority,
        dedup_key=request.key,
        lock_key=request.lock or request.key,
        batch_id=batch,
    )


def _row(db: Database, job_id: str) -> Job:
    """The job of a whole id that was there a moment ago."""
    job = db.first(jobs.one(job_id))
    if job is None:
        raise NotFound("job_not_found", id=job_id)
    return job


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
    """Return the newest jobs of some states."""
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
            tx.run(usage.drop_unpreviewed_replies(job.lock_key))
        changed = changed or tx.run(jobs.request_cancel(job.id))
        if not changed:
            current = get(app.db, job.id)
            raise JobStateConflict("job_already_ended", id=job.id, state=current.state)
        tx.run(jobs.event(job.id, now, "cancel_requested"))
    return get(app.db, job.id)


def give_up(app: App, job_id: str, reason: str) -> None:
    """Cancel a foreground job that could not begin or end here: it is not run later unasked (product C8)."""
    job = get(app.db, job_id)
    if job.is_foreground and not job.state.is_final:
        cancel(app, job_id, reason=reason)


def retry(app: App, prefix: str, *, over_budget: bool = False) -> Job:
    """Run a failed or cancelled job again, or a waiting one at once. Replies that arrived are not asked for again.

    With `over_budget` it may spend beyond every budget from now on; else a job that one has parked stays parked.
    Returns the job that will run: the waiting one for the same source, when there is one.
    Raises JobStateConflict for a job that runs or succeeded, or whose text is gone.
    """
    job = get(app.db, prefix)
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        job = get(app.db, job.id)
        if job.state in (JobState.RUNNING, JobState.SUCCEEDED):
            raise JobStateConflict("job_not_retryable", id=job.id, state=job.state)
        has_source = "path" in job.payload or job.kind in (AGAIN, COMPACT, EMBED)
        if job.state.is_final and not has_source and not job.has_text:
            raise JobStateConflict("job_text_gone", id=job.id)
        tx.run(*go_again(now))
        sibling = tx.first(jobs.waiting_sibling(job)) if job.dedup_key and job.state.is_final else None
        target = sibling or job.id
        if job.state.is_final and sibling is None:
            tx.run(jobs.requeue(job.id, now), usage.drop_splits(job.lock_key or ""))
        else:
            tx.run(jobs.run_now(target, now))
        tx.run(jobs.event(target, now, "retry_requested"), *([usage.let_job(target)] if over_budget else []))
    return get(app.db, target)


def source_is_busy(app: App, job: Job) -> bool:
    """True while another job works on the same source."""
    return any(other.lock_key == job.lock_key for other in app.db.all(jobs.running()))


def is_paused(app: App, job: Job) -> bool:
    """True when nobody should wait for the job: a person has to put something right, or the day's budget is used up."""
    if job.state.is_waiting and job.reason == SETTINGS:
        return True
    return any(one.outlasts_a_wait for one in held_by(app, job))


def held_by(app: OpenHome, job: Job) -> list[Pause]:
    """Return the pauses that keep a waiting job from running now; none for any other job."""
    if not job.state.is_waiting:
        return []
    return [one for one in current(app, job) if one.scope == EVERYTHING or job.kind in ASKING]


def waits_for_a_worker(app: App) -> bool:
    """True when some job waits for its moment, and for no person."""
    return app.db.first(jobs.has_work(millis(app.clock.now()), endpoint_scope(app.settings))) is not None


def pauses(app: App) -> list[Pause]:
    """Return what holds jobs now (services/pauses.py)."""
    return current(app)
