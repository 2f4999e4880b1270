"""`mex compact`: old records condensed into summaries, the originals forgotten softly (product B8)."""

import sys
from typing import Annotated

import typer

from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import compact as service
from mex_pipeline.services import jobs
from mex_pipeline.services.compact import Forecast


def compact(
    older_than: Annotated[str, typer.Option("--older-than", help=t("help.compact_older_than"))] = "6m",
    topic: Annotated[str | None, typer.Option("--topic", help=t("help.compact_topic"))] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.compact_dry_run"))] = False,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    in_background: Annotated[bool, typer.Option("--async", help=t("help.compact_async"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        asked = service.request(app, older_than, topic)
        forecast = service.forecast(app, asked)
        if dry_run:
            output.emit(forecast.to_plain(), _lines(forecast))
            return
        if not yes and forecast.groups:
            _ask(_lines(forecast))
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        job, merged = jobs.submit(app, asked, trigger=trigger)
        jobs_cli.carry_out(app, job, merged=merged, in_background=in_background)


def _lines(forecast: Forecast) -> list[str]:
    shown = forecast.to_plain()
    if not forecast.groups:
        return [t("compact.nothing")]
    return [
        *(t("compact.group", **one | {"topic": one["topic"] or "—"}) for one in shown["groups"]),
        t("compact.estimate", **{name: shown[name] for name in ("records", "tokens", "calls")}),
    ]


def _ask(shown: list[str]) -> None:
    """Show what would be sent and ask; raises unless a person at a terminal says yes."""
    if not sys.stdin.isatty():
        raise InvalidInput("compact_needs_yes")
    for line in shown:
        output.note(line)
    try:
        is_sure = typer.confirm(t("compact.ask"), err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("compact_refused")
