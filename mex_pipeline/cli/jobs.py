"""`mex jobs list|show|wait|cancel|retry`, and what follows a request (product C1, D2-D4, H8)."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import enqueue, job_view, output, progress, reasons, run_here
from mex_pipeline.cli.job_view import code_of
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import iso_of_millis, millis, parse_moment, parse_span
from mex_pipeline.domain.job import OVER_BUDGET, Job, JobState, Trigger
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.services import answers_kept, children, job_control, jobs, workers
from mex_pipeline.services.job_control import Batch
from mex_pipeline.services.jobs import Request
from mex_pipeline.services.rescue import rescue_dead

Id = Annotated[str, typer.Argument(metavar="ID", help=t("help.job_ids"))]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=t("help.job_ids"))]
MaybeIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help=t("help.job_ids"))]
SourceOption = Annotated[Path | None, typer.Option("--source", metavar="PATH", help=t("help.source"))]
BatchOption = Annotated[str | None, typer.Option("--batch", metavar="ID", help=t("help.batch"))]


def list_jobs(
    state: Annotated[str | None, typer.Option("--state", help=t("help.state"))] = None,
    source: SourceOption = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="|".join(job_control.KINDS), help=t("help.kind"))
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help=t("help.since"))] = None,
    batch: BatchOption = None,
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 50,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    states = tuple(one.strip() for one in (state or "").split(",") if one.strip())
    with session() as app:
        moment = None if since is None else parse_moment(since, app.clock.now())
        found = job_control.page(app, states=states, kind=kind, source=source, since=moment, batch=batch, limit=limit)
        lines = [job_view.line(job) for job in found]
        output.emit([job_view.plain(app, job) for job in found], lines or [t("note.jobs_empty")])
        for one in job_view.held(app, [job for job in found if job.reason in OVER_BUDGET]):
            output.note(one)


def show(
    identifier: Id,
    with_events: Annotated[bool, typer.Option("--events", help=t("help.events"))] = False,
    raw: Annotated[bool, typer.Option("--raw", help=t("help.raw"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = job_control.find(app, identifier)
        is_json = output.wants_json()
        plain = job_view.found_plain(app, found) if is_json else {}
        lines = [] if is_json else job_view.found_lines(app, found)
        members = found.jobs if isinstance(found, Batch) else (found,)
        if with_events:
            for job in members:
                lines += [job.id] if isinstance(found, Batch) else []
                lines += job_view.story_lines(job_control.follow(app, job, forever=False))
        if raw:
            answers = [one for job in members for one in answers_kept.unusable_answers(app.db, job)]
            plain["unusable_answers"] = answers
            lines += [line for answer in answers for line in (t("label.unusable_answer"), answer)]
            lines += [] if answers else [t("note.no_unusable_answers")]
        output.emit(plain, lines)


def wait(
    identifiers: Ids,
    timeout: Annotated[str | None, typer.Option("--timeout", help=t("help.timeout"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    seconds = (
        None if timeout is None else float(timeout) if timeout.isdecimal() else parse_span(timeout).total_seconds()
    )
    with session() as app:
        rescue_dead(app)
        found = [job_control.find(app, one) for one in identifiers]
        wanted = _members(found)
        is_over = all(job_control.is_over(app, job) for job in wanted)
        waits = any(job.state.is_waiting or children.unfinished(app.db, job) for job in wanted)
        if waits and not is_over and not workers.will_run(app):
            output.note(t(f"note.worker_{workers.ensure_running(app)}", id=" ".join(identifiers)))
        if not is_over or output.wants_json():
            reasons.note_pauses(app)
        with progress.bars(len(wanted)) as tell:
            ended = job_control.wait(app, [job.id for job in wanted], timeout=seconds, on_change=tell)
        shown = [job_view.plain(app, job) for job, _ in ended]
        is_one = len(found) == 1 and isinstance(found[0], Job)
        output.emit(shown[0] if is_one else shown, _ended_lines(app, found, [job for job, _ in ended]))
        for one in found:
            _note_unended(app, one, [job for job, done in ended if not done])
        raise typer.Exit(max(code_of(app, job) if done else 2 for job, done in ended))


def _note_unended(app: App, named: Job | Batch, unended: Sequence[Job]) -> None:
    """Say of a job, or of a whole batch, that it has not ended; a batch of thousands is one line."""
    if isinstance(named, Batch):
        fresh = job_control.batch(app, named.id)
        if {job.id for job in fresh.jobs} & {job.id for job in unended}:
            output.note(t("note.batch_wait_over", id=named.id, counts=job_view.state_counts(fresh.count("state"))))
        return
    known = {named.id, job_control.followed(app.db, jobs.get(app.db, named.id)).id}
    for job in unended:
        if job.id in known:
            state = children.as_it_stands(app, job).state
            output.note(t("note.wait_over", id=named.id, state=t(f"state.{state}")))


def _members(found: Iterable[Job | Batch]) -> list[Job]:
    """The jobs that were named, each once, those of a batch in their order."""
    jobs_named = [job for one in found for job in (one.jobs if isinstance(one, Batch) else (one,))]
    return list({job.id: job for job in jobs_named}.values())


def _ended_lines(app: App, found: Sequence[Job | Batch], ended: Sequence[Job]) -> list[str]:
    """One batch is summed up; jobs are each shown whole."""
    if len(found) == 1 and isinstance(found[0], Batch):
        return job_view.batch_lines(app, job_control.batch(app, found[0].id))
    return [line for job in ended for line in job_view.lines(app, job)]


def cancel(
    identifiers: MaybeIds = None,
    source: SourceOption = None,
    batch: BatchOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    _require_one_way(identifiers, is_chosen=source is not None or batch is not None)
    with session() as app:
        rescue_dead(app)
        states = tuple(sorted(job_control.UNFINISHED))
        for one in _named(app, identifiers or (), job_control.UNFINISHED):
            stay = len(children.unfinished(app.db, one)) if isinstance(one, Job) else 0
            if stay and isinstance(one, Job):
                output.note(t("note.children_stay", id=one.id, count=stay))
        done, code = _each(
            _named(app, identifiers, job_control.UNFINISHED)
            if identifiers
            else job_control.page(app, states=states, source=source, batch=batch, limit=jobs.MAX_LIMIT),
            lambda job: jobs.cancel(app, job.id),
        )
        lines = [t(f"done.cancel_{job.state}", id=job.id) for job in done]
        output.emit([job_view.plain(app, job) for job in done], lines or _none(code))
        raise typer.Exit(code)


def retry(
    identifiers: MaybeIds = None,
    failed: Annotated[bool, typer.Option("--failed", help=t("help.failed"))] = False,
    outcome: Annotated[str | None, typer.Option("--outcome", help=t("help.outcome"))] = None,
    over_budget: Annotated[bool, typer.Option("--over-budget", help=t("help.over_budget"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    _require_one_way(identifiers, is_chosen=failed)
    if outcome is not None and not failed:
        raise InvalidInput("outcome_needs_failed")
    with session() as app:
        rescue_dead(app)
        done, code = _each(
            [one for job in _named(app, identifiers, job_control.STOPPED) for one in _failed_of(app, job)]
            if identifiers
            else job_control.page(app, states=(JobState.FAILED,), outcome=outcome, limit=jobs.MAX_LIMIT),
            lambda job: jobs.retry(app, job.id, over_budget=over_budget),
        )
        lines = [t("done.retry", id=job.id) for job in done] or _none(code)
        if done:
            for one in job_view.held(app, done):
                output.note(one)
            lines.append(t(f"note.worker_{workers.ensure_running(app)}", id=done[0].id))
        output.emit([job_view.plain(app, job) for job in done], lines)
        raise typer.Exit(code)


def _require_one_way(identifiers: list[str] | None, *, is_chosen: bool) -> None:
    """Raise InvalidInput unless jobs are named by ids or chosen by an option, and not both."""
    if bool(identifiers) == is_chosen:
        raise InvalidInput("jobs_named_twice" if identifiers else "jobs_not_named")


def _named(app: App, identifiers: Sequence[str], states: frozenset[JobState]) -> list[Job | MexError]:
    """The jobs of some ids, of a batch those in `states`; for an id that names nothing the error."""
    meant: list[Job | MexError] = []
    for identifier in identifiers:
        try:
            found = job_control.find(app, identifier)
        except MexError as error:
            meant.append(error)
        else:
            is_job = isinstance(found, Job)
            meant += [job for job in _members([found]) if is_job or job.state in states]
    return meant


def _failed_of(app: App, job: Job | MexError) -> list[Job | MexError]:
    """What of a job is to be done again: of an archive its conversations that failed, too, and them alone if it went well."""
    if isinstance(job, MexError):
        return [job]
    failed: list[Job | MexError] = [one for one in children.failed(app.db, job) if one.id != job.id]
    return [job, *failed] if job.state in job_control.STOPPED or not failed else failed


def _each(meant: Sequence[Job | MexError], act: Callable[[Job], Job]) -> tuple[list[Job], int]:
    """Do something with each job; (jobs as they are now, worst exit code).

    A job that refuses is told and does not hold up the others; the error of the only one is the command's own.
    """
    done: dict[str, Job] = {}
    code = 0
    for one in meant:
        try:
            if isinstance(one, MexError):
                raise one
            changed = act(one)
        except MexError as error:
            if len(meant) == 1:
                raise
            code = max(code, output.fail(error))
        else:
            done[changed.id] = changed
    return list(done.values()), code


def _none(code: int) -> list[str]:
    """What is said when there was nothing to do; an error has said it already."""
    return [] if code else [t("note.jobs_empty")]


def ask(app: App, asked: Sequence[Request], trigger: Trigger) -> None:
    """Queue what was asked for, as a batch when it is several jobs, and see it through as the trigger says."""
    in_background = trigger is not Trigger.FOREGROUND
    if len(asked) == 1:
        job, merged = jobs.submit(app, asked[0], trigger=trigger)
        carry_out(app, job, merged=merged, in_background=in_background)
    else:
        batch, submitted = jobs.submit_all(app, asked, trigger=trigger)
        carry_out_batch(app, batch, submitted, in_background=in_background)


def carry_out(app: App, job: Job, *, merged: bool, in_background: bool) -> None:
    """Leave a submitted job to a worker, or run it here, and show how it went; exits with its code (product C1, D2)."""
    if in_background:
        enqueue.announce(app, job, merged=merged)
        return
    try:
        with progress.bars(int(job.kind == jobs.ARCHIVE)) as tell:
            run_here.whole(app, job.id, tell)
    finally:
        _leave_the_rest(app)
    _finish(app, jobs.get(app.db, job.id))


def carry_out_batch(app: App, batch_id: str, submitted: Sequence[tuple[Job, bool]], *, in_background: bool) -> None:
    """The same for the jobs of a batch, in the foreground one after the other; exits with the worst code."""
    if in_background:
        enqueue.announce_batch(app, batch_id, submitted)
        return
    waiting = [job for job, _ in submitted]
    try:
        with progress.steps(len(waiting), t("note.running_jobs")) as step:
            for job, _ in step(submitted):
                run_here.whole(app, job.id)
                waiting.remove(job)
    except BaseException:
        for job in waiting:
            jobs.give_up(app, job.id, "user")
        raise
    finally:
        _leave_the_rest(app)
    ran = job_control.batch(app, batch_id)
    output.emit(job_view.batch_plain(app, ran), job_view.batch_lines(app, ran))
    raise typer.Exit(max(code_of(app, job) for job in ran.jobs))


def _leave_the_rest(app: App) -> None:
    """See that a worker runs when the source grew meanwhile, or another request still waits."""
    if jobs.waits_for_a_worker(app):
        workers.ensure_running(app)


def _finish(app: App, job: Job) -> None:
    """Show how a foreground job went and exit with its code."""
    if job.state is JobState.SUCCEEDED or job.kind == jobs.ARCHIVE or output.wants_json():
        output.emit(job_view.plain(app, job), job_view.summary(app, job))
    bad = [job] if job.state is not JobState.SUCCEEDED else children.failed(app.db, job, limit=1)
    if bad:
        _complain(app, bad[0], _rest_of(job))
    elif children.unfinished(app.db, job):
        output.note(t("note.wait_over", id=job.id, state=t(f"state.{JobState.RUNNING}")))
    elif code_of(app, job):  # somebody has cancelled some of its conversations
        output.note(_rest_of(job) or "")
    raise typer.Exit(code_of(app, job))


def _rest_of(job: Job) -> str | None:
    """What is done about an export of which not all could be read, or vectors of which some are made: those are written,
    and asked for again is the rest, which may have been cancelled here; None for any other job and while it waits."""
    if job.kind == jobs.EMBED and job.state.is_final and job.progress_done:
        return t("semantic.rest", id=job.id)
    if job.kind != jobs.ARCHIVE or not job.state.is_final:
        return None
    path, one = shlex.quote(job.payload["path"]), job.payload.get("session")
    whole = f"mex import --mode extract {path}"
    return t(
        "note.rest_failed", command=whole if one is None else f"mex extract --file {path} --session {shlex.quote(one)}"
    )


def _complain(app: App, job: Job, rest: str | None) -> None:
    """Say why nothing was written: the job ended so, or one of the background that it joined has to wait. `rest` is said
    of an export in place of that.

    What holds a job back now counts more than the error of an earlier run.
    """
    held, error, hint = jobs.held_by(app, job), job.last_error or {}, ""
    code = error.get("code") or job.reason or str(job.state)
    if held:
        code, what = "job_paused", reasons.pause_text(held[0])
    elif error:
        what, hint = job_view.failure(job)
    else:
        what = t(
            "note.job_stands", id=job.id, state=t(f"state.{job.state}"), why=reasons.reason_text(job.reason) or "—"
        )
    key = "note.job_failed" if job.state.is_final else "note.job_waits"
    if not job.state.is_final and (held or job.available_at <= millis(app.clock.now())):
        key = "note.job_stays"
    then = rest or t(key, id=job.id, when=reasons.moment(iso_of_millis(job.available_at) or ""))
    output.complain(code, what, output.joined(hint, then), retryable=bool(held or error.get("retryable", False)))
