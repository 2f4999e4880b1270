"""Finding memories by words, slot and time, without a model or a network (seed 004 §5.1, product B2, P2)."""

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment
from mex_pipeline.domain import highlight, ranking
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.query import Moment, joined, parse
from mex_pipeline.domain.ranking import Candidate, Score, rarest
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.words import terms
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.bounds import MAX_NUMBER, folder
from mex_pipeline.services.results import memory_plain
from mex_pipeline.store import search
from mex_pipeline.store.database import Database

MAX_LIMIT = 1000


class Hit(NamedTuple):
    """What a search found: a memory, why it stands where it does (None: it is the next newest), and whether it holds only
    some of the words, or none and is near in meaning (services/semantic_search.py).
    """

    memory: Memory
    score: Score | None = None
    is_partial: bool = False
    is_related: bool = False

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the words that it was found by stand in a text of it, as (start, end)."""
        return [] if self.score is None else highlight.spans(text, (word for word, _ in self.score.words))

    def to_plain(self, *, is_explained: bool) -> dict[str, Any]:
        """Return the JSON object: the memory with `score`, `partial`, `related` and, when asked for, `explained`."""
        shape = memory_plain(self.memory) | {
            "score": None if self.score is None else self.score.total,
            "partial": self.is_partial,
            "related": self.is_related,
        }
        return shape | ({"explained": self.score and self.score.to_plain()} if is_explained else {})


class Found(NamedTuple):
    """One page of hits, and how many there are in all; of more than that, only so many of the newest were ranked."""

    hits: tuple[Hit, ...]
    total: int
    is_more: bool = False


class Dated(NamedTuple):
    """A hit of a search through all times: a memory, or a value that was replaced or retired, with its dates."""

    memory: Memory
    is_superseded: bool


def wanted(
    app: App,
    *,
    query: str | None = None,
    keyword: str | None = None,
    topic: str | None = None,
    sub_topic: str | None = None,
    since: str | None = None,
    until: str | None = None,
    include_forgotten: bool = False,
    project: str | None = None,
) -> Selection:
    """Return the conditions as people give them: `query` with operators (domain/query.py), everything else literal.

    `since` and `until` take local dates, date-times and spans (`7d`); a blank keyword counts as none. Raises InvalidInput.
    """
    moment = _moments(app)
    given = Selection(
        topic=topic,
        sub_topic=sub_topic,
        since=None if since is None else moment(since),
        until=None if until is None else moment(until, end_of_day=True),
    )
    asked = joined(parse(query or "", moment), given)
    if asked.sub_topic is not None and asked.topic is None:
        raise InvalidInput("sub_topic_without_topic")
    return asked._replace(
        keyword=(keyword or "").strip() or None,
        include_forgotten=include_forgotten,
        project=None if project is None else folder(project),
    )


def find(app: App, asked: Selection, *, limit: int = 50, offset: int = 0) -> list[Memory]:
    """Return the memories of `ranked`."""
    return [hit.memory for hit in ranked(app, asked, limit=limit, offset=offset).hits]


def ranked(app: App, asked: Selection, *, limit: int = 50, offset: int = 0, is_explained: bool = False) -> Found:
    """Return one page of what is meant: the best first when words are asked for, else the newest.

    Memories that hold all words, as they are or by their stems; when there is none, those that hold some. Raises
    InvalidInput for numbers out of range.
    """
    check_page(limit, offset)
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        if not (asked.literal or asked.words):
            newest = view.all(search.find(now, asked, limit=limit, offset=offset))
            most = max(search.MOST_CANDIDATES, offset + limit)
            total = view.first(search.count(now, asked, most=most + 1)) or 0
            return Found(tuple(map(Hit, newest)), min(total, most), total > most)
        words, found = (*asked.literal, *asked.words), _with_all(view, now, asked)
        is_partial = not found and bool(asked.words)
        if is_partial:
            words = tuple(rarest(dict(view.all(search.counts(terms(" ".join(asked.words)))))))
            found = _with_some(view, now, asked, words)
        total = min(len(found), search.MOST_CANDIDATES)
        page = ranking.ranked(found[:total], words, date.fromisoformat(now[:10]))[offset : offset + limit]
        rows = dict(view.all(search.rows([one.seq for one, _ in page])))
        if is_partial:
            others = view.all(search.found_by(words, rows)) if is_explained else ()
            page = ranking.told(page, (*asked.literal, *words), others)
    hits = tuple(Hit(rows[one.seq], score, is_partial) for one, score in page)
    return Found(hits, total, len(found) > search.MOST_CANDIDATES)


def all_words(app: App, asked: Selection, *, limit: int) -> list[Memory]:
    """Return the best memories that hold all words, the newest when none is asked for, and never more than are ranked."""
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        if not (asked.literal or asked.words):
            return view.all(search.find(now, asked, limit=limit))
        found = _with_all(view, now, asked)[: search.MOST_CANDIDATES]
        page = ranking.ranked(found, (*asked.literal, *asked.words), date.fromisoformat(now[:10]))[:limit]
        rows = dict(view.all(search.rows([one.seq for one, _ in page])))
    return [rows[one.seq] for one, _ in page]


def _with_all(view: Database, now: str, asked: Selection) -> list[Candidate]:
    """The newest candidates that hold all words, newest first; by another form or in a quote only while there is room."""
    found = {one.seq: one for one in view.all(search.holding(now, asked, _spelled_out(view, asked)))}
    if asked.words and len(found) <= search.MOST_CANDIDATES:
        quoted, stems = search.in_quotes(now, asked), search.with_stems(now, asked)
        found = {one.seq: one for one in (view.all(quoted) if quoted else ())} | found
        found |= {one.seq: one for one in (view.all(stems) if stems else ())}
    return [found[seq] for seq in sorted(found, reverse=True)]


def _with_some(view: Database, now: str, asked: Selection, words: Sequence[str]) -> list[Candidate]:
    """The candidates that hold some of the words, in their contents or their quotes, whichever says more; the best first."""
    if not words:
        return []
    found = {one.seq: one for one in view.all(search.with_some(now, asked, words))}
    for one in view.all(search.with_some_in_quotes(now, asked, words)):
        known = found.get(one.seq)
        if known is None or (known.bm25 or 0) < (one.bm25 or 0):
            found[one.seq] = one
    return sorted(found.values(), key=lambda one: (one.bm25 or 0, one.seq), reverse=True)


def _spelled_out(view: Database, asked: Selection) -> dict[str, list[str]]:
    """The short forms that are rare, each as what the index knows of it."""
    forms = search.short_forms(asked)
    if forms:
        view.script(search.VOCABULARY)
    grams = {form: view.all(search.spelled(form)) for form in forms}
    return {form: [gram for gram, _ in found] for form, found in grams.items() if search.is_rare(found)}


def check_page(limit: int, offset: int) -> None:
    """Raise InvalidInput for a page that cannot be asked for."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=MAX_LIMIT)
    if not 0 <= offset <= MAX_NUMBER:
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)


def _moments(app: App) -> Moment:
    now = app.clock.now()

    def moment(text: str, *, end_of_day: bool = False) -> str:
        return iso(parse_moment(text, now, end_of_day=end_of_day))

    return moment
