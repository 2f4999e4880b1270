"""`mex search`, `mex profile`: no model, no network, no worker (product P2)."""

from typing import Annotated

import typer

from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, SubTopicOption, TopicOption, session, t
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import profile as profile_service
from mex_pipeline.services import search as search_service
from mex_pipeline.services.results import memory_plain


def search(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help=t("help.query"))] = None,
    keyword: Annotated[str | None, typer.Option("--keyword", help=t("help.keyword"))] = None,
    topic: TopicOption = None,
    sub_topic: SubTopicOption = None,
    since: Annotated[str | None, typer.Option("--since", help=t("help.since"))] = None,
    until: Annotated[str | None, typer.Option("--until", help=t("help.until"))] = None,
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 50,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if query is not None and keyword is not None:
        raise InvalidInput("query_and_keyword")
    with session() as app:
        found = search_service.find(
            app,
            keyword=query if keyword is None else keyword,
            topic=topic,
            sub_topic=sub_topic,
            since=since,
            until=until,
            limit=limit,
        )
        lines = [
            line for number, memory in enumerate(found, 1) for line in output.memory_lines(memory, app.schema, number)
        ]
    output.emit([memory_plain(memory) for memory in found], lines or [t("note.search_empty")])


def profile(
    topics: Annotated[str | None, typer.Option("--topics", help=t("help.topics"))] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help=t("help.max_tokens"))] = None,
    recent_days: Annotated[int | None, typer.Option("--recent-days", help=t("help.recent_days"))] = None,
    recent_limit: Annotated[int | None, typer.Option("--recent-limit", help=t("help.recent_limit"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    wanted = None if topics is None else [name.strip() for name in topics.split(",") if name.strip()]
    with session() as app:
        shown = profile_service.show(
            app, topics=wanted, max_tokens=max_tokens, recent_days=recent_days, recent_limit=recent_limit
        )
    output.emit({"profile": shown.text, "tokens": shown.tokens}, [shown.text])
