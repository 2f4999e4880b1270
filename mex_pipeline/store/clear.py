"""SQL of `mex clear`: everything that was said or learned leaves; what calls have cost and what is never to be known
again stay (seed 004 §7.4; product B6).
"""

from mex_pipeline.store import indexes
from mex_pipeline.store.sql import Query, Statement

_CLEARED = {
    "memories": "memories",
    "history": "history",
    "sources": "memory_sources",
    "turns": "turns",
    "replies": "kept_replies",
    "cursors": "extraction_state",
    "messages": "seen_messages",
    "jobs": "jobs",
    "proposals": "proposals",
    "declined": "refusals WHERE kind <> 'never_again'",
}


def counts() -> Query[dict[str, int]]:
    """How many rows of each kind there are to clear."""
    columns = ", ".join(f"(SELECT count(*) FROM {table}) AS {name}" for name, table in _CLEARED.items())
    return Query(f"SELECT {columns}", {}, dict)


def delete_all() -> list[Statement]:
    """Delete all of it, and make the full-text indexes anew from nothing: a deleted row leaves its words in them."""
    tables = [*_CLEARED.values(), "job_events"]
    deletes = [Statement(f"DELETE FROM {table}") for table in tables]
    return [*deletes, *indexes.rebuild()]
