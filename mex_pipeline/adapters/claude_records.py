"""Whether a file is a session of Claude Code: what a request for it has to know, and no more."""

from pathlib import Path

from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.records import Record, records, text_of

HEAD = 1024 * 1024
"""How many bytes at the beginning decide what the file is."""


def detect(path: Path) -> bool:
    """True when the beginning of the file holds more Claude records than unusable lines."""
    with opened(path) as file:
        score = 0
        for record in records(file, 0, min(size_of(file), HEAD)):
            score += is_claude(record) - (record.fault is not None)
        return score > 0


def is_claude(record: Record) -> bool:
    """True for a record that no other agent writes; an oversized line counts by its type."""
    value = record.value
    match text_of(value, "type"):
        case None:
            return False
        case "user" | "assistant":
            return record.fault is not None or isinstance(value.get("message"), dict)
        case "summary":
            return "leafUuid" in value
        case "file-history-snapshot":
            return "messageId" in value and "id" not in value  # WorkBuddy's records have an id of their own
    return "sessionId" in value and not {"id", "payload", "providerData"} & value.keys()
