"""Counts and sizes for `mex stats` and the bare command."""

from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.sql import Query, value


def counts(now: str) -> Query[dict[str, int]]:
    """Active memories with a slot, and active records."""
    return Query(
        "SELECT count(*) FILTER (WHERE sub_topic IS NOT NULL) AS profile, "
        "count(*) FILTER (WHERE sub_topic IS NULL) AS outside "
        f"FROM memories WHERE {ACTIVE}",
        {"now": now},
        dict,
    )


def extracted(now: str) -> Query[int]:
    """Active memories that a job with a model has written."""
    return Query(
        f"SELECT count(*) AS n FROM memories WHERE {ACTIVE} AND EXISTS (SELECT 1 FROM memory_sources s "
        "WHERE s.memory_id = memories.id AND s.job_id IN (SELECT job_id FROM llm_usage))",
        {"now": now},
        value("n"),
    )
