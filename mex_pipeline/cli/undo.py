"""`mex undo`: take back everything a job wrote (product P6)."""

from typing import Annotated

import typer

from mex_pipeline.cli import output, undo_text
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, session, t, writer
from mex_pipeline.services import undo as service


def undo(
    identifier: Annotated[str, typer.Argument(metavar="JOB|last", help=t("help.undo_job"))],
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.undo_dry_run"))] = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    actor = writer(by)
    with session() as app:
        done = service.undo(app, identifier, dry_run=dry_run, actor=actor)
        lines = undo_text.lines(app, done.result, dry_run=dry_run)
    if done.job is not None and undo_text.counts(done.result)["put_back"]:
        lines.append(t("undo.back", id=done.job.id))
    output.emit(done.to_plain() | {"dry_run": dry_run}, lines)
    if not done.changes_anything:
        raise typer.Exit(1)
