"""One memory, by its id or the beginning of it (seed 004 §5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mex_pipeline.domain.ids import require_prefix
from mex_pipeline.errors import NotFound
from mex_pipeline.store import history, memories, sources

if TYPE_CHECKING:
    from mex_pipeline.app import App
    from mex_pipeline.domain.memory import HistoryEntry, Memory, Source


def get(app: App, prefix: str) -> tuple[Memory, list[Source], list[HistoryEntry]]:
    """Return one memory, where it was said, and its history; any unambiguous prefix of 8 characters serves (product B9)."""
    memory = find(app, prefix)
    return memory, app.db.all(sources.of_memory(memory.id)), app.db.all(history.of_memory(memory.id))


def find(app: App, prefix: str) -> Memory:
    """Return the memory of an id or prefix.

    Raises NotFound: `memory_not_found`, `memory_purged` with the whole id for one that was forgotten for good,
    `ambiguous_id`.
    """
    wanted = require_prefix(prefix)
    found = app.db.all(memories.by_prefix(wanted))
    if not found:
        gone = app.db.all(history.purged_ids(wanted))
        if len(gone) == 1:
            raise NotFound("memory_purged", id=gone[0])
        raise NotFound("ambiguous_id" if gone else "memory_not_found", id=prefix)
    if len(found) > 1:
        raise NotFound("ambiguous_id", id=prefix)
    return found[0]
