"""SQL of the review queue (seed 004 §6.3)."""

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query, value

_WAITING = f"{ACTIVE} AND is_ai_inferred = 1 AND confidence <> 'confirmed' AND (:topic IS NULL OR topic = :topic)"
# Times are whole seconds: of equal ones the last change tells, not the age of the row.
_NEWEST = "updated_at DESC, (SELECT max(h.seq) FROM history h WHERE h.memory_id = memories.id) DESC, memories.seq DESC"

ORDERS = {
    "newest": _NEWEST,
    "oldest": _NEWEST.replace("DESC", "ASC"),
    "confidence": f"confidence, {_NEWEST}",  # the tiers' names happen to sort from the surest to the least sure
    "topic": f"topic IS NULL, topic, sub_topic IS NULL, sub_topic, {_NEWEST}",
}
"""By what the queue may be ordered; the time is when the doubt arose."""


def page(now: str, *, order: str, topic: str | None, limit: int, offset: int) -> Query[Memory]:
    """One page of the memories that await review; a negative limit means all."""
    return Query(
        f"{SELECT} WHERE {_WAITING} ORDER BY {ORDERS[order]} LIMIT :limit OFFSET :offset",
        {"now": now, "topic": topic, "limit": limit, "offset": offset},
        decode,
    )


def count(now: str, topic: str | None) -> Query[int]:
    """How many memories await review."""
    return Query(f"SELECT count(*) AS n FROM memories WHERE {_WAITING}", {"now": now, "topic": topic}, value("n"))
