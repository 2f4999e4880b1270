"""SQL of the search: the full-text index for what it can find, the base table for the rest (docs/storage.md)."""

from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query, where
from mex_pipeline.store.tokens import is_exact, match_expression

_WEIGHT = (
    "CASE confidence WHEN 'confirmed' THEN 1.0 WHEN 'explicit' THEN 0.9 WHEN 'inferred' THEN 0.6 "
    "WHEN 'speculated' THEN 0.4 ELSE 0.2 END"
)

LONGEST_INDEXED = 200
"""Characters of a keyword the index is asked for: a phrase of many equal tokens takes it minutes."""


def find(now: str, wanted: Selection, *, limit: int, offset: int = 0) -> Query[Memory]:
    """The memories a selection means; a negative limit means all.

    With a keyword the most relevant come first (bm25, then confidence), without one the newest. Any substring of a
    content finds it (product B2); the limit is applied after every filter.
    """
    conditions, params = _conditions(now, wanted)
    params |= {"limit": limit, "offset": offset}
    if wanted.keyword is None:
        order = "created_at DESC, seq DESC"
        return Query(f"{SELECT} {conditions} ORDER BY {order} LIMIT :limit OFFSET :offset", params, decode)
    hits = _hits(wanted.keyword, params)
    return Query(
        f"{SELECT} JOIN ({hits}) AS hit ON hit.rowid = memories.seq {conditions} "
        f"ORDER BY hit.score, {_WEIGHT} DESC, created_at DESC, seq DESC LIMIT :limit OFFSET :offset",
        params,
        decode,
    )


def _conditions(now: str, wanted: Selection) -> tuple[str, dict[str, Any]]:
    clause, params = where(
        {
            "topic = :topic": wanted.topic,
            "sub_topic = :sub_topic": wanted.sub_topic,
            "created_at >= :since": wanted.since,
            "created_at <= :until": wanted.until,
            "confidence = :confidence": wanted.confidence,
            "is_ai_inferred = :ai_inferred": None if wanted.ai_inferred is None else int(wanted.ai_inferred),
        }
    )
    if not wanted.include_forgotten:
        clause = f"{clause} AND {ACTIVE}" if clause else f"WHERE {ACTIVE}"
        params["now"] = now
    return clause, params


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
