"""`mex search`: no model, no network, no worker (product P2). Its parameters are its options (cli/quick.py)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.opened import session
from mex_pipeline.clock import to_local
from mex_pipeline.errors import InvalidInput
from mex_pipeline.messages import text as t
from mex_pipeline.services import search as search_service
from mex_pipeline.services.results import memory_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mex_pipeline.app import App
    from mex_pipeline.domain.memory import Memory
    from mex_pipeline.domain.selection import Selection
    from mex_pipeline.services.profile import Past
    from mex_pipeline.services.search import Dated, Found, Hit


def search(
    query: str | None = None,
    keyword: str | None = None,
    topic: str | None = None,
    sub_topic: str | None = None,
    since: str | None = None,
    until: str | None = None,
    include_forgotten: bool = False,
    history: bool = False,
    as_of: str | None = None,
    known_at: str | None = None,
    project: str | None = None,
    semantic: bool = False,
    with_turns: bool = False,
    session_id: str | None = None,
    agent: str | None = None,
    explain: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> None:
    if query is not None and keyword is not None:
        raise InvalidInput("query_and_keyword")
    is_past = as_of is not None or known_at is not None
    is_said = with_turns or session_id is not None or agent is not None
    if not is_said:
        _check_past(history=history, is_past=is_past, explain=explain, semantic=semantic)
    with session() as app:
        asked = search_service.wanted(
            app,
            query=query,
            keyword=keyword,
            topic=topic,
            sub_topic=sub_topic,
            since=since,
            until=until,
            include_forgotten=include_forgotten,
            project=project,
        )
        if is_said:
            others = {"history": history, "as-of": as_of, "known-at": known_at, "semantic": semantic}
            where = {"session": session_id, "agent": agent, "limit": limit, "offset": offset}
            plain, lines = _said().shown(app, asked, **where, is_explained=explain, others=others)
        elif history or is_past:
            plain, lines = _in_the_past(app, asked, None if history else _past(app, as_of, known_at), limit, offset)
        else:
            find = _by_meaning().find if semantic else search_service.ranked
            found = find(app, asked, limit=limit, offset=offset, is_explained=explain)
            plain = [one.to_plain(is_explained=explain) for one in found.hits]
            lines = _found_lines(app, found, offset, explain)
    output.emit(plain, lines or [t("note.search_empty")])


def _time_travel() -> Any:
    """The services of time travel, imported only when they are asked for: a plain query does not wait for them."""
    return import_module("mex_pipeline.services.timeline")


def _by_meaning() -> Any:
    """The search by meaning, imported only when it is asked for."""
    return import_module("mex_pipeline.cli.meaning")


def _check_past(*, history: bool, is_past: bool, explain: bool, semantic: bool) -> None:
    """Raise InvalidInput for ways to search that do not go together."""
    if history and is_past:
        raise InvalidInput("history_and_past")
    if explain and (history or is_past):
        raise InvalidInput("explain_and_past")
    if semantic and (history or is_past):
        raise InvalidInput("semantic_and_past")


def _in_the_past(app: App, asked: Selection, past: Past | None, limit: int, offset: int) -> tuple[Any, list[str]]:
    """What was known or held at a moment, or with `past` None at any time, as JSON and for people."""
    if past is None:
        dated = _time_travel().find_with_superseded(app, asked, limit=limit, offset=offset)
        return [_dated_plain(one) for one in dated], _numbered(_dated_lines, app, dated, offset)
    known = _time_travel().find(app, asked, past, limit=limit, offset=offset)
    return [memory_plain(one) for one in known], _numbered(_memory_lines, app, known, offset)


def _said() -> Any:
    """The search in kept turns, imported only when it is asked for."""
    return import_module("mex_pipeline.cli.turn_hits")


def _past(app: App, as_of: str | None, known_at: str | None) -> Past:
    found: Past = _time_travel().past(app, as_of=as_of, known_at=known_at)
    return found


def _numbered(lines: Callable[[App, Any, int], list[str]], app: App, found: Sequence[Any], offset: int) -> list[str]:
    return [line for number, one in enumerate(found, offset + 1) for line in lines(app, one, number)]


def _memory_lines(app: App, memory: Memory, number: int) -> list[str]:
    return memory_text.memory_lines(memory, app.schema, number)


def _dated_plain(one: Dated) -> dict[str, Any]:
    return memory_plain(one.memory) | {"superseded": one.is_superseded}


def _dated_lines(app: App, one: Dated, number: int) -> list[str]:
    memory = one.memory
    head, *rest = _memory_lines(app, memory, number)
    if one.is_superseded:
        since, until = (to_local(at)[:10] for at in (memory.valid_from, memory.valid_to or memory.updated_at))
        head = output.marked(head, t("mark.superseded", since=since, until=until))
    return [head, *rest]


def _found_lines(app: App, found: Found, offset: int, is_explained: bool) -> list[str]:
    """The hits of a search, what they lack before them, and how many more there are behind."""
    lines = [t("explain.partial")] if any(hit.is_partial for hit in found.hits) else []
    for number, hit in enumerate(found.hits, offset + 1):
        head, *rest = memory_text.memory_lines(
            hit.memory, app.schema, number, hit.spans if output.has_colours() else None
        )
        lines += [output.marked(head, t("semantic.related")) if hit.is_related else head, *rest]
        lines += _score_lines(hit) if is_explained else []
    last = offset + len(found.hits)
    if found.hits and (last < found.total or found.is_more):
        note = "explain.many" if found.is_more else "note.list_more"
        lines.append(t(note, first=offset + 1, last=last, total=found.total, left=found.total - last))
    return lines


def _score_lines(hit: Hit) -> list[str]:
    """What a score is made of, and how each word was found."""
    score = hit.score
    if score is None:
        return []
    parts = {name: f"{value:.2f}" for name, value in score.to_plain().items() if name != "words"}
    lines = ["   " + t("explain.score", score=f"{score.total:.2f}", **parts)]
    if score.words:
        told = [one for one in score.words if not any(one[0] in word and one[0] != word for word, _ in score.words)]
        words = ", ".join(t("explain.word", word=word, by=t(f"explain.by_{by}")) for word, by in told)
        lines.append("   " + t("explain.words", words=words))
    return lines
