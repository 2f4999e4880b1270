"""Frozen results and the one JSON shape of every front end (product H9, H10)."""

from dataclasses import asdict, dataclass
from typing import Any

from mex_pipeline.clock import iso_of_millis
from mex_pipeline.domain.candidate import Discarded
from mex_pipeline.domain.conversation import Transcript, Turn
from mex_pipeline.domain.job import Job
from mex_pipeline.domain.memory import HistoryEntry, Memory, Source
from mex_pipeline.services.jobs import ARCHIVE, EMBED

# The original's twelve keys in its order, then ours.
_MEMORY_KEYS = (
    "id", "topic", "sub_topic", "content", "is_ai_inferred", "confidence", "evidence", "created_at", "updated_at",
    "forgotten_at", "forgotten_reason", "expires_at", "occurred_at", "valid_from", "valid_to", "times_seen",
    "last_seen_at", "is_pinned",
)  # fmt: skip
_SOURCE_KEYS = (
    "agent", "session_id", "message_id", "role", "said_at", "quote", "quote_start", "quote_end", "verified", "project",
    "source_file", "job_id",
)  # fmt: skip


def memory_plain(memory: Memory) -> dict[str, Any]:
    """Return the JSON object of a memory."""
    return {key: getattr(memory, key) for key in _MEMORY_KEYS}


def deleted_plain(memory_id: str) -> dict[str, Any]:
    """Return the JSON object of a memory that was deleted for good: nothing but its id is known (product B6)."""
    return dict.fromkeys(_MEMORY_KEYS) | {"id": memory_id}


def source_plain(source: Source) -> dict[str, Any]:
    """Return the JSON object of a source."""
    return {key: getattr(source, key) for key in _SOURCE_KEYS}


def discarded_plain(discarded: Discarded) -> dict[str, Any]:
    """Return the JSON object of a candidate that was not written."""
    return {"content": discarded.content, "reason": discarded.reason} | (
        {"facts": discarded.facts} if discarded.facts else {}
    )


def history_plain(entry: HistoryEntry) -> dict[str, Any]:
    """Return the JSON object of one line of history."""
    return {key: value for key, value in asdict(entry).items() if key not in ("before", "after")}


def turn_plain(turn: Turn) -> dict[str, Any]:
    """Return the JSON object of a turn as `mex transcript` prints it."""
    return {
        "role": turn.role, "text": turn.text, "at": turn.at, "message_id": turn.message_id, "kind": turn.kind,
        "held": turn.held,
    }  # fmt: skip


def transcript_plain(transcript: Transcript) -> dict[str, Any]:
    """Return the JSON object of a transcript."""
    return {
        "agent": transcript.agent,
        "session_id": transcript.session_id,
        "turns": [turn_plain(turn) for turn in transcript.turns],
        "dropped": dict(sorted(transcript.dropped.items())),
        "redacted": transcript.redacted,
    }


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


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories of a list, and how many there are in all."""

    memories: tuple[Memory, ...]
    total: int
    offset: int
