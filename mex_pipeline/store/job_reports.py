"""SQL of questions about many jobs: lists, batches, and the counts of `mex jobs stats`. Times are integer milliseconds."""

import json
from typing import Any

from mex_pipeline.domain.job import Job
from mex_pipeline.store.jobs import COLUMNS, decode
from mex_pipeline.store.sql import Query, value, where

_OF_BATCH = "(batch_id = :batch OR id = :batch OR id IN (SELECT job_id FROM job_events WHERE event = 'merged' AND note = :batch))"
"""A request of a batch that met a waiting job joined it: its event names the batch (services/jobs.submit_all).
An archive belongs to the batch of its conversations, which has its id."""


def page(
    *,
    states: tuple[str, ...] = (),
    kind: str | None = None,
    source: str | None = None,
    outcome: str | None = None,
    since: int | None = None,
    batch: str | None = None,
    limit: int,
) -> Query[Job]:
    """The newest jobs that fit; `source` is a real path, `since` the moment of the request."""
    clause, values = where(
        {
            "state IN (SELECT value FROM json_each(:states))": json.dumps(states) if states else None,
            "kind = :kind": kind,
            "json_extract(payload, '$.path') = :source": source,
            "outcome = :outcome": outcome,
            "created_at >= :since": since,
            _OF_BATCH: batch,
        }
    )
    return Query(
        f"SELECT {COLUMNS} FROM jobs {clause} ORDER BY created_at DESC, seq DESC LIMIT :limit",
        values | {"limit": limit},
        decode,
    )


def of_batch(batch: str) -> Query[Job]:
    """The jobs of a batch, in the order they were asked for."""
    return Query(f"SELECT {COLUMNS} FROM jobs WHERE {_OF_BATCH} ORDER BY seq", {"batch": batch}, decode)


def batches(prefix: str) -> Query[str]:
    """The batches whose id begins with `prefix`, at most two."""
    return Query(
        "SELECT batch_id AS id FROM jobs WHERE batch_id >= :low AND batch_id < :high UNION SELECT note FROM job_events "
        "WHERE event = 'merged' AND note >= :low AND note < :high LIMIT 2",
        {"low": prefix, "high": prefix + "\U0010ffff"},
        value("id"),
    )


def events_after(job_id: str, seq: int) -> Query[dict[str, Any]]:
    """What happened to a job after a line of its story: `{seq, at, event, fence, note}`, oldest first."""
    return Query(
        "SELECT seq, at, event, fence, note FROM job_events WHERE job_id = :job_id AND seq > :seq ORDER BY seq",
        {"job_id": job_id, "seq": seq},
        dict,
    )


def counts(since: int) -> Query[dict[str, Any]]:
    """Per state and outcome: how many jobs, their attempts, crashes, requests merged into them, and kept replies used."""
    return Query(
        "SELECT state, outcome, count(*) AS jobs, sum(attempt) AS attempts, sum(crashes) AS crashes, "
        "sum(coalesced) AS merges, sum(coalesce(json_extract(result, '$.usage.reused'), 0)) AS reused "
        "FROM jobs WHERE created_at >= :since GROUP BY state, outcome ORDER BY state, outcome",
        {"since": since},
        dict,
    )


def waits(since: int) -> Query[int]:
    """Milliseconds from each request to the start of its first run."""
    return Query(
        "SELECT min(e.at) - j.created_at AS ms FROM jobs j JOIN job_events e ON e.job_id = j.id AND e.event = 'claimed' "
        "WHERE j.created_at >= :since GROUP BY j.id",
        {"since": since},
        value("ms"),
    )


def runs(since: int) -> Query[int]:
    """Milliseconds of each last run that ended well or failed."""
    return Query(
        "SELECT finished_at - started_at AS ms FROM jobs "
        "WHERE created_at >= :since AND started_at IS NOT NULL AND state IN ('succeeded', 'failed')",
        {"since": since},
        value("ms"),
    )


def happenings(since: int) -> Query[dict[str, int]]:
    """How often jobs were taken back, tried again, asked to be tried again, and put off by a locked mex.db."""
    return Query(
        "SELECT count(*) FILTER (WHERE note GLOB 'rescued:*') AS rescues, "
        "count(*) FILTER (WHERE event IN ('retrying', 'retry_requested')) AS retries, "
        "count(*) FILTER (WHERE note = 'database_busy') AS busy_waits FROM job_events WHERE at >= :since",
        {"since": since},
        dict,
    )


def spent(since: str) -> Query[dict[str, int]]:
    """Calls and tokens of jobs since a stored moment."""
    return Query(
        "SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens, "
        "coalesce(sum(completion_tokens), 0) AS completion_tokens FROM llm_usage "
        "WHERE job_id IS NOT NULL AND created_at >= :since",
        {"since": since},
        dict,
    )


def jobs_by_state() -> Query[tuple[str, int]]:
    """Number of jobs per state."""
    return Query(
        "SELECT state, count(*) AS n FROM jobs GROUP BY state ORDER BY state", {}, lambda row: (row["state"], row["n"])
    )
