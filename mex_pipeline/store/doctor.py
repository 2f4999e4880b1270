"""SQL of `mex doctor`: does each history lead to its memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import COLUMNS, decode
from mex_pipeline.store.sql import Query, Row


@dataclass(frozen=True, slots=True)
class Traced:
    """A memory with the first and the last line of its history; None where there is none."""

    memory: Memory
    first_event: str | None
    last_event: str | None
    last_content: str | None
    last_state: Mapping[str, Any] | None


def traced() -> Query[Traced]:
    """Every memory with the ends of its history, oldest first; what was deleted for good may have come back since."""
    return Query(
        f"SELECT {', '.join(f'm.{column}' for column in COLUMNS)}, first.event AS first_event, "
        "last.event AS last_event, last.new_content AS last_content, last.after AS last_state FROM memories m "
        "LEFT JOIN history first ON first.seq = (SELECT min(seq) FROM history WHERE memory_id = m.id AND event <> 'delete') "
        "LEFT JOIN history last ON last.seq = (SELECT max(seq) FROM history WHERE memory_id = m.id) ORDER BY m.seq",
        {},
        _decode,
    )


def _decode(row: Row) -> Traced:
    state = row["last_state"]
    return Traced(
        decode(row),
        row["first_event"],
        row["last_event"],
        row["last_content"],
        None if state is None else json.loads(state),
    )
