"""`mex review`: what a model inferred, listed, approved, declined (seed 004 §6.3, product G16)."""

from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import ask, memory_text, output
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, TopicOption, session, t, writer
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import Memory, Source
from mex_pipeline.domain.structured import render
from mex_pipeline.services import review as service
from mex_pipeline.services.results import memory_plain

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=t("help.id"))]
AllOption = Annotated[bool, typer.Option("--all", help=t("help.all"))]


def review(context: typer.Context, as_json: JsonOption = False, lang: LangOption = None) -> None:
    if context.invoked_subcommand is not None:
        return
    if not _is_on_terminal():
        list_waiting()
        return
    from mex_pipeline.cli import review_pass  # noqa: PLC0415 - 200 ms that only a person at a terminal pays

    with session() as app:
        review_pass.run(app)


def list_waiting(
    sort: Annotated[service.Order, typer.Option("--sort", help=t("help.review_sort"))] = service.Order.NEWEST,
    topic: TopicOption = None,
    limit: Annotated[int | None, typer.Option("--limit", help=t("help.page"))] = None,
    offset: Annotated[int, typer.Option("--offset", help=t("help.offset"))] = 0,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    size = 10 if limit is None and not output.wants_json() else limit
    with session() as app:
        queue = service.pending(app, order=sort, topic=topic, limit=size, offset=offset)
        lines = [
            line for number, one in enumerate(queue.waiting, offset + 1) for line in waiting_lines(app, one, number)
        ]
    shown = offset + len(queue.waiting)
    if not queue.waiting:
        lines = [t("note.review_empty")]
    elif shown < queue.total:
        lines.append(t("note.list_more", first=offset + 1, last=shown, total=queue.total, left=queue.total - shown))
    output.emit([one.to_plain() for one in queue.waiting], lines)


def approve(
    identifiers: Ids = None,
    topic: TopicOption = None,
    everything: AllOption = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    wanted = service.Wanted(tuple(identifiers or ()), topic, everything)
    with session() as app:
        approved = service.approve(app, wanted, actor=writer(by))
        lines = [t("done.approved", id=one.id, content=memory_text.content_text(one, app.schema)) for one in approved]
    plain = [memory_plain(memory) for memory in approved]
    output.emit(plain[0] if len(wanted.ids) == 1 else plain, lines or [t("note.review_empty")])


def decline(
    identifiers: Ids = None,
    topic: TopicOption = None,
    everything: AllOption = False,
    reason: Annotated[str | None, typer.Option("--reason", help=t("help.reason"))] = None,
    restore_previous: Annotated[
        bool | None,
        typer.Option("--restore-previous/--no-restore-previous", help=t("help.restore_previous"), show_default=False),
    ] = None,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    wanted = service.Wanted(tuple(identifiers or ()), topic, everything)
    with session() as app:
        if restore_previous is None and _is_on_terminal():
            restore_previous = _wants_back(app, [one for one in service.chosen(app, wanted) if one.previous])
        declined = service.decline(
            app,
            wanted,
            reason=(reason or "").strip() or t("label.declined"),
            restore_previous=bool(restore_previous),
            actor=writer(by),
        )
        lines = [line for one in declined for line in declined_lines(app, one)]
    plain = [one.to_plain() for one in declined]
    output.emit(plain[0] if len(wanted.ids) == 1 else plain, lines or [t("note.review_empty")])


def _is_on_terminal() -> bool:
    """True when a person can be asked."""
    return ask.is_possible() and not output.wants_json()


def _wants_back(app: App, replaced: list[service.Waiting]) -> bool:
    """Ask whether the earlier values shall stand again; nothing is asked when there are none."""
    if not replaced:
        return False
    for one in replaced:
        for line in waiting_lines(app, one):
            output.line(line)
    return ask.confirm(t("ask.put_back"))


def waiting_lines(app: App, waiting: service.Waiting, number: int | None = None) -> list[str]:
    """Return a memory that awaits review for people: itself, where it was said, and the value it replaced."""
    lines = memory_text.memory_lines(waiting.memory, app.schema, number)
    if waiting.sources:
        lines.append(f"   {t('label.source', text=source_text(waiting.sources[-1]))}")
    if waiting.previous is not None:
        lines.append(f"   {t('label.before', text=value_text(app, waiting.previous))}")
    return lines


def declined_lines(app: App, declined: service.Declined) -> list[str]:
    """Return what became of a declined memory, and how the value it replaced stands again or can."""
    doubt, previous = declined.doubt, declined.previous
    lines = [t("done.declined", id=doubt.id, content=memory_text.content_text(doubt, app.schema))]
    if previous is None:
        return lines
    if declined.is_restored:
        return [*lines, f"   {t('done.put_back', text=value_text(app, previous))}"]
    return [
        *lines,
        f"   {t('label.before', text=value_text(app, previous))}",
        f"   {t('note.put_back', id=doubt.id)}",
    ]


def value_text(app: App, memory: Memory) -> str:
    """Return a value with its tier, on one line."""
    slot = app.schema.find(memory.topic, memory.sub_topic)
    return f"{' '.join(render(slot, memory.content, messages.active()).split())} [{memory.confidence}]"


def source_text(source: Source) -> str:
    """Return where something was said: by whom, when, in which session."""
    parts = [
        t(f"label.{source.role}") if source.role else "",
        to_local(source.said_at) if source.said_at else "",
        f"{source.agent} {source.session_id or source.source_file or t('label.given_text')}",
        "" if source.verified else t("mark.unverified"),
    ]
    return " · ".join(part for part in parts if part)
