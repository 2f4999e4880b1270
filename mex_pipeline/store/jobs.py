"""SQL of the `jobs` table: one guarded statement per move (docs/jobs.md). Times are integer milliseconds."""

import json
from typing import Any

from mex_pipeline import faults
from mex_pipeline.domain.job import KEPT_ERRORS, PAYLOAD_V, Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.store.sql import Query, Row, Statement, value, where
from mex_pipeline.store.workers import BUDGETS, FOR_A_PERSON

REPUBLISH_MS = int(1000 * faults.seconds("MEX_TEST_REPUBLISH", 60))
MAX_WAIT_MS = 1_800_000
CHILDREN = "children"
"""Why an archive waits: enough of its conversations stand in the queue (store/archives.py)."""

_PLAIN = (
    "id", "kind", "payload_v", "reason", "available_at", "created_at", "max_attempts", "priority", "dedup_key", "lock_key",
    "batch_id", "coalesced", "attempt", "crashes", "snoozes", "bad_outputs", "fence", "lease_owner", "beat",
    "end_off", "end_size", "progress_done", "progress_total", "progress_note", "started_at", "finished_at",
    "worker_version",
)  # fmt: skip
COLUMNS = ", ".join(_PLAIN) + (
    ", payload, state, trigger, outcome, cancel_requested, over_budget, errors, result, given_text IS NOT NULL AS has_text"
)
"""What `decode` needs of a row: everything but the given text."""
_WAITING = "state IN ('queued', 'retrying')"
_PAUSED = (
    "SELECT 1 FROM queue_control c WHERE (c.paused_until > :now OR c.paused_until IS NULL) "
    "AND (c.scope = '*' OR (c.scope IN ('llm', :endpoint, :endpoint || ':' || jobs.id) "
    f"AND jobs.kind IN ('extract', 'import', 'again', 'compact') AND NOT (jobs.over_budget AND c.reason IN {BUDGETS})))"
)
"""`:endpoint` is the scope of the configured endpoint, the longer one that of a job parked there (services/pauses.py);
NULL is until a person resumes."""
_NOT_PAUSED = f"NOT EXISTS ({_PAUSED})"
_NEEDS_NOBODY = f"NOT EXISTS ({_PAUSED} AND c.reason IN {FOR_A_PERSON})"
_READABLE = f"payload_v <= {PAYLOAD_V}"
_KEY_IDLE = "NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.lock_key = jobs.lock_key)"


def decode(row: Row) -> Job:
    """Return the job of one row."""
    return Job(
        **{name: row[name] for name in _PLAIN},
        payload=json.loads(row["payload"]),
        state=JobState(row["state"]),
        trigger=Trigger(row["trigger"]),
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        cancel_requested=bool(row["cancel_requested"]),
        over_budget=bool(row["over_budget"]),
        has_text=bool(row["has_text"]),
        errors=tuple(json.loads(row["errors"])),
        result=None if row["result"] is None else json.loads(row["result"]),
    )


def insert_or_merge(job: Job) -> Query[tuple[str, bool]]:
    """Insert a queued job, or merge it into the one that waits for the same source; (id, was merged).

    A retrying row keeps its wait, so that many requests do not hammer a failing endpoint; a person who waits in the
    foreground may ask at once. A wake-up under way may come too early for the new time, so another one is sent. The
    newest request says how to read the source, and one of the background makes of a foreground job one that is retried.
    A job nobody had asked for becomes one that somebody has: when its end is fixed already, what the request is about is
    left to its follow-up, which must not wait as that of a follow-up does.
    """
    return Query(
        "INSERT INTO jobs (id, kind, payload, payload_v, given_text, state, priority, available_at, first_enqueued_at, "
        "dedup_key, lock_key, batch_id, trigger, max_attempts, created_at) "
        "VALUES (:id, :kind, :payload, :payload_v, :given_text, 'queued', :priority, :available_at, :created_at, "
        ":dedup_key, :lock_key, :batch_id, :trigger, :max_attempts, :created_at) "
        f"ON CONFLICT (dedup_key) WHERE {_WAITING} AND dedup_key IS NOT NULL DO UPDATE SET "
        "coalesced = coalesced + 1, priority = max(priority, excluded.priority), payload = excluded.payload, "
        "payload_v = excluded.payload_v, given_text = coalesce(excluded.given_text, given_text), published_at = NULL, "
        "trigger = CASE WHEN trigger = 'foreground' THEN excluded.trigger "
        "WHEN trigger IN ('follow_up', 'sweep') AND excluded.trigger IN ('command', 'foreground') THEN 'command' "
        "ELSE trigger END, max_attempts = max(max_attempts, excluded.max_attempts), available_at = CASE "
        "WHEN excluded.trigger = 'foreground' THEN excluded.available_at "
        f"WHEN state = 'queued' THEN min(first_enqueued_at + {MAX_WAIT_MS}, excluded.available_at) "
        "ELSE available_at END RETURNING id",
        {
            "id": job.id,
            "kind": job.kind,
            "payload": json.dumps(job.payload, ensure_ascii=False),
            "payload_v": job.payload_v,
            "given_text": job.given_text,
            "priority": job.priority,
            "available_at": job.available_at,
            "created_at": job.created_at,
            "dedup_key": job.dedup_key,
            "lock_key": job.lock_key,
            "batch_id": job.batch_id,
            "trigger": job.trigger,
            "max_attempts": job.max_attempts,
        },
        lambda row: (row["id"], row["id"] != job.id),
    )


def claim(job_id: str, owner: str, now: int, version: str, *, heed_pause: bool, endpoint: str = "") -> Query[Job]:
    """Take a due job whose source is idle; no row when somebody else has it or it must wait.

    Each claim raises the fence, which every later write of this run has to match.
    """
    return Query(
        "UPDATE jobs SET state = 'running', attempt = attempt + 1, fence = fence + 1, lease_owner = :owner, "
        "started_at = :now, worker_version = :version, reason = NULL, progress_note = NULL "
        f"WHERE id = :id AND {_WAITING} AND {_READABLE} AND available_at <= :now AND cancel_requested = 0 AND {_KEY_IDLE} "
        f"AND (:heed = 0 OR {_NOT_PAUSED}) RETURNING {COLUMNS}",
        {
            "id": job_id,
            "owner": owner,
            "now": now,
            "version": version,
            "heed": int(heed_pause),
            "endpoint": endpoint,
        },
        decode,
    )


def beat(job_id: str, fence: int) -> Statement:
    """Show that this run is alive."""
    return Statement(
        "UPDATE jobs SET beat = beat + 1 WHERE id = :id AND fence = :fence AND state = 'running'",
        {"id": job_id, "fence": fence},
    )


def progress(job: Job, done: int, total: int, note: str) -> Statement:
    """Say how far the run is: chunks done and in all."""
    return Statement(
        "UPDATE jobs SET progress_done = :done, progress_total = :total, progress_note = :note "
        "WHERE id = :id AND fence = :fence AND state = 'running'",
        {"id": job.id, "fence": job.fence, "done": done, "total": total, "note": note},
    )


def fix_end(job: Job, end_off: int | None, end_size: int) -> Statement:
    """Fix where this job stops reading, so that a retry sees the same turns (product H6)."""
    return Statement(
        "UPDATE jobs SET end_off = :end_off, end_size = :end_size WHERE id = :id AND fence = :fence AND state = 'running'",
        {"id": job.id, "fence": job.fence, "end_off": end_off, "end_size": end_size},
    )


def replace_text(job: Job, text: str) -> Statement:
    """Put another text in the place of the one that was handed over with the request (product F2)."""
    return Statement(
        "UPDATE jobs SET given_text = :text WHERE id = :id AND fence = :fence AND state = 'running'",
        {"id": job.id, "fence": job.fence, "text": text},
    )


def leave(job: Job, ending: Ending, sibling: str | None, now: int) -> Statement:
    """End this run, guarded by its fence: exactly one row changes, or the job was taken over.

    When the job would wait again while a newer one waits for the same source, it ends as merged into that one.
    """
    merged = sibling is not None and ending.state.is_waiting
    state = JobState.CANCELLED if merged else ending.state
    errors = [*job.errors, *([ending.error] if ending.error else [])][-KEPT_ERRORS:]
    forgets_text = state in (JobState.SUCCEEDED, JobState.CANCELLED)
    return Statement(
        "UPDATE jobs SET state = :state, reason = :reason, outcome = :outcome, available_at = :available_at, "
        "published_at = NULL, lease_owner = NULL, finished_at = :finished_at, "
        "attempt = attempt - :given_back, crashes = crashes + :crashed, snoozes = snoozes + :given_back, "
        "bad_outputs = bad_outputs + :bad_output, errors = :errors, result = coalesce(:result, result), "
        "given_text = CASE WHEN :forgets_text THEN NULL ELSE given_text END "
        "WHERE id = :id AND fence = :fence AND state = 'running' AND (:state <> 'succeeded' OR cancel_requested = 0)",
        {
            "id": job.id,
            "fence": job.fence,
            "state": state,
            "reason": f"merged:{sibling}" if merged else ending.reason,
            "outcome": None if merged else ending.outcome,
            "available_at": max(ending.available_at, now if state.is_waiting else job.available_at),
            "finished_at": now if state.is_final else None,
            "given_back": int(ending.gives_back),
            "crashed": int(ending.crashed),
            "bad_output": int(ending.bad_output),
            "errors": json.dumps(errors, ensure_ascii=False),
            "result": None if ending.result is None else json.dumps(ending.result, ensure_ascii=False),
            "forgets_text": int(forgets_text),
        },
    )


def carry_over(job: Job, ending: Ending, sibling: str) -> Statement:
    """Hand attempts, crashes and the wait of a merged job to the one that stays, or a poison source retries for ever.

    One of the background makes of a foreground job one that is retried, as a request that merges does.
    """
    return Statement(
        "UPDATE jobs SET attempt = max(attempt, :attempt), crashes = max(crashes, :crashes), "
        "max_attempts = max(max_attempts, :max_attempts), "
        "trigger = CASE trigger WHEN 'foreground' THEN :trigger ELSE trigger END, "
        "available_at = max(available_at, :available_at) WHERE id = :id",
        {
            "id": sibling,
            "attempt": job.attempt - int(ending.gives_back),
            "crashes": job.crashes + int(ending.crashed),
            "max_attempts": job.max_attempts,
            "trigger": job.trigger,
            "available_at": ending.available_at,
        },
    )


def wake_followers(lock_key: str | None) -> Statement:
    """Let the relay publish whatever waits for this source."""
    return Statement(
        f"UPDATE jobs SET published_at = NULL WHERE lock_key = :lock_key AND {_WAITING}", {"lock_key": lock_key}
    )


def waiting_sibling(job: Job) -> Query[str]:
    """The id of another job that waits for the same source."""
    return Query(
        f"SELECT id FROM jobs WHERE dedup_key = :key AND id <> :id AND {_WAITING}",
        {"key": job.dedup_key, "id": job.id},
        value("id"),
    )


def due(now: int, endpoint: str = "") -> Query[tuple[str, int]]:
    """(id, priority) of the jobs the relay should publish now, best first."""
    return Query(
        f"SELECT id, priority FROM jobs WHERE {_WAITING} AND {_READABLE} AND available_at <= :now AND cancel_requested = 0 "
        f"AND (published_at IS NULL OR published_at < :stale) AND {_KEY_IDLE} AND {_NOT_PAUSED} "
        "ORDER BY priority DESC, available_at, seq LIMIT 200",
        {"now": now, "stale": now - REPUBLISH_MS, "endpoint": endpoint},
        lambda row: (row["id"], row["priority"]),
    )


def mark_published(job_id: str, now: int, endpoint: str = "") -> Statement:
    """Note that a wake-up was sent; it is sent again when nothing came of it, and at once when a pause was faster."""
    return Statement(
        f"UPDATE jobs SET published_at = :now WHERE id = :id AND {_WAITING} AND available_at <= :now AND {_NOT_PAUSED}",
        {"id": job_id, "now": now, "endpoint": endpoint},
    )


def wake_later(job_id: str, now: int, endpoint: str) -> Statement:
    """Have a wake-up sent anew at the end of the pause that this one ran into."""
    return Statement(
        f"UPDATE jobs SET published_at = NULL WHERE id = :id AND {_WAITING} AND NOT {_NOT_PAUSED}",
        {"id": job_id, "now": now, "endpoint": endpoint},
    )


def forget_published() -> Statement:
    """Forget every wake-up: the queue file is new or was lost."""
    return Statement(f"UPDATE jobs SET published_at = NULL WHERE {_WAITING}")


def has_work(now: int, endpoint: str = "") -> Query[int]:
    """1 when something waits for its moment, or for the end of a pause that ends by itself.

    An archive that waits for its conversations does not count: they do.
    """
    return Query(
        f"SELECT 1 AS n FROM jobs WHERE {_WAITING} AND cancel_requested = 0 AND {_NEEDS_NOBODY} "
        f"AND reason IS NOT '{CHILDREN}' LIMIT 1",
        {"now": now, "endpoint": endpoint},
        value("n"),
    )


def has_newer() -> Query[int]:
    """1 when a job waits whose payload only a later meX can read."""
    return Query(f"SELECT 1 AS n FROM jobs WHERE {_WAITING} AND NOT {_READABLE} LIMIT 1", {}, value("n"))


def has_later(latest: int) -> Query[int]:
    """1 when some job waits beyond `latest`."""
    return Query(
        f"SELECT 1 AS n FROM jobs WHERE {_WAITING} AND available_at > :latest LIMIT 1", {"latest": latest}, value("n")
    )


def clamp_waits(latest: int) -> Statement:
    """Keep a clock that was set back from parking a job for longer than the longest wait."""
    return Statement(
        f"UPDATE jobs SET available_at = :latest WHERE {_WAITING} AND available_at > :latest", {"latest": latest}
    )


def running() -> Query[Job]:
    """Every running job."""
    # `+seq`, or SQLite would walk the whole table in its order instead of the few rows of jobs_leases.
    return Query(f"SELECT {COLUMNS} FROM jobs WHERE state = 'running' ORDER BY +seq", {}, decode)


def cancelled_of(owner: str) -> Query[str]:
    """Ids of this owner's running jobs that somebody asked to cancel."""
    return Query(
        "SELECT id FROM jobs WHERE state = 'running' AND cancel_requested = 1 AND lease_owner = :owner",
        {"owner": owner},
        value("id"),
    )


def one(job_id: str) -> Query[Job]:
    """One job by its whole id."""
    return Query(f"SELECT {COLUMNS} FROM jobs WHERE id = :id", {"id": job_id}, decode)


def text(job_id: str) -> Query[str]:
    """The text that a job was given; nothing once it is gone."""
    sql = "SELECT given_text FROM jobs WHERE id = :id AND given_text IS NOT NULL"
    return Query(sql, {"id": job_id}, value("given_text"))


def by_prefix(prefix: str) -> Query[Job]:
    """The jobs whose id begins with `prefix`, at most two."""
    return Query(
        f"SELECT {COLUMNS} FROM jobs WHERE id >= :low AND id < :high ORDER BY id LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        decode,
    )


def page(*, states: tuple[str, ...], limit: int) -> Query[Job]:
    """The newest jobs, all states or the given ones."""
    clause, values = where({"state IN (SELECT value FROM json_each(:states))": json.dumps(states) if states else None})
    return Query(
        f"SELECT {COLUMNS} FROM jobs {clause} ORDER BY created_at DESC, seq DESC LIMIT :limit",
        values | {"limit": limit},
        decode,
    )


def cancel_waiting(job_id: str, reason: str, now: int) -> Statement:
    """Cancel a job that does not run."""
    return Statement(
        "UPDATE jobs SET state = 'cancelled', reason = :reason, finished_at = :now, given_text = NULL "
        f"WHERE id = :id AND {_WAITING}",
        {"id": job_id, "reason": reason, "now": now},
    )


def request_cancel(job_id: str) -> Statement:
    """Ask the run to stop at its next checkpoint."""
    return Statement("UPDATE jobs SET cancel_requested = 1 WHERE id = :id AND state = 'running'", {"id": job_id})


def requeue(job_id: str, now: int) -> Statement:
    """Give a failed or cancelled job at least one more attempt; kept replies are used again (product H5)."""
    return Statement(
        "UPDATE jobs SET state = 'queued', reason = NULL, outcome = NULL, trigger = 'retry', available_at = :now, "
        "published_at = NULL, finished_at = NULL, cancel_requested = 0, crashes = 0, bad_outputs = 0, "
        "max_attempts = max(max_attempts, attempt + 1) WHERE id = :id AND state IN ('failed', 'cancelled')",
        {"id": job_id, "now": now},
    )


def hold(job: Job, reason: str, error: dict[str, Any], until: int) -> Statement:
    """Let a waiting job wait longer, and say why."""
    return Statement(
        f"UPDATE jobs SET reason = :reason, errors = :errors, available_at = :until, published_at = NULL "
        f"WHERE id = :id AND {_WAITING}",
        {
            "id": job.id,
            "reason": reason,
            "errors": json.dumps([*job.errors, error][-KEPT_ERRORS:], ensure_ascii=False),
            "until": until,
        },
    )


def run_now(job_id: str, now: int) -> Statement:
    """Let a waiting job run without its wait."""
    return Statement(
        f"UPDATE jobs SET available_at = :now, published_at = NULL, reason = NULL WHERE id = :id AND {_WAITING}",
        {"id": job_id, "now": now},
    )


def event(job_id: str, at: int, name: str, fence: int | None = None, note: str | None = None) -> Statement:
    """Write one line of a job's story; never content."""
    return Statement(
        "INSERT INTO job_events (job_id, at, event, fence, note) VALUES (:job_id, :at, :event, :fence, :note)",
        {"job_id": job_id, "at": at, "event": name, "fence": fence, "note": note},
    )


def events(job_id: str) -> Query[dict[str, Any]]:
    """A job's story, oldest first."""
    return Query(
        "SELECT at, event, fence, note FROM job_events WHERE job_id = :job_id ORDER BY seq", {"job_id": job_id}, dict
    )


def wake_held(now: int) -> Statement:
    """Let every job run at once that waited for its endpoint or for room on the disk: what held it is put right."""
    return Statement(
        "UPDATE jobs SET available_at = min(available_at, :now), published_at = NULL, reason = NULL "
        "WHERE state = 'queued' AND (reason IN ('rate_limit', 'offline', 'disk_full') OR reason GLOB 'llm_*')",
        {"now": now},
    )
