"""The one JSON shape of a job (product H9)."""

from typing import Any

from mex_pipeline.clock import iso_of_millis
from mex_pipeline.domain.job import Job
from mex_pipeline.services.jobs import ARCHIVE, EMBED

_NO_RESULT: dict[str, Any] = {
    "added": [], "updated": [], "retired": [], "discarded": [], "inferred_count": 0, "proposed": 0, "cursor": None,
    "turns": None,
}  # fmt: skip


def job_plain(job: Job) -> dict[str, Any]:
    """Return the JSON object of a job: its row without internals, and its result's keys beside them (product H9)."""
    shape: dict[str, Any] = {
        "job_id": job.id,
        "kind": job.kind,
        "state": job.state,
        "reason": job.reason,
        "outcome": job.outcome,
        "source": {key: value for key, value in job.payload.items() if key in ("adapter", "path", "session")},
        "trigger": job.trigger,
        "merged": job.coalesced,
        "batch_id": job.batch_id,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "crashes": job.crashes,
        "cancel_requested": job.cancel_requested,
        "progress": _progress(job),
        "error": None
        if job.last_error is None
        else {key: job.last_error[key] for key in ("code", "params", "at", "retryable") if key in job.last_error},
        "available_at": iso_of_millis(job.available_at),
        "created_at": iso_of_millis(job.created_at),
        "started_at": iso_of_millis(job.started_at),
        "finished_at": iso_of_millis(job.finished_at),
    }
    return shape | (_NO_RESULT if job.kind == ARCHIVE else {}) | (job.result or _NO_RESULT)


def _progress(job: Job) -> dict[str, Any] | None:
    """How far a job is; how many conversations an export holds is known at its end only."""
    unit = {ARCHIVE: "conversations", EMBED: "memories"}.get(job.kind, "chunks")
    if job.progress_done is None or (job.progress_total is None and job.kind != ARCHIVE):
        return None
    return {"done": job.progress_done, "total": job.progress_total, "unit": unit, "note": job.progress_note}
