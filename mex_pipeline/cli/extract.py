"""`mex extract`, `mex transcript`."""

from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline.cli import enqueue, output
from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import estimate, jobs, transcripts
from mex_pipeline.services.results import transcript_plain

FileOption = Annotated[Path | None, typer.Option("--file", help=t("help.file"))]
FromOption = Annotated[str | None, typer.Option("--from", metavar="ADAPTER", help=t("help.from"))]
SubjectOption = Annotated[str, typer.Option("--subject", metavar="user|other", help=t("help.subject"))]
AsyncOption = Annotated[bool, typer.Option("--async", help=t("help.async"))]
DelayOption = Annotated[str | None, typer.Option("--delay", metavar="SPAN", help=t("help.delay"))]


def extract(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help=t("help.text"))] = None,
    file: FileOption = None,
    adapter: FromOption = None,
    in_background: AsyncOption = False,
    delay: DelayOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.extract_dry_run"))] = False,
    is_text: Annotated[bool, typer.Option("--text", help=t("help.force_text"))] = False,
    subject: SubjectOption = "user",
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if in_background and not dry_run:
        enqueue.request(text, file, adapter, is_text=is_text, subject=subject, delay=delay)
        return
    if delay is not None:
        raise InvalidInput("delay_needs_async")
    given = enqueue.checked(text, file, adapter, subject=subject, is_text=is_text)
    with session() as app:
        if dry_run:
            shown = estimate.of_file(app, file, adapter=adapter) if file else estimate.of_text(app, given)
            output.emit(shown.to_plain(), [t("note.estimate", **shown.to_plain())])
            return
        if file is not None:
            job, merged = jobs.submit_file(app, file, adapter=adapter, trigger=Trigger.FOREGROUND, subject=subject)
        else:
            job, merged = jobs.submit_text(app, given, trigger=Trigger.FOREGROUND, subject=subject)
        jobs_cli.carry_out(app, job, merged=merged, in_background=False)


def transcript(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=t("help.session_file"))],
    adapter: FromOption = None,
    session_id: Annotated[str | None, typer.Option("--session", help=t("help.session"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        quiet = app.settings.extraction.quiet_seconds
    shown = transcripts.show(file, adapter=adapter, quiet_seconds=quiet, session=session_id)
    lines = []
    for turn in shown.turns:
        held = f" ({t('label.held')})" if turn.held else ""
        lines.append(f"{t(f'label.{turn.role}')}{held}: {turn.text}")
    dropped = ", ".join(f"{reason} {number}" for reason, number in sorted(shown.dropped.items()))
    lines.append(t("note.transcript_end", turns=len(shown.turns), dropped=dropped or "—"))
    output.emit(transcript_plain(shown), lines)
