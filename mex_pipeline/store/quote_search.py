"""SQL of the search by quotes: memories whose words in the conversation hold what is asked for (docs/search.md)."""

from mex_pipeline.domain.ranking import MOST_POSTINGS


def hits(match: str) -> str:
    """Return the sub-query `(seq, score)` of the memories one of whose quotes matches, the best quote of each, of the newest
    MOST_POSTINGS quotes.

    `match` is the placeholder (`:name`) of a MATCH expression on `quotes_fts`, as store/tokens.py makes them; `seq` is the
    memory's row, `score` its bm25, the higher the better.
    """
    return (
        "SELECT memories.seq AS seq, max(quoted.score) AS score FROM (SELECT rowid AS source, -bm25(quotes_fts) AS score "
        f"FROM quotes_fts WHERE quotes_fts MATCH {match} ORDER BY rowid DESC LIMIT {MOST_POSTINGS}) AS quoted "
        "JOIN memory_sources ON memory_sources.seq = quoted.source "
        "JOIN memories ON memories.id = memory_sources.memory_id GROUP BY memories.seq"
    )
