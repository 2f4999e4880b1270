"""SQL of an undo's own job: a row of `jobs` that is written finished (product P6)."""

import json

from mex_pipeline.domain.job import Job
from mex_pipeline.store.sql import Statement


def insert_ended(job: Job) -> Statement:
    """Write the row of a job that has done its work already: nothing waits for it, claims it or runs it."""
    return Statement(
        "INSERT INTO jobs (id, kind, payload, payload_v, state, outcome, available_at, first_enqueued_at, trigger, attempt, "
        "max_attempts, result, created_at, finished_at) VALUES (:id, :kind, :payload, :payload_v, :state, :outcome, :at, :at, "
        ":trigger, :attempt, :max_attempts, :result, :at, :at)",
        {
            "id": job.id,
            "kind": job.kind,
            "payload": json.dumps(job.payload),
            "payload_v": job.payload_v,
            "state": job.state,
            "outcome": job.outcome,
            "trigger": job.trigger,
            "attempt": job.attempt,
            "max_attempts": job.max_attempts,
            "result": json.dumps(job.result, ensure_ascii=False),
            "at": job.created_at,
        },
    )
