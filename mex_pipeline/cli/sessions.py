"""`mex sessions`, `mex sweep`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import backfill, output, progress
from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli.extract import AsyncOption
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import parse_moment, to_local
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import estimate, jobs
from mex_pipeline.services import sessions as service
from mex_pipeline.services.sessions import Found, Offer, SessionReport, Unreadable

AgentOption = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help=t("help.agent"))]
SinceOption = Annotated[str | None, typer.Option("--since", help=t("help.sessions_since"))]
YesOption = Annotated[bool, typer.Option("--yes", help=t("help.sweep_yes"))]


def list_sessions(
    agent: AgentOption = None,
    since: SinceOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found, failed = _found(app, agent, since)
        with progress.steps(len(found), t("note.reading_sessions")) as step:
            told = [service.report(app, one) for one in step(found)]
    reports = [one for one in told if isinstance(one, SessionReport) and one.user_turns]
    failed += [one for one in told if isinstance(one, Unreadable)]
    plain = {"sessions": [one.to_plain() for one in reports], "unreadable": [one.to_plain() for one in failed]}
    lines = [line for one in reports for line in _lines(one)]
    output.emit(plain, [*(lines or [t("note.no_sessions")]), *_failures(failed)])


def sweep(
    agent: AgentOption = None,
    since: SinceOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.sweep_dry_run"))] = False,
    yes: YesOption = False,
    in_background: AsyncOption = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        app.settings.llm.require_whole()
        found, failed = _found(app, agent, since)
        with progress.steps(len(found), t("note.reading_sessions")) as step:
            offered = service.offer(app, step(found[::-1]), failed)
        if dry_run:
            sent = backfill.sent_lines(app, offered.total)
            output.emit(offered.to_plain(), [*_offer_lines(offered), *sent, *_failures(offered.unreadable)])
            return
        for one in _failures(offered.unreadable):
            output.note(one)
        if not offered.requests:
            output.emit({"batch_id": None, "jobs": [], "worker": None}, [t("note.nothing_to_sweep")])
            return
        if not yes and (offered.first_of or estimate.is_big(app, offered.total)):
            lines = [*_offer_lines(offered), *backfill.sent_lines(app, offered.total)]
            count, facts = len(offered.requests), offered.total.to_plain()
            backfill.confirm(lines, InvalidInput("sweep_needs_yes", sessions=count, **facts))
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        batch, submitted = jobs.submit_all(app, offered.requests, trigger=trigger)
        jobs_cli.carry_out_batch(app, batch, submitted, in_background=in_background)


def _found(app: App, agent: str | None, since: str | None) -> tuple[list[Found], list[Unreadable]]:
    moment = None if since is None else parse_moment(since, app.clock.now())
    return service.on_this_machine(Path.home(), os.environ, agent=agent, since=moment)


def _lines(one: SessionReport) -> Iterator[str]:
    """One session: when, who and where; how much of it; how long it will be there."""
    yield output.Painted(
        (to_local(one.last_active or ""), output.BOLD),
        (f"  {one.agent}  {one.project or t('label.no_project')}", ""),
    )
    parts = [t("note.session_turns", turns=one.user_turns, extracted=one.extracted)]
    parts += [t("note.session_held", count=one.held)] if one.held else []
    parts += [t("note.session_days_left", days=one.days_left)] if one.days_left is not None else []
    yield f"   {' · '.join(parts)}"
    yield output.Painted((f"   {one.source}", output.FAINT))


def _offer_lines(offered: Offer) -> list[str]:
    """What a sweep would do, agent by agent when there are several, and all together."""
    if not offered.requests:
        return [t("note.nothing_to_sweep")]
    rows = [
        f"{agent}: {t('budget.offer', count=offered.sessions[agent], **one.to_plain())}"
        for agent, one in offered.by_agent.items()
    ]
    whole = t("budget.offer", count=len(offered.requests), **offered.total.to_plain())
    return [*(rows if len(rows) > 1 else []), whole]


def _failures(failed: Sequence[Unreadable]) -> list[str]:
    """What could not be read, why, and what to do; the error names the source."""
    return [t("note.session_unreadable", what=_why(one)) for one in failed]


def _why(failed: Unreadable) -> str:
    what, hint = messages.render_code(failed.error["code"], failed.error["params"])
    return what if failed.error["code"] == "source_format" else output.joined(what, hint)  # nobody chose the adapter
