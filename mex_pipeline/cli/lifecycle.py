"""`mex forget`, `mex restore`, `mex gc`, `mex move`."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, SubTopicOption, TopicOption, session, t, writer
from mex_pipeline.domain.memory import Actor, Confidence, Memory
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import lifecycle, memories, purge
from mex_pipeline.services.results import memory_plain


def forget(
    identifiers: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=t("help.id"))] = None,
    topic: TopicOption = None,
    sub_topic: SubTopicOption = None,
    keyword: Annotated[str | None, typer.Option("--keyword", help=t("help.keyword"))] = None,
    since: Annotated[str | None, typer.Option("--since", help=t("help.since"))] = None,
    until: Annotated[str | None, typer.Option("--until", help=t("help.until"))] = None,
    confidence: Annotated[Confidence | None, typer.Option("--confidence", help=t("help.only_confidence"))] = None,
    ai_inferred: Annotated[
        bool | None, typer.Option("--ai-inferred/--no-ai-inferred", help=t("help.ai_inferred"), show_default=False)
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help=t("help.reason"))] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.only_show"))] = False,
    hard: Annotated[bool, typer.Option("--hard", help=t("help.hard"))] = False,
    never_again: Annotated[bool, typer.Option("--and-never-again", help=t("help.never_again"))] = False,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    ids = identifiers or []
    with session() as app:
        wanted = lifecycle.selection(
            app,
            topic=topic,
            sub_topic=sub_topic,
            keyword=keyword,
            since=since,
            until=until,
            confidence=confidence,
            ai_inferred=ai_inferred,
        )
        if hard:
            which = purge.meant(app, ids, wanted)
            _forget_for_good(app, which, dry_run=dry_run, is_sure=yes, never_again=never_again)
            return
        if never_again:
            raise InvalidInput("never_again_needs_hard")
        chosen = lifecycle.forget(app, ids, wanted, reason=reason, dry_run=dry_run, actor=writer(None))
        lines = _preview(app, chosen) if dry_run else _forgotten(app, chosen)
    output.emit([memory_plain(memory) for memory in chosen], lines)


def _preview(app: App, chosen: Sequence[Memory]) -> list[str]:
    entries = [
        line for number, one in enumerate(chosen, 1) for line in memory_text.memory_lines(one, app.schema, number)
    ]
    return [t("note.would_forget", count=len(chosen)), *entries]


def _forgotten(app: App, chosen: Sequence[Memory]) -> list[str]:
    """Each hit, and the command that takes it back."""
    lines = [t("done.forgotten", id=one.id, content=memory_text.content_text(one, app.schema)) for one in chosen]
    return [*lines, t("note.undo_forget", ids=" ".join(one.id for one in chosen))]


def _forget_for_good(app: App, which: purge.Meant, *, dry_run: bool, is_sure: bool, never_again: bool) -> None:
    if dry_run:
        output.emit([memory_plain(memory) for memory in which.memories], _preview(app, which.memories))
        return
    if writer(None) is Actor.AI:
        raise UserError("agent_cannot_purge")
    if not is_sure:
        _ask(app, which, never_again=never_again)
    receipt = purge.execute(app, which, and_never_again=never_again)
    refused = [t("purge.never_again", count=receipt.never_again)] if never_again else []
    output.emit(receipt.to_plain(), [*_receipt_lines(receipt), *refused])
    receipt.require_finished()


def _ask(app: App, which: purge.Meant, *, never_again: bool) -> None:
    """Name what will be gone and ask; raises unless a person at a terminal says yes."""
    if not sys.stdin.isatty():
        raise InvalidInput("purge_needs_yes", count=len(which.ids))
    for memory in which.memories:
        for line in memory_text.memory_lines(memory, app.schema):
            output.note(line)
    try:
        question = "ask.purge_never_again" if never_again else "ask.purge"
        is_sure = typer.confirm(t(question, count=len(which.ids)), err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("purge_refused")


def _receipt_lines(receipt: purge.Receipt) -> list[str]:
    places = [t("purge.rewritten", what=what, count=count) for what, count in receipt.rewritten.items()]
    others = [t("purge.kept", what=what, count=count) for what, count in receipt.kept.items()]
    reach = [t(f"reach.{one['what']}", path=one.get("path", "")) for one in receipt.out_of_reach]
    return [
        *(t("done.purged", id=one) for one in receipt.purged),
        *places,
        *([] if receipt.unfinished else [t("purge.verified" if receipt.is_verified else "purge.written_anew")]),
        *others,
        t("purge.out_of_reach"),
        *(f"- {one}" for one in reach),
    ]


def restore(
    identifiers: Annotated[list[str], typer.Argument(metavar="ID...", help=t("help.id"))],
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        restored = lifecycle.restore(app, identifiers, actor=writer(None))
        for one in restored:
            place = ".".join(filter(None, (one.memory.topic, one.memory.sub_topic)))
            if one.lost_expiry:
                output.note(t("note.lost_expiry", id=one.memory.id))
            if one.is_undeclared:
                output.note(t("note.undeclared", id=one.memory.id, place=place))
            if one.is_unfit:
                output.note(t("note.unfit", id=one.memory.id, place=place))
        lines = [
            t("done.restored", id=one.memory.id, content=memory_text.content_text(one.memory, app.schema))
            for one in restored
        ]
    plain = [memory_plain(one.memory) for one in restored]
    output.emit(plain[0] if len(identifiers) == 1 else plain, lines)


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.only_show"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        chosen = lifecycle.gc(app, dry_run=dry_run, actor=writer(None))
        lines = _preview(app, chosen) if dry_run else _forgotten(app, chosen)
    output.emit(
        {"expired": len(chosen), "dry_run": dry_run, "memories": [memory_plain(memory) for memory in chosen]},
        lines if chosen else [t("note.gc_empty")],
    )


def move(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.id"))],
    topic: TopicOption = None,
    sub_topic: SubTopicOption = None,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        memory = lifecycle.move(app, identifier, topic=topic, sub_topic=sub_topic, actor=writer(by))
        place = ".".join(filter(None, (memory.topic, memory.sub_topic)))
        line = t("done.moved", id=memory.id, place=place, content=memory_text.content_text(memory, app.schema))
        if memories.is_past(app, memory):
            output.note(t("note.expires_in_past"))
    output.emit(memory_plain(memory), [line])
