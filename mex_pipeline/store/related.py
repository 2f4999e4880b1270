"""SQL of what belongs with a memory: said in the same session, standing in the same slot."""

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query

_SESSION = "coalesce(session_id, source_file, job_id)"


def of_sessions(memory_id: str, now: str, limit: int) -> Query[Memory]:
    """The active memories of which words were said in a session of the memory's, the newest first."""
    sessions = f"SELECT agent, {_SESSION} FROM memory_sources WHERE memory_id = :id"
    return Query(
        f"{SELECT} WHERE id IN (SELECT memory_id FROM memory_sources WHERE (agent, {_SESSION}) IN ({sessions})) "
        f"AND id <> :id AND {ACTIVE} ORDER BY created_at DESC, seq DESC LIMIT :limit",
        {"id": memory_id, "now": now, "limit": limit},
        decode,
    )


def of_slot(memory: Memory, now: str, limit: int) -> Query[Memory]:
    """The other active memories of a memory's slot, the newest first."""
    return Query(
        f"{SELECT} WHERE topic = :topic AND sub_topic = :sub_topic AND id <> :id AND {ACTIVE} "
        "ORDER BY created_at DESC, seq DESC LIMIT :limit",
        {"topic": memory.topic, "sub_topic": memory.sub_topic, "id": memory.id, "now": now, "limit": limit},
        decode,
    )
