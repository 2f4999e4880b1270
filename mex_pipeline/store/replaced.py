"""SQL of what gave way: the values that others have replaced, out of the states in history (product B8, B11)."""

import json
from collections.abc import Iterable

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.timeline import state_of
from mex_pipeline.store.sql import Query


def in_slots(slots: Iterable[tuple[str, str]]) -> Query[Memory]:
    """The values replaced in the memories of the given slots, each valid until its successor was said."""
    return Query(
        "SELECT h.before, json_extract(h.after, '$.valid_from') AS ended FROM memories m "
        "JOIN history h ON h.memory_id = m.id WHERE m.sub_topic IS NOT NULL "
        "AND m.topic || '.' || m.sub_topic IN (SELECT value FROM json_each(:slots)) AND h.event = 'update' "
        "AND h.before IS NOT NULL AND h.after IS NOT NULL AND h.old_content IS NOT h.new_content ORDER BY h.seq",
        {"slots": json.dumps(sorted(f"{topic}.{sub_topic}" for topic, sub_topic in slots))},
        lambda row: state_of(json.loads(row["before"]))._replace(valid_to=row["ended"]),
    )
