"""Counts and sizes for `mex stats` and the bare command."""

from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.sql import Query


def counts(now: str) -> Query[dict[str, int]]:
    """Active memories with a slot, and active records."""
    return Query(
        "SELECT count(*) FILTER (WHERE sub_topic IS NOT NULL) AS profile, "
        "count(*) FILTER (WHERE sub_topic IS NULL) AS outside "
        f"FROM memories WHERE {ACTIVE}",
        {"now": now},
        dict,
    )
