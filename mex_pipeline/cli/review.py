"""`mex review`: what waits for a person, listed, approved, declined (seed 004 §6.3, product G16)."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import ask, output
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, TopicOption, session, t, writer
from mex_pipeline.cli.review_text import approved_line, asked_lines, declined_lines
from mex_pipeline.domain.review import Kind
from mex_pipeline.services import decisions
from mex_pipeline.services import review as service
from mex_pipeline.services.asked import Asked, Waiting

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=t("help.id"))]
AllOption = Annotated[bool, typer.Option("--all", help=t("help.all"))]
KindOption = Annotated[Kind | None, typer.Option("--kind", help=t("help.review_kind"))]
SortOption = Annotated[service.Order | None, typer.Option("--sort", help=t("help.review_sort"), show_default=False)]


def review(
    context: typer.Context, sort: SortOption = None, as_json: JsonOption = False, lang: LangOption = None
) -> None:
    if context.invoked_subcommand is not None:
        return
    if not _is_on_terminal():
        list_waiting(sort)
        return
    from mex_pipeline.cli import review_pass  # noqa: PLC0415 - 200 ms that only a person at a terminal pays

    with session() as app:
        review_pass.run(app, sort or service.Order.IMPORTANCE)


def list_waiting(
    sort: SortOption = None,
    topic: TopicOption = None,
    kind: KindOption = None,
    limit: Annotated[int | None, typer.Option("--limit", help=t("help.page"))] = None,
    offset: Annotated[int, typer.Option("--offset", help=t("help.offset"))] = 0,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    size = 10 if limit is None and not output.wants_json() else limit
    order = sort or service.Order.NEWEST
    with session() as app:
        queue = service.pending(app, order=order, topic=topic, kind=kind, limit=size, offset=offset)
        lines = [line for number, one in enumerate(queue.waiting, offset + 1) for line in asked_lines(app, one, number)]
    shown = offset + len(queue.waiting)
    if not queue.waiting:
        lines = [t("review.empty")]
    elif shown < queue.total:
        lines.append(t("note.list_more", first=offset + 1, last=shown, total=queue.total, left=queue.total - shown))
    output.emit([one.to_plain() for one in queue.waiting], lines)


def approve(
    identifiers: Ids = None,
    topic: TopicOption = None,
    kind: KindOption = None,
    everything: AllOption = False,
    keep: Annotated[decisions.Keep | None, typer.Option("--keep", help=t("help.keep"), show_default=False)] = None,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    wanted = service.Wanted(tuple(identifiers or ()), topic, everything, kind)
    with session() as app:
        approved = decisions.approve(app, wanted, actor=writer(by), keep=keep)
        lines = [approved_line(app, one) for one in approved]
        left = _left(app, wanted, Kind.HOLD)
    _emit(wanted, [one.to_plain() for one in approved], lines)
    if left:
        output.note(t("review.only_by_id", count=left))


def decline(
    identifiers: Ids = None,
    topic: TopicOption = None,
    kind: KindOption = None,
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
    wanted = service.Wanted(tuple(identifiers or ()), topic, everything, kind)
    with session() as app:
        if restore_previous is None and _is_on_terminal():
            restore_previous = _wants_back(app, service.chosen(app, wanted))
        declined = decisions.decline(
            app,
            wanted,
            reason=(reason or "").strip() or t("label.declined"),
            restore_previous=bool(restore_previous),
            actor=writer(by),
        )
        lines = [line for one in declined for line in declined_lines(app, one)]
        left = _left(app, wanted, Kind.DUE)
    _emit(wanted, [one.to_plain() for one in declined], lines)
    if left:
        output.note(t("review.due_by_id", count=left))


def _emit(wanted: service.Wanted, plain: Sequence[dict[str, Any]], lines: Sequence[str]) -> None:
    """One id prints one object."""
    output.emit(plain[0] if len(wanted.ids) == 1 else plain, lines or [t("review.empty")])


def _left(app: App, wanted: service.Wanted, kind: Kind) -> int:
    """How many of a kind a batch has left to a person who names them."""
    if wanted.ids or wanted.kind is not None:
        return 0
    return service.pending(app, topic=wanted.topic, kind=kind, limit=1).total


def _is_on_terminal() -> bool:
    """True when a person can be asked."""
    return ask.is_possible() and not output.wants_json()


def _wants_back(app: App, asked: Sequence[Asked]) -> bool:
    """Ask whether the earlier values shall stand again; nothing is asked when there are none."""
    replaced = [one for one in asked if isinstance(one, Waiting) and one.previous is not None]
    if not replaced:
        return False
    for one in replaced:
        for line in asked_lines(app, one):
            output.line(line)
    return ask.confirm(t("review.ask_back"))
