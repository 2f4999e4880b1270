"""SQL of the review queue (seed 004 §6.3)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query, value

_DOUBTS = f"{ACTIVE} AND is_ai_inferred = 1 AND confidence <> 'confirmed' AND (:topic IS NULL OR topic = :topic)"


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the order of the queue asks of a memory that awaits review; `updated_at` is when the doubt arose."""

    id: str
    topic: str | None
    sub_topic: str | None
    confidence: Confidence
    updated_at: str


def doubts(now: str, topic: str | None) -> Query[Doubt]:
    """The memories that a model inferred and nobody confirmed, newest doubt first.

    Times are whole seconds: of equal ones the last change tells, not the age of the row.
    """
    return Query(
        f"SELECT id, topic, sub_topic, confidence, updated_at FROM memories WHERE {_DOUBTS} ORDER BY updated_at DESC, "
        "(SELECT max(h.seq) FROM history h WHERE h.memory_id = memories.id) DESC, memories.seq DESC",
        {"now": now, "topic": topic},
        lambda row: Doubt(row["id"], row["topic"], row["sub_topic"], Confidence(row["confidence"]), row["updated_at"]),
    )


def count(now: str, topic: str | None) -> Query[int]:
    """How many memories a model inferred and nobody confirmed."""
    return Query(f"SELECT count(*) AS n FROM memories WHERE {_DOUBTS}", {"now": now, "topic": topic}, value("n"))


def of_topics(topics: Iterable[str], now: str) -> Query[Memory]:
    """The active memories with a slot in one of the topics, oldest first: among them are contradictions looked for."""
    return Query(
        f"{SELECT} WHERE sub_topic IS NOT NULL AND topic IN (SELECT value FROM json_each(:topics)) AND {ACTIVE} ORDER BY seq",
        {"topics": json.dumps(sorted(topics)), "now": now},
        decode,
    )
