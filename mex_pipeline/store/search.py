"""SQL of the search: the full-text index for what it can find, the base table for the rest (docs/storage.md)."""

from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query
from mex_pipeline.store.tokens import is_exact, match_expression

_WEIGHT = (
    "CASE confidence WHEN 'confirmed' THEN 1.0 WHEN 'explicit' THEN 0.9 WHEN 'inferred' THEN 0.6 "
    "WHEN 'speculated' THEN 0.4 ELSE 0.2 END"
)

LONGEST_INDEXED = 200
"""Characters of a keyword the index is asked for: a phrase of many equal tokens takes it minutes."""


def find(
    now: str,
    *,
    keyword: str | None,
    topic: str | None,
    sub_topic: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    offset: int = 0,
) -> Query[Memory]:
    """The active memories that match every given condition; `since` and `until` bound `created_at`.

    With a keyword the most relevant come first (bm25, then confidence), without one the newest. Any substring of a
    content finds it (product B2); the limit is applied after every filter.
    """
    params: dict[str, Any] = {
        "now": now, "topic": topic, "sub_topic": sub_topic, "since": since, "until": until,
        "limit": limit, "offset": offset,
    }  # fmt: skip
    conditions = (
        f"{ACTIVE} AND (:topic IS NULL OR topic = :topic) AND (:sub_topic IS NULL OR sub_topic = :sub_topic) "
        "AND (:since IS NULL OR created_at >= :since) AND (:until IS NULL OR created_at <= :until)"
    )
    if keyword is None:
        order = "created_at DESC, seq DESC"
        return Query(f"{SELECT} WHERE {conditions} ORDER BY {order} LIMIT :limit OFFSET :offset", params, decode)
    hits = _hits(keyword, params)
    return Query(
        f"{SELECT} JOIN ({hits}) AS hit ON hit.rowid = memories.seq WHERE {conditions} "
        f"ORDER BY hit.score, {_WEIGHT} DESC, created_at DESC, seq DESC LIMIT :limit OFFSET :offset",
        params,
        decode,
    )


def _hits(keyword: str, params: dict[str, Any]) -> str:
    """Return the sub-query (rowid, score) for a keyword, lower scores first, and add its values to `params`."""
    parts = []
    is_long = len(keyword) > LONGEST_INDEXED
    expression = "" if is_long else match_expression(keyword)
    if expression:
        params["match"] = expression
        parts.append("SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH :match")
    if is_long or not is_exact(keyword):
        # The inside of a Latin word, symbols and emoji are not tokens. LIKE has a longest pattern, instr has none.
        params["part"] = keyword
        parts.append("SELECT seq AS rowid, 0.0 AS score FROM memories WHERE instr(lower(content), lower(:part)) > 0")
    return (
        parts[0]
        if len(parts) == 1
        else f"SELECT rowid, min(score) AS score FROM ({' UNION ALL '.join(parts)}) GROUP BY rowid"
    )
