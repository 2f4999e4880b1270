"""SQL of a compaction: the records that may be condensed."""

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query


def records(now: str) -> Query[Memory]:
    """Every active record outside the profile, in the order in which they were stored."""
    return Query(f"{SELECT} WHERE sub_topic IS NULL AND {ACTIVE} ORDER BY seq", {"now": now}, decode)
