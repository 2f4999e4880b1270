"""SQL of the search: an index says which rows may hold the words, the row itself whether it does (docs/search.md)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from mex_pipeline.domain.folding import END
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.ranking import MOST_POSTINGS, WORTH, By, Candidate
from mex_pipeline.domain.selection import Selection, forms
from mex_pipeline.domain.words import pieces
from mex_pipeline.store import quote_search
from mex_pipeline.store.memories import ACTIVE, IN_PROJECT, SELECT, decode
from mex_pipeline.store.sql import Query, Row, value, where
from mex_pipeline.store.tokens import gram_expression, is_short_han, stem_expression, term_expression

MOST_CANDIDATES = 2000
"""Hits that are ranked: the newest after every filter."""
_MOST_DRIVERS = 8
"""Words that the index is asked for; what the others are in, the row tells."""
_MOST_WORDS = 64
"""Words that are a condition each, and the most that are looked for by their stems."""

_GRAM = 3
_NOWHERE = END * _GRAM
_MOST_SPELLED = 1000
"""Threes of characters that a shorter word is spelled out in."""
VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.gram_terms USING fts5vocab (main, memories_grams, row)"
"""The table of all threes of characters; this connection's own, for it stores nothing."""

_RANKED_BY = (
    "memories.seq, memories.sought, length(CAST(content AS BLOB)) AS size, confidence, created_at, last_seen_at, "
    "is_pinned"
)


class _Params(dict[str, Any]):
    """The values of a statement; each that is added gets a name."""

    def add(self, given: Any) -> str:
        """Return the placeholder of a new value."""
        name = f"v{len(self)}"
        self[name] = given
        return f":{name}"


def find(now: str, wanted: Selection, *, limit: int, offset: int = 0) -> Query[Memory]:
    """The memories a selection means, the newest first; a negative limit means all.

    Any substring of a content finds it (product B2): every word must occur as it is written. The limit is applied after
    every filter.
    """
    tables, clause, params = _holding(now, wanted, wanted.words)
    params |= {"limit": limit, "offset": offset}
    columns = SELECT.removesuffix(" FROM memories")
    order = "created_at DESC, seq DESC"
    return Query(f"{columns} FROM {tables} {clause} ORDER BY {order} LIMIT :limit OFFSET :offset", params, decode)


def count(now: str, wanted: Selection, *, most: int = -1) -> Query[int]:
    """How many memories `find` finds in all; not counted further than to `most`."""
    tables, clause, params = _holding(now, wanted, wanted.words)
    params["most"] = most
    return Query(f"SELECT count(*) AS n FROM (SELECT 1 FROM {tables} {clause} LIMIT :most)", params, value("n"))


def short_forms(wanted: Selection) -> list[str]:
    """Return what is too short for the index of threes, and is to be spelled out in them (`spelled`)."""
    words = (word for word in (*wanted.literal, *wanted.words) if not is_short_han(word))
    return list(dict.fromkeys(form for word in words for form in forms(word) if len(form) < _GRAM))


def spelled(form: str) -> Query[tuple[str, int]]:
    """(three characters that begin with `form`, how many memories hold them), of VOCABULARY."""
    return Query(
        f"SELECT term, doc FROM gram_terms WHERE term >= :form AND term < :end LIMIT {_MOST_SPELLED + 1}",
        {"form": form, "end": form + "\U0010ffff"},
        lambda row: (row["term"], row["doc"]),
    )


def is_rare(grams: Sequence[tuple[str, int]]) -> bool:
    """True when asking the index is faster than walking through the memories, where something common is soon found."""
    return len(grams) <= _MOST_SPELLED and sum(count for _, count in grams) <= MOST_POSTINGS


def holding(now: str, wanted: Selection, spelled_out: Mapping[str, Sequence[str]]) -> Query[Candidate]:
    """The newest memories that hold every word as it is written: one more than MOST_CANDIDATES at most, newest first.

    `spelled_out` gives short forms as threes of characters, of those that are rare.
    """
    tables, clause, params = _holding(now, wanted, wanted.words, spelled_out)
    key = f"{tables.split()[0]}.rowid"
    return Query(
        f"SELECT {_RANKED_BY} FROM {tables} {clause} ORDER BY {key} DESC LIMIT {MOST_CANDIDATES + 1}",
        params,
        _candidate,
    )


def with_stems(now: str, wanted: Selection) -> Query[Candidate] | None:
    """The newest memories that hold every word by its stem (`caches` finds `caching`), as `holding`.

    None when that finds nothing else than `holding`: no word has a stem, or they are a page of words.
    """
    words, signs = _with_pieces(wanted.words)
    if len(words) > _MOST_WORDS or all(is_cjk for word in words for is_cjk, _ in pieces(word)):
        return None
    params = _Params()
    conditions = _conditions(now, wanted, signs, params)
    match = params.add(" AND ".join(map(stem_expression, words)))
    return Query(
        f"SELECT {_RANKED_BY} FROM memories_fts CROSS JOIN memories ON memories.seq = memories_fts.rowid "
        f"WHERE memories_fts MATCH {match}{conditions} ORDER BY memories_fts.rowid DESC LIMIT {MOST_CANDIDATES + 1}",
        params,
        lambda row: _candidate(row)._replace(by=By.STEM),
    )


def in_quotes(now: str, wanted: Selection) -> Query[Candidate] | None:
    """The newest memories one of whose quotes holds every word by its stem, as `holding`; None for a page of words.

    What is literal must stand in the content all the same: a quote is another's sentence.
    """
    words, signs = _with_pieces(wanted.words)
    if not words or len(words) > _MOST_WORDS:
        return None
    params = _Params()
    conditions = _conditions(now, wanted, signs, params)
    found = quote_search.hits(params.add(" AND ".join(map(stem_expression, words))))
    return Query(
        f"SELECT {_RANKED_BY} FROM ({found}) AS quoted CROSS JOIN memories ON memories.seq = quoted.seq "
        f"WHERE 1{conditions} ORDER BY memories.seq DESC LIMIT {MOST_CANDIDATES + 1}",
        params,
        lambda row: _candidate(row)._replace(by=By.QUOTE),
    )


def counts(terms: Sequence[str]) -> Query[tuple[str, int]]:
    """(term, how many contents and quotes hold it), of terms as domain/words.py cuts them; counted no further than to
    MOST_POSTINGS of each.
    """
    held = " + ".join(
        f"(SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH term.value LIMIT {MOST_POSTINGS}))"
        for index in ("memories_fts", "quotes_fts")
    )
    return Query(
        f"SELECT term.key AS term, {held} AS n FROM json_each(:terms) AS term",
        {"terms": json.dumps({term: term_expression(term) for term in terms}, ensure_ascii=False)},
        lambda row: (row["term"], row["n"]),
    )


def with_some(now: str, wanted: Selection, terms: Sequence[str]) -> Query[Candidate]:
    """The memories that hold at least one of the terms, the most relevant first (bm25), as many as `holding`.

    What must be literal must be there all the same.
    """
    params = _Params(terms=" OR ".join(map(term_expression, terms)))
    conditions = _conditions(now, wanted, (), params)
    return Query(
        f"SELECT {_RANKED_BY}, -bm25(memories_fts) AS bm25 "
        "FROM memories_fts CROSS JOIN memories ON memories.seq = memories_fts.rowid "
        f"WHERE memories_fts MATCH :terms{conditions} "
        f"ORDER BY bm25 DESC, memories_fts.rowid DESC LIMIT {MOST_CANDIDATES + 1}",
        params,
        _candidate,
    )


def with_some_in_quotes(now: str, wanted: Selection, terms: Sequence[str]) -> Query[Candidate]:
    """The memories one of whose quotes holds at least one of the terms, as `with_some`, with what a quote is worth."""
    params = _Params(terms=" OR ".join(map(term_expression, terms)), worth=WORTH[By.QUOTE])
    conditions = _conditions(now, wanted, (), params)
    return Query(
        f"SELECT {_RANKED_BY}, quoted.score * :worth AS bm25 FROM ({quote_search.hits(':terms')}) AS quoted "
        f"CROSS JOIN memories ON memories.seq = quoted.seq WHERE 1{conditions} "
        f"ORDER BY bm25 DESC, memories.seq DESC LIMIT {MOST_CANDIDATES + 1}",
        params,
        lambda row: _candidate(row)._replace(by=By.QUOTE),
    )


def found_by(terms: Sequence[str], seqs: Iterable[int]) -> Query[tuple[int, str, By]]:
    """(row, term, stem or quote) for every term that the content of one of the rows holds by its stem, or a quote of it."""
    quotes = (
        "SELECT memory_sources.seq FROM memory_sources JOIN memories ON memories.id = memory_sources.memory_id "
        "WHERE memories.seq IN (SELECT value FROM json_each(:seqs))"
    )
    return Query(
        f"SELECT memories_fts.rowid AS seq, term.key AS term, '{By.STEM}' AS by FROM json_each(:terms) AS term "
        "CROSS JOIN memories_fts WHERE memories_fts MATCH term.value "
        "AND memories_fts.rowid IN (SELECT value FROM json_each(:seqs)) "
        f"UNION ALL SELECT memories.seq, term.key, '{By.QUOTE}' FROM json_each(:terms) AS term CROSS JOIN quotes_fts "
        "JOIN memory_sources ON memory_sources.seq = quotes_fts.rowid JOIN memories ON memories.id = memory_sources.memory_id "
        f"WHERE quotes_fts MATCH term.value AND quotes_fts.rowid IN ({quotes})",
        {
            "terms": json.dumps({term: term_expression(term) for term in terms}, ensure_ascii=False),
            "seqs": json.dumps(list(seqs)),
        },
        lambda row: (row["seq"], row["term"], By(row["by"])),
    )


def rows(seqs: Sequence[int]) -> Query[tuple[int, Memory]]:
    """(row, memory) of the given rows, in no order."""
    columns = SELECT.removesuffix(" FROM memories")
    return Query(
        f"{columns}, memories.seq FROM memories WHERE seq IN (SELECT value FROM json_each(:seqs))",
        {"seqs": json.dumps(seqs)},
        lambda row: (row["seq"], decode(row)),
    )


def meant(now: str, wanted: Selection) -> tuple[str, dict[str, Any]]:
    """Return `1 AND …`, the conditions on `memories` of a selection whatever `words` it asks for, and their values."""
    params = _Params()
    return f"1{_conditions(now, wanted, (), params)}", params


def _candidate(row: Row) -> Candidate:
    seq, sought, size, confidence, created_at, last_seen_at, is_pinned, *bm25 = cast("tuple[Any, ...]", row)
    return Candidate(seq, sought, size, Confidence(confidence), created_at, last_seen_at, bool(is_pinned), *bm25)


def _holding(
    now: str, wanted: Selection, words: Sequence[str], spelled_out: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> tuple[str, str, _Params]:
    """Return the tables, the WHERE clause and the values for memories that hold what is literal and these words.

    The first table is the one that is walked through: an index when it knows any of the words.
    """
    params = _Params()
    asked = tuple(dict.fromkeys((*wanted.literal, *words)))
    conditions = _conditions(now, wanted, words, params)
    index, match = _driver(asked, spelled_out)
    if not index:
        return "memories", f"WHERE 1{conditions}", params
    tables = f"{index} CROSS JOIN memories ON memories.seq = {index}.rowid"
    return tables, f"WHERE {index} MATCH {params.add(match)}{conditions}", params


def _driver(words: Sequence[str], spelled_out: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return the index to ask first and for what: of threes of characters, for short Chinese words that of words."""
    drivers = [
        " OR ".join(_grams(form, spelled_out) for form in forms(word))
        for word in sorted(words, key=len, reverse=True)
        if all(len(form) >= _GRAM or form in spelled_out for form in forms(word))
    ]
    if drivers:
        return "memories_grams", " AND ".join(f"({one})" for one in drivers[:_MOST_DRIVERS])
    short = [stem_expression(word) for word in words if is_short_han(word)]
    return ("memories_fts", " AND ".join(short[:_MOST_DRIVERS])) if short else ("", "")


def _grams(form: str, spelled_out: Mapping[str, Sequence[str]]) -> str:
    if len(form) >= _GRAM:
        return f"({gram_expression(form)})"
    return " OR ".join(map(gram_expression, spelled_out[form] or (_NOWHERE,)))


def _conditions(now: str, wanted: Selection, words: Sequence[str], params: _Params) -> str:
    """Return ` AND …` of every filter, of what is literal and of these words; adds the values to `params`."""
    clause, given = where(
        {
            "topic = :topic": wanted.topic,
            "sub_topic = :sub_topic": wanted.sub_topic,
            "created_at >= :since": wanted.since,
            "created_at <= :until": wanted.until,
            "confidence = :confidence": wanted.confidence,
            "is_ai_inferred = :ai_inferred": None if wanted.ai_inferred is None else int(wanted.ai_inferred),
            f"id IN ({IN_PROJECT})": wanted.project,
        }
    )
    params |= given
    found = [clause.removeprefix("WHERE ")] if clause else []
    if not wanted.include_forgotten:
        found.append(ACTIVE)
        params["now"] = now
    asked = tuple(dict.fromkeys((*wanted.literal, *words)))
    found += [_stands(word, params) for word in asked[:_MOST_WORDS]]
    found += [f"NOT {_stands(word, params)}" for word in wanted.without[:_MOST_WORDS]]
    if asked[_MOST_WORDS:]:
        found.append(f"NOT EXISTS ({_each(asked[_MOST_WORDS:], 'NOT EXISTS', params)})")
    if wanted.without[_MOST_WORDS:]:
        found.append(f"NOT EXISTS ({_each(wanted.without[_MOST_WORDS:], 'EXISTS', params)})")
    return "".join(f" AND {one}" for one in found)


def _stands(word: str, params: _Params) -> str:
    """The condition that a content holds a word. LIKE has a longest pattern and signs of its own, instr has neither."""
    return "(" + " OR ".join(f"instr(memories.sought, {params.add(form)})" for form in forms(word)) + ")"


def _each(words: Sequence[str], stands: str, params: _Params) -> str:
    """The words of a long list that a content lacks (`NOT EXISTS`) or holds (`EXISTS`), as a sub-query."""
    given = params.add(json.dumps([forms(word) for word in words], ensure_ascii=False))
    return (
        f"SELECT 1 FROM json_each({given}) AS word WHERE {stands} "
        "(SELECT 1 FROM json_each(word.value) AS form WHERE instr(memories.sought, form.value))"
    )


def _with_pieces(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that have letters, and the signs that have none and no stem."""
    told = {word: bool(stem_expression(word)) for word in words}
    return [word for word in words if told[word]], [word for word in words if not told[word]]
