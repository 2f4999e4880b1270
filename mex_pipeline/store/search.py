"""SQL of the search: the full-text index for what it can find, the base table for the rest (docs/storage.md)."""

import json
from collections.abc import Sequence
from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.store.memories import ACTIVE, SELECT, decode
from mex_pipeline.store.sql import Query, value, where
from mex_pipeline.store.tokens import is_exact, match_expression

_WEIGHT = (
    "CASE confidence WHEN 'confirmed' THEN 1.0 WHEN 'explicit' THEN 0.9 WHEN 'inferred' THEN 0.6 "
    "WHEN 'speculated' THEN 0.4 ELSE 0.2 END"
)

LONGEST_INDEXED = 200
"""Characters of a keyword the index is asked for: a phrase of many equal tokens takes it minutes."""

_HOLDS = "(instr(memories.content, value) > 0 OR instr(folded(memories.content), folded(value)) > 0)"
"""True when a content holds the word `value`, as it is or as words are compared. LIKE has a longest pattern, instr has none."""

_IN_PROJECT = (
    "SELECT memory_id FROM memory_sources WHERE (project = :project "
    "OR substr(project, 1, length(:project) + 1) IN (:project || '/', :project || '\\'))"
)


def find(now: str, wanted: Selection, *, limit: int, offset: int = 0) -> Query[Memory]:
    """The memories a selection means; a negative limit means all.

    With a keyword or words the most relevant come first (bm25, then confidence), without them the newest. Any substring
    of a content finds it (product B2); the limit is applied after every filter.
    """
    asked = (*_words(wanted.keyword or ""), *wanted.words)
    conditions, params = _conditions(now, wanted, asked)
    params |= {"limit": limit, "offset": offset}
    if not asked:
        order = "created_at DESC, seq DESC"
        return Query(f"{SELECT} {conditions} ORDER BY {order} LIMIT :limit OFFSET :offset", params, decode)
    hits = _hits(asked, params)
    return Query(
        f"{SELECT} JOIN ({hits}) AS hit ON hit.rowid = memories.seq {conditions} "
        f"ORDER BY hit.score, {_WEIGHT} DESC, created_at DESC, seq DESC LIMIT :limit OFFSET :offset",
        params,
        decode,
    )


def count(now: str, wanted: Selection) -> Query[int]:
    """How many memories a selection without keyword and words means."""
    conditions, params = _conditions(now, wanted, ())
    return Query(f"SELECT count(*) AS n FROM memories {conditions}", params, value("n"))


def in_project(project: str) -> Query[str]:
    """The ids of the memories that were said in a folder or below it (product B3)."""
    return Query(_IN_PROJECT, {"project": project}, value("memory_id"))


def _words(keyword: str) -> tuple[str, ...]:
    """The words of a keyword, each of which must occur; a pasted page is one."""
    return (keyword,) if len(keyword) > LONGEST_INDEXED else tuple(keyword.split())


def _conditions(now: str, wanted: Selection, asked: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    clause, params = where(
        {
            "topic = :topic": wanted.topic,
            "sub_topic = :sub_topic": wanted.sub_topic,
            "created_at >= :since": wanted.since,
            "created_at <= :until": wanted.until,
            "confidence = :confidence": wanted.confidence,
            "is_ai_inferred = :ai_inferred": None if wanted.ai_inferred is None else int(wanted.ai_inferred),
            f"id IN ({_IN_PROJECT})": wanted.project,
            # The index does not see signs, nor where the pieces of a word stand.
            _lacks_none("literal"): _json([word for word in asked if not _is_one_piece(word)]),
            f"NOT {_holds_any('without')}": _json(wanted.without),
            "seq NOT IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH :unwanted)": " OR ".join(
                match_expression(word) for word in wanted.without if _is_one_piece(word)
            )
            or None,
        }
    )
    if not wanted.include_forgotten:
        clause = f"{clause} AND {ACTIVE}" if clause else f"WHERE {ACTIVE}"
        params["now"] = now
    return clause, params


def _hits(asked: tuple[str, ...], params: dict[str, Any]) -> str:
    """Return the sub-query (rowid, score) for words that must all occur, lower scores first; adds its values to `params`."""
    parts = []
    is_long = sum(map(len, asked)) > LONGEST_INDEXED
    expression = "" if is_long else " ".join(filter(None, map(match_expression, asked)))
    if expression:
        params["match"] = expression
        parts.append("SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH :match")
    if is_long or not all(map(is_exact, asked)):
        # The inside of a Latin word, symbols and emoji are not tokens.
        params["parts"] = _json(asked)
        parts.append(f"SELECT seq AS rowid, 0.0 AS score FROM memories WHERE {_lacks_none('parts')}")
    return (
        parts[0]
        if len(parts) == 1
        else f"SELECT rowid, min(score) AS score FROM ({' UNION ALL '.join(parts)}) GROUP BY rowid"
    )


def _is_one_piece(word: str) -> bool:
    """True when the index finds the word as it is written: one run of letters and digits of one script."""
    return word.isalnum() and match_expression(word).count('"') == 2


def _json(words: Sequence[str]) -> str | None:
    return json.dumps(words, ensure_ascii=False) if words else None


def _lacks_none(name: str) -> str:
    """The condition that a content holds every word of the JSON array `:name`."""
    return f"NOT EXISTS (SELECT 1 FROM json_each(:{name} ) WHERE NOT {_HOLDS})"


def _holds_any(name: str) -> str:
    return f"EXISTS (SELECT 1 FROM json_each(:{name} ) WHERE {_HOLDS})"
