"""`mex extract`, `mex transcript`."""

from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import again as again_cli
from mex_pipeline.cli import backfill, enqueue, output
from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import estimate, jobs, requests, transcripts
from mex_pipeline.services.results import transcript_plain

FileOption = Annotated[Path | None, typer.Option("--file", help=t("help.file"))]
FromOption = Annotated[str | None, typer.Option("--from", metavar="ADAPTER", help=t("help.from"))]
SubjectOption = Annotated[str, typer.Option("--subject", metavar="user|other", help=t("help.subject"))]
AsyncOption = Annotated[bool, typer.Option("--async", help=t("help.async"))]
AgainOption = Annotated[str | None, typer.Option("--again", metavar="SESSION", help=t("help.again"))]
SessionOption = Annotated[str | None, typer.Option("--session", metavar="ID", help=t("help.session"))]
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
    session_id: SessionOption = None,
    again: AgainOption = None,
    is_preview: Annotated[bool, typer.Option("--diff", help=t("help.again_diff"))] = False,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help=t("help.again_model"))] = None,
    yes: backfill.YesOption = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if again is not None:
        if text is not None or file is not None or delay is not None:
            raise InvalidInput("again_alone")
        named = again if session_id is None else f"{again}#{session_id}"
        again_cli.extract_again(
            named,
            adapter=adapter,
            subject=subject,
            in_background=in_background,
            dry_run=dry_run,
            is_preview=is_preview,
            model=model,
        )
        return
    if is_preview or model is not None:
        raise InvalidInput("again_options_alone")
    if in_background and not dry_run:
        enqueue.request(text, file, adapter, is_text=is_text, subject=subject, session=session_id, delay=delay)
        return
    if delay is not None:
        raise InvalidInput("delay_needs_async")
    given = enqueue.checked(text, file, adapter, subject=subject, is_text=is_text, session=session_id)
    with session() as app:
        if dry_run:
            _show_estimate(app, file, adapter, given, session_id)
            return
        if file is None:
            job, merged = jobs.submit_text(app, given, trigger=Trigger.FOREGROUND, subject=subject)
            jobs_cli.carry_out(app, job, merged=merged, in_background=False)
        else:
            asked = requests.for_file(file, adapter=adapter, subject=subject, session=session_id)
            backfill.check(app, asked, yes=yes)
            jobs_cli.ask(app, asked, Trigger.FOREGROUND)


def _show_estimate(app: App, file: Path | None, adapter: str | None, given: str, session_id: str | None) -> None:
    if file is None:
        number, shown = 1, estimate.of_text(app, given)
    else:
        number, shown = estimate.of_file(app, file, adapter=adapter, session=session_id)
    many = [t("note.conversation_count", count=number)] if number != 1 else []
    lines = [*many, t("budget.estimate", **shown.to_plain()), *backfill.sent_lines(app, shown)]
    output.emit(shown.to_plain() | {"conversations": number}, lines)


def transcript(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=t("help.session_file"))],
    adapter: FromOption = None,
    session_id: SessionOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        quiet, redact = app.settings.extraction.quiet_seconds, app.settings.privacy.redact_secrets
        banned = transcripts.never_again(app)
    shown = transcripts.show(
        file, adapter=adapter, quiet_seconds=quiet, session=session_id, redact=redact, banned=banned
    )
    lines = []
    for turn in shown.turns:
        held = f" ({t('label.held')})" if turn.held else ""
        lines.append(f"{t(f'label.{turn.role}')}{held}: {turn.text}")
    dropped = ", ".join(f"{reason} {number}" for reason, number in sorted(shown.dropped.items()))
    lines.append(t("note.transcript_end", turns=len(shown.turns), dropped=dropped or "—"))
    output.emit(transcript_plain(shown), lines)
