"""How jobs, batches and their stories are shown (product D3, E3, H9)."""

from collections.abc import Iterable, Mapping
from typing import Any

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import output, undo_text
from mex_pipeline.cli.options import t
from mex_pipeline.cli.reasons import moment, pause_text, reason_text
from mex_pipeline.clock import iso_of_millis, millis, to_local
from mex_pipeline.domain.job import OVER_BUDGET, Job, JobState
from mex_pipeline.domain.structured import render
from mex_pipeline.services import children, job_control, jobs, workers
from mex_pipeline.services.files import key_of
from mex_pipeline.services.job_control import Batch
from mex_pipeline.services.job_results import job_plain

_LOOKS = {
    JobState.SUCCEEDED: output.GREEN,
    JobState.RETRYING: output.YELLOW,
    JobState.FAILED: output.RED,
    JobState.CANCELLED: output.FAINT,
}
_SILENT = frozenset({"claimed", "merged"})
"""What happened whose note is for programs: who took the job, which batch it joined."""


def plain(app: App, job: Job) -> dict[str, Any]:
    """Return a job's JSON object; a job that has no result yet still tells what it has cost."""
    shape = job_plain(job)
    if "usage" not in shape:
        shape["usage"] = jobs.tokens(app.db, job)
    if "conflicts" in shape:
        shape["conflicts"] = [one | {"detail": conflict_text(one)} for one in shape["conflicts"]]
    if job.kind == jobs.ARCHIVE:
        shape["children"] = children.of(app.db, job).to_plain()
    return shape


def exit_code(job: Job) -> int:
    """0 for success, 1 for cancelled, 2 for failed and for what waits for a person (product H8)."""
    return _exit_code(job.state)


def _exit_code(state: JobState) -> int:
    return {JobState.SUCCEEDED: 0, JobState.CANCELLED: 1}.get(state, 2)


def code_of(app: App, job: Job) -> int:
    """Return a job's exit code; of an archive the worst of its own and of its conversations'."""
    if job.kind != jobs.ARCHIVE:
        return exit_code(job)
    return max(exit_code(job), *(_exit_code(JobState(state)) for state in children.of(app.db, job).states), 0)


def line(job: Job) -> output.Painted:
    """Return a job on one line: when it was asked for, its id, where it stands, and of what."""
    kind = "" if job.kind == jobs.EXTRACT else f" · {t(f'kind.{job.kind}')}"
    return output.Painted(
        (f"{to_local(iso_of_millis(job.created_at) or '')}  ", ""),
        (job.id, output.FAINT),
        (f"{kind} · ", ""),
        (t(f"state.{job.state}"), _LOOKS.get(job.state, "")),
        ("".join(f" · {part}" for part in (_why(job), _counts(job), source(job)) if part), ""),
    )


def source(job: Job) -> str:
    """Return what a job reads: a file, a session of a file, a conversation of an export, or a text; of an undo what it undid."""
    if "path" in job.payload:
        return str(key_of(job.payload))
    if job.payload.get("source"):
        return str(job.payload["source"])  # a session read again that is gone from there
    if job.kind == jobs.UNDO:
        return undo_text.shortened(job.payload["jobs"])
    if job.kind == jobs.EMBED:
        return t("semantic.source")
    if job.kind == jobs.COMPACT:
        return job.payload["topic"] or t("label.all_records")
    if "session" in job.payload:
        return f"{job.payload['adapter']}: {job.payload['session']}"
    return t("label.given_text")


def _counts(job: Job) -> str:
    if not job.result:
        return ""
    if job.kind == jobs.RESTORE:
        return _restored(job.result)
    if job.kind == jobs.UNDO:
        return t("undo.counts", **undo_text.counts(job.result))
    if job.kind == jobs.EMBED:
        return _embedded(job.result)
    if job.kind == jobs.ARCHIVE:
        return t("label.conversations", count=job.result["conversations"])
    return t("label.counts", **{key: len(job.result.get(key, [])) for key in ("added", "updated", "discarded")})


def _restored(result: dict[str, Any]) -> str:
    conflicts = result["counts"]["conflicts"]
    return t("done.imported", imported=result["imported"], skipped=result["skipped"], conflicts=conflicts)


def _embedded(result: dict[str, Any]) -> str:
    return t("semantic.made", count=result["embedded"], model=result["usage"]["model"])


def _why(job: Job) -> str:
    """How a job ended, or what it waits for."""
    if job.kind in (jobs.RESTORE, jobs.ARCHIVE, jobs.UNDO, jobs.EMBED) and job.state is JobState.SUCCEEDED:
        return ""  # its counts say it
    if job.reason in OVER_BUDGET and job.last_error:
        told = job.last_error["params"]
        return t("budget.why", reason=reason_text(job.reason), wanted=told["spent"] + told["next"], cap=told["cap"])
    if job.outcome is not None:
        return t("outcome.preview" if job.reason == "preview" else f"outcome.{job.outcome}")
    return reason_text(job.reason) if job.state.is_waiting else ""


def lines(app: App, job: Job) -> list[str]:
    """Return a job for people: where it stands, what it wrote, what it did not and why."""
    shown: list[str] = [line(job)]
    if not job.state.is_final:
        shown += [_stage(app, job), *held(app, [job])]
    if job.progress_total and not job.state.is_final and job.kind != jobs.ARCHIVE:
        said = "semantic.progress" if job.kind == jobs.EMBED else "note.progress"
        shown.append(t(said, done=job.progress_done or 0, total=job.progress_total))
    if job.coalesced:
        shown.append(t("note.merged", count=job.coalesced))
    if job.batch_id:
        shown.append(t("label.batch", id=job.batch_id))
    if job.state is not JobState.SUCCEEDED and job.last_error:
        shown.append(t("label.last_error", text=output.joined(*failure(job))))
    if job.state is not JobState.SUCCEEDED and job.attempt:
        shown.append(t("note.attempts", attempt=job.attempt, most=job.max_attempts))
    if job.state.is_waiting and job.reason != jobs.CHILDREN and job.available_at > millis(app.clock.now()):
        shown.append(t("note.next_run", when=moment(iso_of_millis(job.available_at) or "")))
    if job.result:
        return shown + summary(app, job)
    spent = jobs.tokens(app.db, job)
    return shown + ([t("note.spent", **spent)] if spent["calls"] else [])


def failure(job: Job) -> tuple[str, str]:
    """Return (what happened last, what to do) for a job with an error; the endpoint of vectors has settings of its own."""
    error = job.last_error or {}
    what, hint = messages.render_code(error["code"], error["params"])
    is_of_vectors = job.kind == jobs.EMBED and error["code"].startswith("llm_")
    return what, t("semantic.endpoint") if is_of_vectors else hint


def _stage(app: App, job: Job) -> str:
    """What an unfinished job does now, or what it waits for."""
    if job.cancel_requested:
        return t("stage.stopping")
    if job.state is JobState.RUNNING:
        return t(_running_stage(job))
    if jobs.is_paused(app, job) or jobs.held_by(app, job):
        return t("stage.paused")
    if job.available_at > millis(app.clock.now()):
        return t("stage.children" if job.reason == jobs.CHILDREN else "stage.later")
    if jobs.source_is_busy(app, job):
        return t("stage.behind")
    return t("stage.soon" if workers.will_run(app) else "stage.no_worker")


def _running_stage(job: Job) -> str:
    if job.kind in (jobs.RESTORE, jobs.ARCHIVE):
        return "stage.restoring" if job.kind == jobs.RESTORE else "stage.handing_out"
    if job.kind == jobs.EMBED:
        return "stage.embedding"
    if job.progress_note is None or job.progress_total is None:
        return "stage.reading"
    return "stage.writing" if job.progress_done == job.progress_total else "stage.asking"


def held(app: App, waiting: Iterable[Job]) -> list[str]:
    """Return what holds jobs back and what lets them go on, each pause once."""
    return list(dict.fromkeys(pause_text(one) for job in waiting for one in jobs.held_by(app, job)))


def summary(app: App, job: Job) -> list[str]:
    """Return what a job has come to, as its kind tells it."""
    result = job.result or {}
    match job.kind:
        case jobs.RESTORE:
            return _restore_summary(result) if result else []
        case jobs.ARCHIVE:
            return _archive_summary(app, job)
        case jobs.UNDO:
            return undo_text.lines(app, result)
        case jobs.EMBED:
            is_skipped = job.outcome == "skipped" and job.reason
            return [t(f"skipped.{job.reason}")] if is_skipped else [_embedded(result)] if result else []
        case _:
            return _extracted(app, job, result)


def _extracted(app: App, job: Job, result: dict[str, Any]) -> list[str]:
    """The seed's summary (seed 004 §6.1 step 8), with what was written and whose words say so."""
    skipped = [t(f"skipped.{job.reason}")] if job.outcome == "skipped" and job.reason else []
    counts = {key: len(result.get(key, [])) for key in ("added", "updated", "retired", "discarded")}
    shown = [*skipped, t("done.extracted", **counts)]
    written = [("+", one, None) for one in result.get("added", [])]
    written += [("~", one["after"], one["before"]) for one in result.get("updated", [])]
    written += [("-", one, None) for one in result.get("retired", [])]
    for sign, one, earlier in written:
        slot = app.schema.find(one["topic"], one["sub_topic"])
        place = f"{one['topic']}.{one['sub_topic']}" if one["sub_topic"] else one["topic"] or "—"
        before = f"{render(slot, earlier['content'], messages.active())} → " if earlier else ""
        content = render(slot, one["content"], messages.active())
        shown.append(f"{sign} {place}: {before}{content}  [{one['confidence']}]")
        if one["evidence"]:
            shown.append(output.evidence_line(one["evidence"]))
    shown += [output.discarded_line(one) for one in result.get("discarded", [])]
    if result.get("inferred_count"):
        shown.append(t("note.inferred", count=result["inferred_count"]))
    if result.get("proposed"):
        shown.append(t("note.proposed", count=result["proposed"]))
    if result.get("skipped_turns"):
        shown.append(t("note.skipped_turns", count=len(result["skipped_turns"])))
    if result.get("redacted"):
        shown.append(
            t("note.redacted", kinds=", ".join(f"{kind} {number}" for kind, number in result["redacted"].items()))
        )
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


def _archive_summary(app: App, job: Job) -> list[str]:
    """What became of an export's conversations, and what those that were handed out have come to together."""
    told = children.of(app.db, job)
    counts = {name: value for name, value in (job.result or {}).items() if name != "dropped"}
    shown = [t("note.conversations", **counts)] if counts else []
    if job.outcome == "skipped" and not counts["queued"]:
        shown.append(t(f"skipped.{job.reason}"))
    if told.total:
        shown += [t("note.job_counts", counts=state_counts(told.states)), t("done.extracted", **told.written)]
    if told.usage["calls"] or told.usage["reused"]:
        shown.append(t("note.spent", **{key: value for key, value in told.usage.items() if key != "reused"}))
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


def batch_plain(app: App, batch: Batch) -> dict[str, Any]:
    """Return the JSON object of a batch: the sums over its jobs, and the jobs."""
    shown = [plain(app, job) for job in batch.jobs]
    handed_out = [one["children"] for one in shown if "children" in one]
    usage = {
        name: sum(one["usage"].get(name, 0) for one in (*shown, *handed_out))
        for name in ("calls", "reused", "prompt_tokens", "completion_tokens")
    }
    written = {name: number + sum(one[name] for one in handed_out) for name, number in batch.written().items()}
    return {
        "batch_id": batch.id,
        "states": batch.count("state"),
        "outcomes": batch.count("outcome"),
        **written,
        "usage": usage,
        "jobs": shown,
    }


def batch_lines(app: App, batch: Batch) -> list[str]:
    """Return a batch for people: its jobs by state, what they wrote and cost, and a line for each."""
    sums = batch_plain(app, batch)
    usage = sums["usage"]
    shown = [
        t("label.batch", id=batch.id),
        t("note.job_counts", counts=state_counts(batch.count("state"))),
        t("done.extracted", **{name: sums[name] for name in batch.written()}),
    ]
    if usage["calls"]:
        shown.append(t("note.spent", **{key: value for key, value in usage.items() if key != "reused"}))
    return [*shown, *held(app, batch.jobs), *(line(job) for job in batch.jobs)]


def state_counts(counts: Mapping[str, int]) -> str:
    """Return numbers of jobs by state, in words."""
    return ", ".join(f"{t(f'state.{state}')} {number}" for state, number in counts.items()) or "—"


def story_lines(events: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the story of a job in words, local times, one line for each event."""
    for row in events:
        name, note = row["event"], "" if row["event"] in _SILENT else reason_text(row["note"])
        if name == "queued" and note:
            name = "put_back"
        what = t(f"happened.{name}") if messages.knows(f"happened.{name}") else name
        yield f"{moment(row['at'])}  {t('label.because', what=what, why=note) if note else what}"


def found_lines(app: App, found: Job | Batch) -> list[str]:
    """Return a job or a batch for people."""
    return batch_lines(app, found) if isinstance(found, Batch) else lines(app, found)


def found_plain(app: App, found: Job | Batch) -> dict[str, Any]:
    """Return the JSON object of a job or a batch; a single job brings its story."""
    if isinstance(found, Batch):
        return batch_plain(app, found)
    return plain(app, found) | {"events": list(job_control.follow(app, found, forever=False))}
