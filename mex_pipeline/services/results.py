"""Frozen results and the one JSON shape of every front end (product H9, H10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mex_pipeline.domain.candidate import Discarded
    from mex_pipeline.domain.conversation import Transcript, Turn
    from mex_pipeline.domain.memory import HistoryEntry, Memory, Source

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
    return {key: value for key, value in entry._asdict().items() if key not in ("before", "after")}


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
