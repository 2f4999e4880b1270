"""Counts and sizes for `mex stats` and the bare command."""

from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.sql import Query


def counts(now: str) -> Query[dict[str, int]]:
    """Active memories with a slot, active records, memories awaiting review (seed 004 §6.3)."""
    return Query(
        "SELECT count(*) FILTER (WHERE sub_topic IS NOT NULL) AS profile, "
        "count(*) FILTER (WHERE sub_topic IS NULL) AS outside, "
        "count(*) FILTER (WHERE is_ai_inferred = 1 AND confidence <> 'confirmed') AS pending_review "
        f"FROM memories WHERE {ACTIVE}",
        {"now": now},
        dict,
    )
