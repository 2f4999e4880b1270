"""`mex jobs logs|stats|pause|resume|prune|verify`: what is needed now and then (product D3)."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mex_pipeline import messages
from mex_pipeline.cli import job_view, output, reasons
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import iso_of_millis, parse_moment, parse_span, to_local
from mex_pipeline.services import job_control, job_stats, jobs, pauses, upkeep, workers
from mex_pipeline.services import verify as verifying
from mex_pipeline.services.job_stats import JobStats, Spread
from mex_pipeline.services.pauses import Pause
from mex_pipeline.services.verify import SourceReport


class Part(StrEnum):
    """What can be paused: every job, or those that ask a model."""

    all = "all"
    model = "model"


_SCOPES = {Part.all: pauses.EVERYTHING, Part.model: pauses.MODEL}


def logs(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.job_id"))],
    follow: Annotated[bool, typer.Option("--follow", "-f", help=t("help.follow"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        events = job_control.follow(app, jobs.get(app.db, identifier), forever=follow)
        if not follow:
            told = list(events)
            output.emit(told, job_view.story_lines(told))
            return
        for event in events:
            output.at_once(event, *job_view.story_lines([event]))


def stats(
    since: Annotated[str, typer.Option("--since", help=t("help.since"))] = "7d",
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = job_stats.since(app, parse_moment(since, app.clock.now()))
    output.emit(found.to_plain(), _stats_lines(found))


def _stats_lines(found: JobStats) -> list[str]:
    # Previews are skipped jobs too, and there was something to read.
    texts = {name: t("stats.job_skipped" if name == "skipped" else f"outcome.{name}") for name in found.outcomes}
    endings = ", ".join(f"{texts[name]} {number}" for name, number in found.outcomes.items())
    attempts = "—" if found.attempts_per_success is None else f"{found.attempts_per_success:g}"
    return [
        t("stats.jobs_since", when=to_local(found.since), counts=job_view.state_counts(found.states)),
        t("stats.job_outcomes", counts=endings or "—"),
        t("stats.job_waits", **_seconds(found.wait)),
        t("stats.job_runs", **_seconds(found.run)),
        t("stats.job_attempts", attempts=attempts, retries=found.retries, merges=found.merges),
        t("stats.job_faults", crashes=found.crashes, rescues=found.rescues, busy=found.busy_waits),
        t("stats.job_usage", **found.usage),
    ]


def _seconds(spread: Spread) -> dict[str, str]:
    measured = {"half": spread.p50, "most": spread.p95}
    return {name: "—" if value is None else f"{value:.1f} s" for name, value in measured.items()}


def pause(
    part: Annotated[Part, typer.Argument(metavar="[all|model]", help=t("help.pause_part"))] = Part.all,
    span: Annotated[str | None, typer.Option("--for", metavar="SPAN", help=t("help.pause_for"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    seconds = None if span is None else parse_span(span).total_seconds()
    with session() as app:
        pauses.pause(app, _SCOPES[part], seconds)
        held = pauses.current(app)
    output.emit({"paused": [pause_plain(one) for one in held]}, [reasons.pause_text(one) for one in held])


def resume(
    part: Annotated[Part, typer.Argument(metavar="[all|model]", help=t("help.resume_part"))] = Part.all,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        lifted = pauses.resume(app, None if part is Part.all else _SCOPES[part])
        held = pauses.current(app)
    lines = [t("done.resumed" if lifted else "note.not_paused"), *(reasons.pause_text(one) for one in held)]
    output.emit({"resumed": lifted, "paused": [pause_plain(one) for one in held]}, lines)


def pause_plain(one: Pause) -> dict[str, Any]:
    """Return the JSON object of a pause: `part` is `all`, `model` or, of the configured endpoint alone, `endpoint`."""
    part = next((part for part, scope in _SCOPES.items() if scope == one.scope), "endpoint")
    return {"part": str(part), "until": iso_of_millis(one.until), "reason": one.reason, "by_person": one.by_person}


def prune(
    older_than: Annotated[str | None, typer.Option("--older-than", metavar="SPAN", help=t("help.older_than"))] = None,
    state: Annotated[str | None, typer.Option("--state", help=t("help.state"))] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.prune_dry_run"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    seconds = None if older_than is None else int(parse_span(older_than).total_seconds())
    states = tuple(one.strip() for one in (state or "").split(",") if one.strip()) or None
    with session() as app:
        gone = upkeep.prune(app, seconds, states, dry_run)
    text = t("note.would_prune" if dry_run else "done.pruned", **gone)
    output.emit(gone | {"dry_run": dry_run}, [text])


def verify(
    source: Annotated[Path | None, typer.Argument(metavar="[PATH]", help=t("help.verify_path"))] = None,
    fix: Annotated[bool, typer.Option("--fix", help=t("help.verify_fix"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        report = verifying.verify(app, source, fix=fix)
        is_left = any(one.pending for one in report.sources) and not workers.will_run(app)
        nothing = t("note.no_sources_model" if app.settings.llm.is_configured else "note.no_sources")
    lines = [line for one in report.sources for line in _source_lines(one)]
    lines += [t("verify.conversations", count=report.conversations)] if report.conversations else []
    output.emit(report.to_plain(), lines or [nothing])
    if is_left:
        output.note(t("verify.no_worker"))
    if report.has_gap:
        raise typer.Exit(2)


def _source_lines(one: SourceReport) -> list[output.Painted | str]:
    looks = {"whole": output.GREEN, "gap": output.RED, "unreadable": output.YELLOW, "gone": output.FAINT}
    lines: list[output.Painted | str] = [
        output.Painted(
            (t(f"standing.{one.standing}"), looks.get(one.standing, "")), (f"  {one.adapter}  {one.source}", "")
        )
    ]
    judged = ", ".join(f"{_judged(name)} {number}" for name, number in (one.judged or {}).items())
    if judged:
        lines.append("   " + t("verify.judged", counts=judged))
    if one.held:
        lines.append("   " + t("verify.held", count=one.held))
    if one.pending:
        lines.append(
            "   " + t("verify.pending", count=one.pending, jobs=", ".join(one.job_ids) or t("verify.next_look"))
        )
    elif one.job_ids:
        lines.append("   " + t("verify.waits", jobs=", ".join(one.job_ids)))
    if one.error is not None:
        lines.append("   " + messages.render_code(one.error["code"], one.error["params"])[0])
    missed = "verify.missed_unread" if one.standing in ("gone", "unreadable") else "verify.missed"
    lines += [
        "   " + t(missed, count=gap.turns, why=t(f"missed.{gap.reason}"), command=gap.command) for gap in one.gaps
    ]
    return lines


def _judged(name: str) -> str:
    """What became of some turns, in words: the outcome of the job that judged them, or why there is none."""
    if name == "unlisted":
        return t("verify.unlisted")
    return t("reason.skipped_turn") if name == "skipped_turn" else reasons.reason_text(name)
