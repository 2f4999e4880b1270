"""`mex log`: the journal of all changes (product B8, H13)."""

from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import output
from mex_pipeline.cli.change_text import pin_mark
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, TopicOption, session, t
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import Actor
from mex_pipeline.domain.structured import render
from mex_pipeline.services import changelog
from mex_pipeline.services.changelog import Logged

_SHORT, _WIDE = 8, 60


def log(
    since: Annotated[str | None, typer.Option("--since", help=t("help.since"))] = None,
    until: Annotated[str | None, typer.Option("--until", help=t("help.until"))] = None,
    job: Annotated[str | None, typer.Option("--job", metavar="ID", help=t("help.log_job"))] = None,
    topic: TopicOption = None,
    by: ByOption = None,
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 50,
    offset: Annotated[int, typer.Option("--offset", help=t("help.offset"))] = 0,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    actor = None if by is None else Actor(by)
    with session() as app:
        found, has_more = changelog.page(
            app, since=since, until=until, job=job, topic=topic, actor=actor, limit=limit, offset=offset
        )
        lines: list[str] = [_line(app, one) for one in found]
    if has_more:
        lines.append(t("note.log_more", offset=offset + limit))
    output.emit([one.to_plain() for one in found], lines or [t("note.nothing_changed")])


def _line(app: App, logged: Logged) -> output.Painted:
    """A change on one line: when, what and by whom, which memory, where, from what to what."""
    line = logged.line
    place = ".".join(filter(None, logged.place)) or "—"
    said = " ".join(filter(None, (logged.agent, (logged.session_id or "")[:_SHORT])))
    by = " · ".join(filter(None, (t(f"actor.{line.actor}"), (line.job_id or "")[:_SHORT], said)))
    return output.Painted(
        (f"{to_local(line.created_at)}  ", ""),
        (f"{t(f'event.{line.event}')}  ", output.BOLD),
        (f"{line.memory_id[:_SHORT]}  ", output.FAINT),
        (f"{place}  {_values(app, logged)}  ", ""),
        (f"({by})", output.FAINT),
    )


def _values(app: App, logged: Logged) -> str:
    """The content before and after, once where it stayed; nothing of what was forgotten for good."""
    old, new = logged.line.old_content, logged.line.new_content
    if old is None and new is None:
        return "—"
    if old == new:
        return _cut(app, logged, old) + pin_mark(logged.line)
    return f"{_cut(app, logged, old)} → {_cut(app, logged, new)}"


def _cut(app: App, logged: Logged, content: str | None) -> str:
    if content is None:
        return t("label.nothing")
    text = " ".join(render(app.schema.find(*logged.place), content, messages.active()).split())
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"
