"""`mex export`, `mex import`, `mex backup`, `mex clear`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import backfill, output
from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli.enqueue import require_subject
from mex_pipeline.cli.extract import AsyncOption, FromOption, SubjectOption
from mex_pipeline.cli.options import JsonOption, LangOption, session, t, writer
from mex_pipeline.domain.job import Trigger
from mex_pipeline.domain.memory import Actor
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import backup as backup_service
from mex_pipeline.services import clear as clear_service
from mex_pipeline.services import export as export_service
from mex_pipeline.services import transfer
from mex_pipeline.services.export import Format
from mex_pipeline.services.transfer import Mode, OnConflict


def export(
    target: Annotated[str, typer.Option("--output", metavar="PATH", help=t("help.output"))],
    form: Annotated[Format, typer.Option("--format", help=t("help.format"))] = "json",
    with_turns: Annotated[bool, typer.Option("--turns", help=t("help.export_turns"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if target == "-" and form == "markdown" and output.wants_json():
        raise InvalidInput("markdown_as_json")
    with session() as app:
        if target == "-":
            with app.db.snapshot() as view:
                for piece in export_service.pieces(app, view, form, with_turns=with_turns):
                    sys.stdout.write(output.visible(piece) if sys.stdout.isatty() else piece)
            return
        made = export_service.to_file(app, target, form, with_turns=with_turns)
    output.emit(made.to_plain(), [t("done.exported", **made.to_plain())])


def import_file(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=t("help.import_file"))],
    mode: Annotated[Mode, typer.Option("--mode", help=t("help.mode"))] = "restore",
    on_conflict: Annotated[OnConflict, typer.Option("--on-conflict", help=t("help.on_conflict"))] = "skip",
    adapter: FromOption = None,
    subject: SubjectOption = "user",
    in_background: AsyncOption = False,
    yes: backfill.YesOption = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    require_subject(subject)
    if mode == "restore" and (adapter is not None or subject != "user"):
        raise InvalidInput("import_needs_extract")
    if mode == "restore" and len(files) > 1:
        raise InvalidInput("import_one_export")
    if mode == "restore" and writer(None) is Actor.AI:
        raise UserError("agent_cannot_restore")
    with session() as app:
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        if mode == "extract":
            asked = transfer.extractions(files, adapter=adapter, subject=subject)
            backfill.check(app, asked, yes=yes)
            jobs_cli.ask(app, asked, trigger)
            return
        (file,) = files
        job, merged = transfer.submit_restore(app, file, on_conflict=on_conflict, trigger=trigger)
        jobs_cli.carry_out(app, job, merged=merged, in_background=in_background)


def backup(
    target: Annotated[str, typer.Argument(metavar="FILE", help=t("help.backup_file"))],
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        made = backup_service.make(app, target)
    output.emit(made.to_plain(), [t("done.backup", path=made.path, kib=made.size_bytes // 1024, count=made.memories)])


def clear(
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    with_backup: Annotated[bool, typer.Option("--backup/--no-backup", help=t("help.clear_backup"))] = True,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if writer(None) is Actor.AI:
        raise UserError("agent_cannot_clear")
    with session() as app:
        counts = clear_service.counts(app)
        if any(counts.values()) and not yes:
            _ask(app, counts, with_backup=with_backup)
        done = clear_service.everything(app, with_backup=with_backup)
    is_empty = not any(done.counts.values())
    lines = [t("note.clear_empty")] if is_empty else [t("done.cleared", **done.counts), t("note.costs_stay")]
    if done.never_again:
        lines.append(t("note.refusals_stay", count=done.never_again))
    if done.backup is not None:
        lines.append(t("note.clear_backup", path=done.backup, command=f"mex import {shlex.quote(done.backup)}"))
    output.emit(done.to_plain(), lines)
    if not done.is_settled:
        output.note(t("note.clear_unsettled"))


def _ask(app: App, counts: dict[str, int], *, with_backup: bool) -> None:
    """Name what will be gone and ask twice; raises unless a person at a terminal says yes both times."""
    if not sys.stdin.isatty():
        raise InvalidInput("clear_needs_yes", count=counts["memories"])
    output.note(t("note.clear_counts", **counts))
    again = t("ask.clear_with_backup", folder=app.home.backups) if with_backup else t("ask.clear_without_backup")
    try:
        is_sure = typer.confirm(t("ask.clear"), err=True) and typer.confirm(again, err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("clear_refused")
