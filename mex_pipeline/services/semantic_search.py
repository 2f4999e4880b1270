"""Searching by meaning: what holds the words first, then what says the same in others (product P2, F6; docs/semantic.md)."""

from collections.abc import Callable, Sequence

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.vector import Vector, fused
from mex_pipeline.services import search
from mex_pipeline.services.embedder import Embedder, model_name
from mex_pipeline.services.search import MAX_LIMIT, Found, Hit
from mex_pipeline.store import embeddings, memories

Likeness = Callable[[Sequence[float], Sequence[Vector]], list[float]]
"""embedding/likeness.py: how much like a question each of some vectors is."""
WORDED = 200
"""Hits by words that are weighed against meaning, however many are shown: so that one page goes on where another ended."""


def question(asked: Selection) -> str:
    """Return the words whose meaning is asked for; "" when there are none, for what is literal means itself alone."""
    return " ".join(asked.words)


def find(
    app: App,
    asked: Selection,
    embedder: Embedder,
    likeness: Likeness,
    *,
    limit: int,
    offset: int,
    is_explained: bool,
) -> tuple[Found, int, int]:
    """Return one page of hits, how many active memories have no vector that can be compared and were found by their words
    alone, and the number of components that such a vector has.

    First what holds all words, then what holds some and what is near in meaning, as one list (domain/vector.py). Every
    filter and all that is literal holds for both. Raises InvalidInput as services/search.py, NotConfigured
    ("semantic_not_installed") and the LLM errors of an endpoint.
    """
    search.check_page(limit, offset)
    asks_for = embedder.query(question(asked))
    now, model = iso(app.clock.now()), model_name(app.settings.semantic)
    with app.db.snapshot() as view:
        kept = view.all(embeddings.vectors(model, len(asks_for), now, asked))
        missing = view.first(embeddings.count_missing(model, now, len(asks_for))) or 0
    depth = min(max(limit + offset, WORDED), MAX_LIMIT)
    worded = search.ranked(app, asked, limit=depth, is_explained=is_explained)
    told = likeness(asks_for, [vector for _, vector in kept])
    near = dict(zip((one for one, _ in kept), told, strict=True))
    return _together(app, worded, near, limit=limit, offset=offset), missing, len(asks_for)


def _together(app: App, worded: Found, near: dict[str, float], *, limit: int, offset: int) -> Found:
    hits = {hit.memory.id: hit for hit in worded.hits}
    whole = [one for one, hit in hits.items() if not hit.is_partial]
    some = [one for one, hit in hits.items() if hit.is_partial]
    others = near.keys() - set(whole)
    order = [*whole, *fused(some, {one: score for one, score in near.items() if one in others})]
    page = order[offset : offset + limit]
    rows = {one.id: one for one in app.db.all(memories.by_ids(one for one in page if one not in hits))}
    related = {one: Hit(memory, is_related=True) for one, memory in rows.items()}
    shown = tuple(found for one in page if (found := hits.get(one) or related.get(one)))
    return worded._replace(hits=shown, total=max(worded.total, len(hits)) + len(order) - len(hits))
