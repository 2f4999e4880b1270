"""`mex jobs list|show|wait|cancel|retry`, and how a job is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.bootstrap import run_job_here
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import iso_of_millis, millis, parse_span, to_local
from mex_pipeline.domain.job import Job, JobState
from mex_pipeline.domain.structured import render
from mex_pipeline.services import jobs, workers
from mex_pipeline.services.rescue import rescue_dead
from mex_pipeline.services.results import Submitted, job_plain

_LOOKS = {
    JobState.SUCCEEDED: output.GREEN,
    JobState.RETRYING: output.YELLOW,
    JobState.FAILED: output.RED,
    JobState.CANCELLED: output.FAINT,
}

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=t("help.job_id"))]


def plain(app: App, job: Job) -> dict[str, Any]:
    """Return a job's JSON object; a job that has no result yet still tells what it has cost."""
    shape = job_plain(job)
    if "usage" not in shape:
        shape["usage"] = jobs.tokens(app.db, job)
    if "conflicts" in shape:
        shape["conflicts"] = [one | {"detail": conflict_text(one)} for one in shape["conflicts"]]
    return shape


def list_jobs(
    state: Annotated[str | None, typer.Option("--state", help=t("help.state"))] = None,
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 50,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    states = tuple(one.strip() for one in (state or "").split(",") if one.strip())
    with session() as app:
        found = jobs.page(app, states=states, limit=limit)
        output.emit([plain(app, job) for job in found], [_line(job) for job in found] or [t("note.jobs_empty")])


def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.job_id"))],
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        job = jobs.get(app.db, identifier)
        output.emit(plain(app, job) | {"events": jobs.story(app.db, job)}, lines(app, job))


def wait(
    identifiers: Ids,
    timeout: Annotated[str | None, typer.Option("--timeout", help=t("help.timeout"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    seconds = None if timeout is None else float(timeout) if timeout.isdigit() else parse_span(timeout).total_seconds()
    with session() as app:
        rescue_dead(app)
        wanted = [jobs.get(app.db, one) for one in identifiers]
        if any(not job.state.is_final and not jobs.is_paused(app, job) for job in wanted) and not workers.will_run(app):
            output.note(t(f"note.worker_{workers.ensure_running(app)}", id=wanted[0].id))
        note_pauses(app)
        ended = []
        for one in [job.id for job in wanted]:
            with _progress() as tell:
                ended.append(jobs.wait(app, one, timeout=seconds, on_change=tell))
        shown = [plain(app, job) for job, _ in ended]
        text = [line for job, _ in ended for line in lines(app, job)]
        output.emit(shown[0] if len(shown) == 1 else shown, text)
        for job, done in ended:
            if not done:
                output.note(t("note.wait_over", id=job.id, state=t(f"state.{job.state}")))
        raise typer.Exit(max(exit_code(job) if done else 2 for job, done in ended))


def cancel(identifiers: Ids, as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        rescue_dead(app)
        changed = [jobs.cancel(app, one) for one in identifiers]
        output.emit([plain(app, job) for job in changed], [t(f"done.cancel_{job.state}", id=job.id) for job in changed])


def retry(identifiers: Ids, as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        rescue_dead(app)
        changed = [jobs.retry(app, one) for one in identifiers]
        present = workers.ensure_running(app)
        output.emit(
            [plain(app, job) for job in changed],
            [t("done.retry", id=job.id) for job in changed] + [t(f"note.worker_{present}", id=changed[0].id)],
        )


def note_pauses(app: App) -> None:
    """Say on stderr what is paused, and what lets it go."""
    for row in jobs.pauses(app):
        output.note(pause_text(row["reason"], iso_of_millis(row["paused_until"]) or ""))


def pause_text(reason: str, until: str) -> str:
    """Return a pause in words."""
    return t("note.paused", reason=t(f"reason.{reason}"), until=to_local(until))


def carry_out(app: App, job: Job, *, merged: bool, in_background: bool) -> None:
    """Leave a submitted job to a worker, or run it here, and show how it went; exits with its code (product C1, D2)."""
    if in_background:
        if job.kind != jobs.RESTORE:
            note_pauses(app)
        submitted = Submitted(job.id, job.state, merged, workers.ensure_running(app))
        said = t("done.merged" if merged else "done.queued", id=job.id)
        output.emit(submitted.to_plain(), [said, t(f"note.worker_{submitted.worker}", id=job.id)])
        return
    try:
        run_job_here(app, job.id)
    finally:
        if jobs.waits_for_a_worker(app):  # the source grew meanwhile, or another request still waits
            workers.ensure_running(app)
    finish(app, jobs.get(app.db, job.id))


def finish(app: App, job: Job) -> None:
    """Show how a foreground job went and exit with its code."""
    if job.state is JobState.SUCCEEDED or output.wants_json():
        output.emit(plain(app, job), _summary(app, job))
    if job.state is not JobState.SUCCEEDED:
        _complain(job)
    raise typer.Exit(exit_code(job))


def exit_code(job: Job) -> int:
    """0 for success, 1 for cancelled, 2 for failed and for what waits for a person (product H8)."""
    return {JobState.SUCCEEDED: 0, JobState.CANCELLED: 1}.get(job.state, 2)


def _complain(job: Job) -> None:
    error = job.last_error or {"code": job.reason or job.state, "params": {}}
    what, hint = messages.render_code(error["code"], error["params"])
    key = "note.job_failed" if job.state.is_final else "note.job_waits"
    then = t(key, id=job.id, when=to_local(iso_of_millis(job.available_at) or ""))
    output.complain(error["code"], what, output.joined(hint, then), retryable=bool(error.get("retryable", False)))


def _line(job: Job) -> output.Painted:
    source = job.payload.get("path") or t("label.given_text")
    kind = "" if job.kind == jobs.EXTRACT else f" · {t(f'kind.{job.kind}')}"
    return output.Painted(
        (f"{to_local(iso_of_millis(job.created_at) or '')}  ", ""),
        (job.id, output.FAINT),
        (f"{kind} · ", ""),
        (t(f"state.{job.state}"), _LOOKS.get(job.state, "")),
        ("".join(f" · {part}" for part in (_why(job), _counts(job), source) if part), ""),
    )


def _counts(job: Job) -> str:
    if not job.result:
        return ""
    if job.kind == jobs.RESTORE:
        return _restored(job.result)
    return t("label.counts", **{key: len(job.result.get(key, [])) for key in ("added", "updated", "discarded")})


def _restored(result: dict[str, Any]) -> str:
    conflicts = result["counts"]["conflicts"]
    return t("done.imported", imported=result["imported"], skipped=result["skipped"], conflicts=conflicts)


def _why(job: Job) -> str:
    """How a job ended, or what it waits for."""
    if job.kind == jobs.RESTORE and job.state is JobState.SUCCEEDED:
        return ""  # its counts say it
    if job.outcome is not None:
        return t(f"outcome.{job.outcome}")
    known = f"reason.{job.reason}" in messages.CATALOGUES[messages.active()]
    return t(f"reason.{job.reason}") if job.state.is_waiting and known else ""


def lines(app: App, job: Job) -> list[str]:
    """Return a job for people: where it stands, what it wrote, what it did not and why."""
    shown: list[str] = [_line(job)]
    if job.progress_total and not job.state.is_final:
        shown.append(t("note.progress", done=job.progress_done or 0, total=job.progress_total))
    if job.state is not JobState.SUCCEEDED and job.last_error:
        what, hint = messages.render_code(job.last_error["code"], job.last_error["params"])
        shown.append(t("label.last_error", text=output.joined(what, hint)))
    if job.state.is_waiting and job.attempt:
        shown.append(t("note.attempts", attempt=job.attempt, most=job.max_attempts))
    if job.state.is_waiting and job.available_at > millis(app.clock.now()):
        shown.append(t("note.next_run", when=to_local(iso_of_millis(job.available_at) or "")))
    return shown + (_summary(app, job) if job.result else [])


def _summary(app: App, job: Job) -> list[str]:
    """The seed's summary (seed 004 §6.1 step 8), with what was written and whose words say so."""
    result = job.result or {}
    if job.kind == jobs.RESTORE:
        return _restore_summary(result) if result else []
    skipped = [t(f"skipped.{job.reason}")] if job.outcome == "skipped" and job.reason else []
    counts = {key: len(result.get(key, [])) for key in ("added", "updated", "retired", "discarded")}
    shown = [*skipped, t("done.extracted", **counts)]
    written = [("+", one) for one in result.get("added", [])]
    written += [("~", one["after"]) for one in result.get("updated", [])]
    written += [("-", one) for one in result.get("retired", [])]
    for sign, one in written:
        slot = app.schema.find(one["topic"], one["sub_topic"])
        place = f"{one['topic']}.{one['sub_topic']}" if one["sub_topic"] else one["topic"] or "—"
        shown.append(f"{sign} {place}: {render(slot, one['content'], messages.active())}  [{one['confidence']}]")
        if one["evidence"]:
            shown.append(output.evidence_line(one["evidence"]))
    shown += [output.discarded_line(one) for one in result.get("discarded", [])]
    if result.get("inferred_count"):
        shown.append(t("note.inferred", count=result["inferred_count"]))
    usage = result.get("usage", {})
    if result.get("extractor") == "rules" and job.outcome != "skipped":
        shown.append(t("note.rules_only"))
    elif usage.get("calls") or usage.get("reused"):
        shown.append(t("note.usage", **usage))
    return shown


def _restore_summary(result: dict[str, Any]) -> list[str]:
    """The seed's summary of an import (seed 004 §6.4): counts, what made room, and every conflict."""
    counts = result["counts"]
    shown = [_restored(result)]
    if counts["updated"]:
        shown.append(t("note.replaced", count=counts["updated"]))
    if counts["retired"]:
        shown.append(t("note.put_aside", count=counts["retired"]))
    shown += [f"- {conflict_text(one)}" for one in result["conflicts"]]
    if counts["conflicts"] > len(result["conflicts"]):
        shown.append(t("note.more_conflicts", count=counts["conflicts"] - len(result["conflicts"])))
    return shown


def conflict_text(conflict: dict[str, Any]) -> str:
    """Return what was not taken over from an export, why, and what to do."""
    facts, reason = dict(conflict["facts"]), conflict["reason"]
    place = t("label.entry", section=conflict["section"], number=conflict["number"], id=conflict["id"] or "—")
    if reason == "invalid_entry":
        why = output.joined(*messages.render_code(facts.pop("code"), facts))
    else:
        why = t(f"conflict.{reason}", id=conflict["id"], **facts)
    return f"{place}: {why}"


@contextmanager
def _progress() -> Iterator[Callable[[Job], None]]:
    """A live line on a terminal; silence elsewhere and with `--json`."""
    if output.wants_json() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a waiting terminal pays
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda job: bar.update(
            task, description=t(f"state.{job.state}"), completed=job.progress_done or 0, total=job.progress_total
        )
