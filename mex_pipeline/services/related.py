"""What belongs with a memory: said in the same session, in the same slot, of similar words."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain import ranking
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.words import terms
from mex_pipeline.services.lookup import find
from mex_pipeline.services.results import memory_plain
from mex_pipeline.services.search import check_page
from mex_pipeline.store import related, search
from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class Related:
    """A memory, and what belongs with it: the best or newest first; one may be in several of the groups."""

    memory: Memory
    session: tuple[Memory, ...]
    slot: tuple[Memory, ...]
    similar: tuple[Memory, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `memory`, and a list of memories for each of `session`, `slot` and `similar`."""
        groups = {name: [memory_plain(one) for one in getattr(self, name)] for name in ("session", "slot", "similar")}
        return {"memory": memory_plain(self.memory)} | groups


def of(app: App, prefix: str, *, limit: int = 10) -> Related:
    """Return what belongs with a memory, at most `limit` of each group; raises NotFound and InvalidInput."""
    check_page(limit, 0)
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        memory = find(app, prefix)
        session = view.all(related.of_sessions(memory.id, now, limit))
        slot = view.all(related.of_slot(memory, now, limit)) if memory.slot else []
        similar = _similar(view, memory, now, limit)
    return Related(memory, tuple(session), tuple(slot), tuple(similar))


def _similar(view: Database, memory: Memory, now: str, limit: int) -> list[Memory]:
    """The memories that share words with one, the most relevant first."""
    words = ranking.rarest(dict(view.all(search.counts(terms(memory.content)))))
    if not words:
        return []
    found = ranking.ranked(view.all(search.with_some(now, Selection(), words)), words, date.fromisoformat(now[:10]))
    page = [one.seq for one, _ in found[: limit + 1]]
    rows = dict(view.all(search.rows(page)))
    return [rows[seq] for seq in page if rows[seq].id != memory.id][:limit]
