"""`mex search`, `mex profile`: no model, no network, no worker (product P2)."""

from importlib import import_module
from typing import Annotated, Any

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import (
    AsOfOption,
    ForgottenOption,
    JsonOption,
    KnownAtOption,
    LangOption,
    ProjectOption,
    SubTopicOption,
    TopicOption,
    session,
    t,
)
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import Memory
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import profile as profile_service
from mex_pipeline.services import search as search_service
from mex_pipeline.services.profile import Past, Profile
from mex_pipeline.services.results import memory_plain
from mex_pipeline.services.search import Dated


def search(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help=t("help.query"))] = None,
    keyword: Annotated[str | None, typer.Option("--keyword", help=t("help.keyword"))] = None,
    topic: TopicOption = None,
    sub_topic: SubTopicOption = None,
    since: Annotated[str | None, typer.Option("--since", help=t("help.since"))] = None,
    until: Annotated[str | None, typer.Option("--until", help=t("help.until"))] = None,
    include_forgotten: ForgottenOption = False,
    history: Annotated[bool, typer.Option("--history", help=t("help.past_values"))] = False,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    project: ProjectOption = None,
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 50,
    offset: Annotated[int, typer.Option("--offset", help=t("help.offset"))] = 0,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if query is not None and keyword is not None:
        raise InvalidInput("query_and_keyword")
    is_past = as_of is not None or known_at is not None
    if history and is_past:
        raise InvalidInput("history_and_past")
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
        if history:
            hits = _time_travel().find_with_superseded(app, asked, limit=limit, offset=offset)
        elif is_past:
            hits = _time_travel().find(app, asked, _past(app, as_of, known_at), limit=limit, offset=offset)
        else:
            hits = search_service.find(app, asked, limit=limit, offset=offset)
        lines = [line for number, hit in enumerate(hits, offset + 1) for line in _hit_lines(app, hit, number)]
    output.emit([_hit_plain(hit) for hit in hits], lines or [t("note.search_empty")])


def profile(
    view: Annotated[str | None, typer.Option("--view", help=t("help.view"))] = None,
    topics: Annotated[str | None, typer.Option("--topics", help=t("help.topics"))] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help=t("help.max_tokens"))] = None,
    recent_days: Annotated[int | None, typer.Option("--recent-days", help=t("help.recent_days"))] = None,
    recent_limit: Annotated[int | None, typer.Option("--recent-limit", help=t("help.recent_limit"))] = None,
    include_sensitive: Annotated[bool, typer.Option("--include-sensitive", help=t("help.include_sensitive"))] = False,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    project: ProjectOption = None,
    explain: Annotated[bool, typer.Option("--explain", help=t("help.explain"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    wanted = None if topics is None else [name.strip() for name in topics.split(",") if name.strip()]
    with session() as app:
        past = None if as_of is None and known_at is None else _past(app, as_of, known_at)
        shown = profile_service.show(
            app,
            view=view,
            topics=wanted,
            max_tokens=max_tokens,
            recent_days=recent_days,
            recent_limit=recent_limit,
            include_sensitive=include_sensitive,
            project=project,
            past=past,
            is_explained=explain,
        )
        lines = [shown.text, *(_explained(app, shown) if explain else [])]
    plain = shown.to_plain()
    if past is not None:
        plain[past.name] = past.at
    if explain:
        plain |= shown.explained_plain()
    output.emit(plain, lines)


def _time_travel() -> Any:
    """The services of time travel, imported only when they are asked for: a plain query does not wait for them."""
    return import_module("mex_pipeline.services.timeline")


def _past(app: App, as_of: str | None, known_at: str | None) -> Past:
    found: Past = _time_travel().past(app, as_of=as_of, known_at=known_at)
    return found


def _hit_plain(hit: Memory | Dated) -> dict[str, Any]:
    if isinstance(hit, Memory):
        return memory_plain(hit)
    return memory_plain(hit.memory) | {"superseded": hit.is_superseded}


def _hit_lines(app: App, hit: Memory | Dated, number: int) -> list[str]:
    memory = hit if isinstance(hit, Memory) else hit.memory
    head, *rest = memory_text.memory_lines(memory, app.schema, number)
    if not isinstance(hit, Memory) and hit.is_superseded:
        since, until = (to_local(at)[:10] for at in (memory.valid_from, memory.valid_to or memory.updated_at))
        head = output.marked(head, t("mark.superseded", since=since, until=until))
    return [head, *rest]


def _explained(app: App, shown: Profile) -> list[str]:
    """What is shown and what is not, each with its tokens, after the text (product E1)."""
    kept = [one for one in shown.lines if one.reason is None]
    cut = [one for one in shown.lines if one.reason is not None]
    lines = ["", *([t("explain.view", view=shown.view)] if shown.view else []), t("explain.shown", count=len(kept))]
    for one in shown.lines:
        place = ".".join(one.memory.slot) if one.memory.slot else one.memory.topic or "—"
        content = " ".join(memory_text.content_text(one.memory, app.schema).split())
        why = f" ({t(f'cut.{one.reason}')})" if one.reason else ""
        if cut and one is cut[0]:
            lines.append(t("explain.cut", count=len(cut)))
        lines.append(f"{one.tokens:>6}  {place}  {content}{why}")
    if shown.withheld:
        lines.append(t("explain.withheld", count=sum(one.count for one in shown.withheld)))
    for left_out in shown.withheld:
        place = ".".join(filter(None, (left_out.topic, left_out.sub_topic)))
        lines.append(f"{'':>6}  {place}  × {left_out.count}")
    return [*lines, t("explain.sum", tokens=shown.tokens, most=shown.max_tokens)]
