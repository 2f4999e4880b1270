"""`mex undo`: take back everything a job wrote (product P6)."""

import sys
from typing import Annotated

import typer

from mex_pipeline.cli import output, undo_text
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, session, t, writer
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import undo as service


def undo(
    identifier: Annotated[str, typer.Argument(metavar="JOB|last", help=t("help.undo_job"))],
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.undo_dry_run"))] = False,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    actor = writer(by)
    with session() as app:
        done = service.undo(app, identifier, dry_run=True, actor=actor)
        if not dry_run and done.changes_anything:
            shown = undo_text.lines(app, done.result, dry_run=True)
            if not yes:
                _ask(shown)
            # What was shown is what is undone: `last` must not become another job meanwhile.
            done = service.undo_jobs(app, done.jobs, actor=actor)
        lines = undo_text.lines(app, done.result, dry_run=dry_run)
    if done.job is not None:
        lines.append(t("undo.back", id=done.job.id))
    output.emit(done.to_plain() | {"dry_run": dry_run}, lines)
    if not done.changes_anything:
        raise typer.Exit(1)


def _ask(shown: list[str]) -> None:
    """Show what would change and ask; raises unless a person at a terminal says yes."""
    if not sys.stdin.isatty():
        raise InvalidInput("undo_needs_yes")
    for line in shown:
        output.note(line)
    try:
        is_sure = typer.confirm(t("undo.ask"), err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("undo_refused")
