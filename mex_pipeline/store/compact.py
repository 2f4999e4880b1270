"""SQL of a compaction: the records that may be condensed, and what a summary was condensed from."""

import json
from collections.abc import Iterable

from mex_pipeline.domain.compact import CONDENSED
from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query


def records(now: str) -> Query[Memory]:
    """Every active record outside the profile but pinned ones and summaries of a compaction, oldest first."""
    summaries = (
        "SELECT substr(gone.forgotten_reason, length(value) + 1) FROM memories gone, json_each(:reasons) "
        "WHERE gone.forgotten_at IS NOT NULL AND substr(gone.forgotten_reason, 1, length(value)) = value"
    )
    return Query(
        f"{SELECT} WHERE sub_topic IS NULL AND is_pinned = 0 AND {ACTIVE} AND id NOT IN ({summaries}) ORDER BY seq",
        {"now": now, "reasons": json.dumps([*CONDENSED.values()])},
        decode,
    )


def originals(ids: Iterable[str]) -> Query[Memory]:
    """The forgotten records that were condensed into the memories of the ids."""
    reasons = [reason + one for one in ids for reason in CONDENSED.values()]
    return Query(
        f"{SELECT} WHERE forgotten_at IS NOT NULL AND forgotten_reason IN (SELECT value FROM json_each(:reasons)) ORDER BY seq",
        {"reasons": json.dumps(reasons)},
        decode,
    )
