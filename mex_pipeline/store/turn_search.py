"""SQL of the search in kept turns: which hold a word, which stand beside them, and any part of a word (docs/search.md)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mex_pipeline.domain.folding import folded
from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.ranking import MOST_POSTINGS
from mex_pipeline.domain.selection import Selection, forms
from mex_pipeline.domain.turn_ranking import BESIDE, LABEL, Place
from mex_pipeline.store.memories import ACTIVE, SELECT
from mex_pipeline.store.memories import decode as decode_memory
from mex_pipeline.store.sql import Query, value
from mex_pipeline.store.tokens import stem_expression, term_expression
from mex_pipeline.store.turns import SESSION, Which, decode

_MOST_WORDS = 64
"""Words that are a condition each."""
_SAID = "coalesce(turns.said_at, turns.kept_at)"
_OF_TURNS = "coalesce(turns.session_id, turns.source_file, turns.job_id, '')"
_OF_FOUND = "coalesce(found.session_id, found.source_file, found.job_id, '')"


def total() -> Query[int]:
    """How many turns are kept."""
    return Query("SELECT count(*) AS n FROM turns", {}, value("n"))


def sessions(agent: str | None) -> Query[tuple[str, str]]:
    """(agent, session) of every session of which turns are kept, of one agent or of all."""
    return Query(
        f"SELECT DISTINCT agent, {SESSION} AS session FROM turns WHERE :agent IS NULL OR agent = :agent",
        {"agent": agent},
        lambda row: (row["agent"], row["session"]),
    )


def counts(terms: Sequence[str]) -> Query[tuple[str, int]]:
    """(term, how many turns hold it), counted no further than MOST_POSTINGS; of terms as domain/words.py cuts them."""
    return Query(
        "SELECT term.key AS term, (SELECT count(*) FROM (SELECT 1 FROM turns_fts WHERE turns_fts MATCH term.value "
        f"LIMIT {MOST_POSTINGS})) AS n FROM json_each(:terms) AS term",
        {"terms": json.dumps({term: term_expression(term) for term in terms}, ensure_ascii=False)},
        lambda row: (row["term"], row["n"]),
    )


def holders(term: str, wanted: Selection, within: Which) -> Query[int]:
    """The rows of the turns that hold a term and are meant, the newest MOST_POSTINGS of them."""
    params: dict[str, Any] = {"term": term_expression(term)}
    conditions = _conditions(wanted, within, params)
    for number, literal in enumerate(filter(stem_expression, wanted.literal[:_MOST_WORDS])):
        # The row tells whether it is there; the index, that most rows need not be asked.
        params[f"literal{number}"] = stem_expression(literal)
        conditions.append(f"turns.seq IN (SELECT rowid FROM turns_fts WHERE turns_fts MATCH :literal{number})")
    rows = "turns_fts CROSS JOIN turns ON turns.seq = turns_fts.rowid" if conditions else "turns_fts"
    clause = "".join(f" AND {one}" for one in conditions)
    return Query(
        f"SELECT turns_fts.rowid AS seq FROM {rows} WHERE turns_fts MATCH :term{clause} "
        f"ORDER BY turns_fts.rowid DESC LIMIT {MOST_POSTINGS}",
        params,
        value("seq"),
    )


def around(seqs: Sequence[int], wanted: Selection, within: Which) -> Query[Place]:
    """Where the given turns stand, and those beside them in their sessions, each once."""
    params: dict[str, Any] = {"seqs": json.dumps(seqs)}
    meant = " AND ".join(_conditions(wanted, within, params)) or "1"
    return Query(
        f"SELECT seq, agent, {SESSION} AS session, position, substr(text, 1, {LABEL}) AS head, ({meant}) AS is_meant "
        "FROM turns WHERE seq IN (SELECT turns.seq FROM json_each(:seqs) AS top "
        "CROSS JOIN turns AS found ON found.seq = top.value "
        f"CROSS JOIN turns ON turns.agent = found.agent AND {_OF_TURNS} = {_OF_FOUND} "
        f"AND turns.position BETWEEN found.position - {len(BESIDE)} AND found.position + {len(BESIDE)})",
        params,
        lambda row: Place(
            row["seq"], (row["agent"], row["session"]), row["position"], row["head"], bool(row["is_meant"])
        ),
    )


def holding(wanted: Selection, within: Which, *, limit: int, but: Iterable[int] = ()) -> Query[int]:
    """The rows of the turns in which every word stands as it is written, in or as a part of one, the newest first.

    Looks at every turn until it has enough: the index knows no parts of words.
    """
    params: dict[str, Any] = {"limit": limit, "but": json.dumps(sorted(but))}
    conditions = [
        *_conditions(wanted, within, params),
        *_stand("word", sorted(wanted.words, key=len, reverse=True), params),
        "turns.seq NOT IN (SELECT value FROM json_each(:but))",
    ]
    return Query(
        f"SELECT seq FROM turns WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT :limit", params, value("seq")
    )


def newest(wanted: Selection, within: Which, *, limit: int, offset: int) -> Query[int]:
    """The rows of the turns that are meant whatever words they hold, those that were said last first."""
    params: dict[str, Any] = {"limit": limit, "offset": offset}
    return Query(
        f"SELECT seq FROM turns{_where(wanted, within, params)} ORDER BY {_SAID} DESC, seq DESC "
        "LIMIT :limit OFFSET :offset",
        params,
        value("seq"),
    )


def count(wanted: Selection, within: Which) -> Query[int]:
    """How many turns `newest` finds in all."""
    params: dict[str, Any] = {}
    return Query(f"SELECT count(*) AS n FROM turns{_where(wanted, within, params)}", params, value("n"))


def rows(seqs: Sequence[int]) -> Query[tuple[int, KeptTurn]]:
    """(row, turn) of the given rows, in no order."""
    return Query(
        "SELECT * FROM turns WHERE seq IN (SELECT value FROM json_each(:seqs))",
        {"seqs": json.dumps(seqs)},
        lambda row: (row["seq"], decode(row)),
    )


def produced(seqs: Sequence[int], now: str) -> Query[tuple[int, Memory]]:
    """(row of a turn, active memory that rests on it), oldest first."""
    columns = SELECT.removesuffix(" FROM memories")
    return Query(
        f"{columns}, turns.seq AS turn FROM turns "
        "JOIN memory_sources ON memory_sources.agent = turns.agent AND memory_sources.message_key = turns.key "
        "JOIN memories ON memories.id = memory_sources.memory_id "
        f"WHERE turns.seq IN (SELECT value FROM json_each(:seqs)) AND {ACTIVE} GROUP BY turns.seq, memories.seq "
        "ORDER BY memories.seq",
        {"seqs": json.dumps(seqs), "now": now},
        lambda row: (row["turn"], decode_memory(row)),
    )


def _where(wanted: Selection, within: Which, params: dict[str, Any]) -> str:
    conditions = _conditions(wanted, within, params)
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _conditions(wanted: Selection, within: Which, params: dict[str, Any]) -> list[str]:
    """Return what must hold of a turn beside the words that are ranked; adds the values to `params`."""
    given = {
        f"{_SAID} >= :since": wanted.since,
        f"{_SAID} <= :until": wanted.until,
        "(turns.project = :project OR substr(turns.project, 1, length(:project) + 1) IN (:project || '/', "
        ":project || '\\'))": wanted.project,
        "turns.agent = :agent": within.agent,
        f"{_OF_TURNS} = :session": within.session,
    }
    params |= {"since": wanted.since, "until": wanted.until, "project": wanted.project}
    params |= {"agent": within.agent, "session": within.session}
    found = [sql for sql, one in given.items() if one is not None]
    without = [f"NOT {one}" for one in _stand("not", wanted.without[:_MOST_WORDS], params)]
    if wanted.without[_MOST_WORDS:]:
        params["nots"] = _as_json(wanted.without[_MOST_WORDS:])
        without.append(f"NOT EXISTS (SELECT 1 FROM json_each(:nots) AS word WHERE {_stands('word.value')})")
    return [*found, *_stand("literal", wanted.literal, params), *without]


def _stand(name: str, words: Sequence[str], params: dict[str, Any]) -> list[str]:
    """The conditions that a turn holds every one of the words; of many, one condition for the rest."""
    found = []
    for number, word in enumerate(words[:_MOST_WORDS]):
        written = [form for form in forms(word) if form == folded(word) or not form.isascii()]
        given = {f"{name}{number}_{at}": form for at, form in enumerate(written or [word])}
        params |= given
        found.append(f"({' OR '.join(_stands(f':{one}') for one in given)})")
    if words[_MOST_WORDS:]:
        params[f"{name}s"] = _as_json(words[_MOST_WORDS:])
        found.append(f"NOT EXISTS (SELECT 1 FROM json_each(:{name}s) AS word WHERE NOT {_stands('word.value')})")
    return found


def _stands(word: str) -> str:
    """The condition that a turn holds a folded word. What is all ASCII is folded by SQLite itself, many times faster."""
    is_ascii = "length(turns.text) = length(CAST(turns.text AS BLOB))"
    return f"(instr(lower(turns.text), {word}) OR (NOT {is_ascii} AND instr(sought(turns.text), {word})))"


def _as_json(words: Sequence[str]) -> str:
    return json.dumps([folded(word) or word for word in words], ensure_ascii=False)
