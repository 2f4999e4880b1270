"""`mex source`, `mex turns list|prune`: the words that memories rest on, and what is kept of them (product B10)."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t, writer
from mex_pipeline.cli.output import BOLD, FAINT, YELLOW, Painted
from mex_pipeline.clock import parse_span, to_local
from mex_pipeline.domain.memory import Actor
from mex_pipeline.domain.wording import words
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import tracing, turns
from mex_pipeline.services.tracing import Place, Shown, Trace

_AROUND, _WHOLE = 300, 400
"""Characters shown on each side of a quote, and of a turn beside it; `--json` has all of them."""

AgentOption = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help=t("help.turns_agent"))]


def source(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.id"))],
    context: Annotated[int, typer.Option("--context", metavar="N", help=t("help.context"))] = 1,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = tracing.trace(app, identifier, context=context)
        lines = [*memory_text.memory_lines(found.memory, app.schema), *_trace_lines(found)]
    output.emit(found.to_plain(), lines)


def _trace_lines(found: Trace) -> Iterator[str]:
    if found.origin != "extracted":
        yield t(f"source.{found.origin}")
    if found.is_rewritten and found.places:
        yield t("source.rewritten")
    for number, place in enumerate(found.places, 1):
        yield ""
        yield from _place_lines(place, number)


def _place_lines(place: Place, number: int) -> Iterator[str]:
    one = place.source
    facts = [
        one.agent,
        t("source.session", id=one.session_id) if one.session_id else "",
        to_local(one.said_at) if one.said_at else "",
        t(f"label.{one.role}") if one.role in ("user", "assistant") else "",
    ]
    yield Painted((f"{number}. {' · '.join(fact for fact in facts if fact)}", BOLD))
    if one.project:
        yield f"   {t('source.project', path=one.project)}"
    if one.source_file:
        yield f"   {t('source.file' if place.file_exists else 'source.file_gone', path=one.source_file)}"
    if not one.verified:
        yield Painted((f"   {t('source.unverified')}", YELLOW))
    if not any(turn.quote for turn in place.turns) and one.quote:
        yield f"   »{' '.join(one.quote.split())}«"
    if place.found_in == "nowhere":
        yield Painted((f"   {t('source.nowhere' if one.message_key else 'source.no_message')}", YELLOW))
    for turn in place.turns:
        if not turn.follows:
            yield Painted(("   …", FAINT))
        yield _turn_line(turn)
    if place.found_in != "nowhere":
        yield Painted((f"   {t(f'source.in_{place.found_in}')}", FAINT))


def _turn_line(turn: Shown) -> Painted:
    """A turn on lines of its own, the words of the memory marked."""
    who = (f"   {t(f'label.{turn.role}')}{words(messages.active()).colon}", BOLD if turn.is_source else FAINT)
    if turn.quote is None:
        return Painted(who, (_indented(_begun(turn.text, _WHOLE)), "" if turn.is_source else FAINT))
    start, end = turn.quote
    before, after = turn.text[:start], turn.text[end:]
    return Painted(
        who,
        (_indented(before if len(before) <= _AROUND else "…" + before[-_AROUND:]), ""),
        (_indented(f"»{turn.text[start:end]}«"), BOLD),
        (_indented(_begun(after, _AROUND)), ""),
    )


def _begun(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _indented(text: str) -> str:
    return text.replace("\n", "\n      ")


def list_turns(agent: AgentOption = None, as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        found = turns.listed(app, agent)
    lines = [
        t(
            "turns.row",
            agent=one.agent,
            session=one.session,
            count=one.turns,
            kib=-(-one.bytes // 1024),
            oldest=to_local(one.oldest),
            newest=to_local(one.newest),
        )
        for one in found
    ]
    output.emit([turns.session_plain(one) for one in found], lines or [t("turns.empty")])


def prune(
    older_than: Annotated[str | None, typer.Option("--older-than", metavar="SPAN", help=t("help.turns_older"))] = None,
    session_id: Annotated[str | None, typer.Option("--session", help=t("help.turns_session"))] = None,
    agent: AgentOption = None,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.turns_dry_run"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    span = None if older_than is None else parse_span(older_than)
    if writer(None) is Actor.AI and not dry_run:
        raise UserError("agent_cannot_prune")
    with session() as app:
        which = turns.which(app, older_than=span, session=session_id, agent=agent)
        foreseen = turns.prune(app, which, dry_run=True)
        if foreseen.turns and not (yes or dry_run):
            _ask(foreseen)
        done = foreseen if dry_run else turns.prune(app, which, dry_run=False)
    output.emit(done.to_plain(), [t("turns.would_prune" if dry_run else "turns.pruned", **_counts(done))])
    if not done.is_settled:
        output.note(t("turns.unsettled"))


def _counts(pruned: turns.Pruned) -> dict[str, int]:
    return {"count": pruned.turns, "sessions": pruned.sessions, "kib": -(-pruned.bytes // 1024)}


def _ask(foreseen: turns.Pruned) -> None:
    """Say how much would go and ask; raises unless a person at a terminal says yes."""
    if not sys.stdin.isatty():
        raise InvalidInput("prune_needs_yes", count=foreseen.turns)
    try:
        is_sure = typer.confirm(t("turns.ask", **_counts(foreseen)), err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("prune_refused")
