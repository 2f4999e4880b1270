"""SQL of the full-text indexes as a whole: are they those of the rows, and made anew from them (docs/storage.md)."""

from mex_pipeline.store.sql import Query, Statement, value

OF_MEMORIES = ("memories_fts", "memories_grams")
"""What reads its rows in `memories`, so that SQLite can compare the two."""
_OF_TEXTS = {"quotes_fts": ("memory_sources", "quote"), "turns_fts": ("turns", "text")}
"""What holds its tokens itself: of which column of which table."""
_STALE = "tokens IS NOT segmented(content) OR sought IS NOT sought(content)"
"""A memory whose words are not those of its content: another program wrote it, or a meX that cut them otherwise."""


def check() -> list[Statement]:
    """Compare the indexes of memories with them: changes nothing, and fails as a damaged file when they differ."""
    return [Statement(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)") for name in OF_MEMORIES]


def strays() -> Query[int]:
    """How many contents, quotes and kept turns are not indexed as they stand, and how many rows there have no words left."""
    wrong = [
        f"SELECT count(*) FROM {table} AS t LEFT JOIN {name} AS f ON f.rowid = t.seq "
        f"WHERE t.{column} IS NOT NULL AND f.tokens IS NOT segmented(t.{column})"
        for name, (table, column) in _OF_TEXTS.items()
    ]
    gone = [
        f"SELECT count(*) FROM {name} WHERE rowid NOT IN (SELECT seq FROM {table} WHERE {column} IS NOT NULL)"
        for name, (table, column) in _OF_TEXTS.items()
    ]
    stale = f"SELECT count(*) FROM memories WHERE {_STALE}"
    return Query(f"SELECT {' + '.join(f'({one})' for one in [stale, *wrong, *gone])} AS n", {}, value("n"))


def rebuild() -> list[Statement]:
    """Make every index anew, with the tokens that this meX cuts; what a deleted row has left in one goes too."""
    made = [Statement(f"UPDATE memories SET tokens = segmented(content), sought = sought(content) WHERE {_STALE}")]
    for name, (table, column) in _OF_TEXTS.items():
        made += [
            Statement(f"DELETE FROM {name}"),
            Statement(
                f"INSERT INTO {name} (rowid, tokens) SELECT seq, segmented({column}) FROM {table} WHERE {column} IS NOT NULL"
            ),
        ]
    return made + [Statement(f"INSERT INTO {name} ({name}) VALUES ('rebuild')") for name in (*OF_MEMORIES, *_OF_TEXTS)]
