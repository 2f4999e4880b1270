"""Short builders for the rows of the store tests."""

from itertools import count
from typing import Any

from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.store import memories
from tests.support.gateways import Gateway

NOW = "2026-08-06T08:30:00Z"
LATER = "2026-08-06T09:00:00Z"

_numbers = count(1)


def memory(content: str, slot: str | None = None, **changes: Any) -> Memory:
    """A memory with a fresh id; `slot` is `work.company`, a bare topic, or None."""
    topic, _, sub_topic = (slot or "").partition(".")
    values: dict[str, Any] = {
        "id": f"{next(_numbers):08x}-0000-4000-8000-000000000000",
        "topic": topic or None,
        "sub_topic": sub_topic or None,
        "content": content,
        "is_ai_inferred": False,
        "confidence": Confidence.EXPLICIT,
        "evidence": None,
        "created_at": NOW,
        "updated_at": NOW,
        "valid_from": NOW,
    }
    return Memory(**(values | changes))


def stored(db: Gateway, content: str, slot: str | None = None, **changes: Any) -> Memory:
    """A memory that has been written."""
    made = memory(content, slot, **changes)
    db.run(memories.insert(made))
    return made


def source(key: str | None = "k1", **changes: Any) -> Source:
    """A source of the agent `claude`; `key` is the message key."""
    return Source(agent="claude", message_key=key, **changes)
