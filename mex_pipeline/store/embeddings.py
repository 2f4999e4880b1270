"""SQL of the `embeddings` table: the vectors of contents, which a trigger drops with the words they stand for."""

from typing import Any, cast

from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.vector import Vector
from mex_pipeline.store.memories import ACTIVE
from mex_pipeline.store.search import meant
from mex_pipeline.store.sql import Query, Row, Statement, value

NEWEST = 2**63 - 1
"""A row above every other."""


def missing(model: str, now: str, limit: int, below: int = NEWEST) -> Query[tuple[int, str]]:
    """(row, content) of active memories without a vector of this model, the newest first, from the row `below` on."""
    return Query(
        f"SELECT seq, content FROM memories WHERE seq < :below AND {ACTIVE} AND NOT EXISTS "
        "(SELECT 1 FROM embeddings AS e INDEXED BY embeddings_model WHERE e.model = :model AND e.seq = memories.seq) "
        "ORDER BY seq DESC LIMIT :limit",
        {"model": model, "now": now, "limit": limit, "below": below},
        lambda row: (row["seq"], row["content"]),
    )


def count(model: str) -> Query[int]:
    """How many vectors of this model there are."""
    return Query("SELECT count(*) AS n FROM embeddings WHERE model = :model", {"model": model}, value("n"))


def count_missing(model: str, now: str, size: int | None = None) -> Query[int]:
    """How many active memories have no vector of this model, or with `size` none of so many components."""
    return Query(
        f"SELECT count(*) AS n FROM memories WHERE {ACTIVE} AND seq NOT IN "
        "(SELECT e.seq FROM embeddings AS e WHERE e.model = :model AND (:size IS NULL OR length(e.vector) = :size))",
        {"model": model, "now": now, "size": size},
        value("n"),
    )


def write(seq: int, content: str, model: str, vector: Vector) -> Statement:
    """Keep the vector of a content, if the memory still says just that."""
    return Statement(
        "INSERT OR REPLACE INTO embeddings (seq, model, scale, vector) "
        "SELECT seq, :model, :scale, :vector FROM memories WHERE seq = :seq AND content = :content",
        {"seq": seq, "content": content, "model": model, "scale": vector.scale, "vector": vector.values},
    )


def drop_others(model: str) -> Statement:
    """Delete the vectors of other models: they cannot be compared with those of this one."""
    return Statement("DELETE FROM embeddings WHERE model <> :model", {"model": model})


def drop_unlike(model: str, size: int) -> Statement:
    """Delete the vectors that have another number of components than the model's newest ones: nothing compares the two."""
    return Statement(
        "DELETE FROM embeddings WHERE model = :model AND length(vector) <> :size", {"model": model, "size": size}
    )


def drop_newest_unlike(model: str, size: int, now: str) -> Statement:
    """Delete the vector of one active memory that has not `size` components: it is made anew, and tells how many there are."""
    return Statement(
        "DELETE FROM embeddings WHERE seq = (SELECT max(e.seq) FROM embeddings AS e JOIN memories ON memories.seq = e.seq "
        f"WHERE e.model = :model AND length(e.vector) <> :size AND {ACTIVE})",
        {"model": model, "size": size, "now": now},
    )


def vectors(model: str, size: int, now: str, wanted: Selection) -> Query[tuple[str, Vector]]:
    """(id, vector) of the memories that a selection means, whatever words it asks for; of `size` components each."""
    clause, params = meant(now, wanted)
    return Query(
        "SELECT memories.id, e.scale, e.vector FROM embeddings AS e CROSS JOIN memories ON memories.seq = e.seq "
        f"WHERE {clause} AND e.model = :model AND length(e.vector) = :size ORDER BY e.seq DESC",
        {**params, "model": model, "size": size},
        _vector,
    )


def _vector(row: Row) -> tuple[str, Vector]:
    memory, scale, values = cast("tuple[Any, ...]", row)  # by name it takes twice as long, ten thousand times
    return memory, Vector(scale, values)
