"""`mex extract`, `mex transcript`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import estimate, jobs, transcripts
from mex_pipeline.services.results import transcript_plain

FileOption = Annotated[Path | None, typer.Option("--file", help=t("help.file"))]
FromOption = Annotated[str | None, typer.Option("--from", metavar="ADAPTER", help=t("help.from"))]
SubjectOption = Annotated[str, typer.Option("--subject", metavar="user|other", help=t("help.subject"))]
AsyncOption = Annotated[bool, typer.Option("--async", help=t("help.async"))]


def extract(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help=t("help.text"))] = None,
    file: FileOption = None,
    adapter: FromOption = None,
    in_background: AsyncOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.extract_dry_run"))] = False,
    is_text: Annotated[bool, typer.Option("--text", help=t("help.force_text"))] = False,
    subject: SubjectOption = "user",
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if (text is None) == (file is None):
        raise InvalidInput("text_or_file")
    require_subject(subject)
    given = None if text is None else _given(text, adapter, is_text=is_text)
    with session() as app:
        if dry_run:
            shown = estimate.of_file(app, file, adapter=adapter) if file else estimate.of_text(app, given or "")
            output.emit(shown.to_plain(), [t("note.estimate", **shown.to_plain())])
            return
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        if file is not None:
            job, merged = jobs.submit_file(app, file, adapter=adapter, trigger=trigger, subject=subject)
        else:
            job, merged = jobs.submit_text(app, given or "", trigger=trigger, subject=subject)
        jobs_cli.carry_out(app, job, merged=merged, in_background=in_background)


def require_subject(subject: str) -> None:
    """Raise InvalidInput unless it says whom a text is about (product B3)."""
    if subject not in ("user", "other"):
        raise InvalidInput("unknown_subject", value=subject)


def _given(text: str, adapter: str | None, *, is_text: bool) -> str:
    """The text itself, or standard input for `-`; a path that exists is most likely a mistake (product G10)."""
    if adapter not in (None, "plain"):
        raise InvalidInput("from_needs_file", adapter=adapter)
    if text == "-":
        return sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not is_text and text.strip() and len(text) < 4096 and "\n" not in text and "\0" not in text and _exists(text):
        raise InvalidInput("text_is_a_path", path=text)
    return text


def _exists(text: str) -> bool:
    try:
        return Path(text).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False


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
