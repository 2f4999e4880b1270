"""`mex jobs verify`: for every source, what each of its turns has come to, and whether any was missed (product P3)."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mex_pipeline.adapters import registry
from mex_pipeline.app import App
from mex_pipeline.clock import millis
from mex_pipeline.domain.conversation import Cursor, Transcript, Turn
from mex_pipeline.domain.given import unpack
from mex_pipeline.domain.job import FINAL, Trigger
from mex_pipeline.errors import InvalidInput, MexError, SourceGone
from mex_pipeline.services import sweep
from mex_pipeline.services.files import source_key
from mex_pipeline.services.transcripts import read
from mex_pipeline.store import cursors, jobs, upkeep
from mex_pipeline.store import verify as rows
from mex_pipeline.store.verify import Source, SourceJob

Standing = Literal["whole", "pending", "gone", "gap", "unreadable"]
UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Gap:
    """Turns that nobody has judged and nobody is going to.

    `reason` is `unseen` (before the cursor, yet no job has judged them), `unread` (after it, and neither a job nor the
    worker will read them), `failed` or `cancelled` (their job ended so: `job_id`), `memories_missing` (of what the job
    wrote so many memories have left no trace). `command` repairs it.
    """

    reason: str
    turns: int
    command: str
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source. `judged` counts its turns by what became of them: the outcome of the job that judged them,
    `skipped_turn` for those it left out and said so, `unlisted` where the job is listed no more.

    `held` may still grow, `pending` waits for `job_ids`, or for the worker's next look when there are none.
    `cursor` is the position up to which it was read. `error` says why an unreadable one could not be: {code, params}.
    """

    source: str
    adapter: str
    standing: Standing
    cursor: int = 0
    judged: Mapping[str, int] = field(default_factory=dict)
    held: int = 0
    pending: int = 0
    job_ids: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    error: Mapping[str, Any] | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self) | {"job_ids": list(self.job_ids), "gaps": [asdict(gap) for gap in self.gaps]}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Every source that was looked at, by name, and how many conversations of exports were read: these have no file."""

    sources: tuple[SourceReport, ...]
    conversations: int = 0

    @property
    def has_gap(self) -> bool:
        """True when something was missed; the command then exits 2."""
        return any(one.gaps for one in self.sources)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "whole": not self.has_gap,
            "conversations": self.conversations,
            "sources": [one.to_plain() for one in self.sources],
        }


def verify(app: App, source: Path | None = None, *, fix: bool = False) -> VerifyReport:
    """Return how each known source stands, or the given one alone; of a file that holds many each of them.

    Each file is read twice, whole and from its cursor, one file after the other. A source that cannot be read is a line
    of the report. Only `fix` changes something: sources with turns before the cursor that no job has judged get a job
    that reads them from their beginning, and what it will judge is left to it. Raises InvalidInput (`source_not_known`:
    `path`) for a source that no job has read or is to read, and NotConfigured when the model is half configured.
    """
    kind = sweep.serving(app.settings.llm)
    found = app.db.all(rows.sources(kind))
    if source is not None:
        wanted = str(source.expanduser().resolve())
        found = [one for one in found if one.path == wanted or str(source_key(one.path).path) == wanted]
        if not found:
            raise InvalidInput("source_not_known", path=str(source))
    read_elsewhere = 0 if source is not None else app.db.first(rows.conversations(kind)) or 0
    report = VerifyReport(tuple(_looked_at(app, one, kind) for one in found), read_elsewhere)
    unseen = [one.source for one in report.sources if any(gap.reason == UNSEEN for gap in one.gaps)]
    read_anew = [path for path in unseen if fix and _read_anew(app, path, kind)]
    return verify(app, source) if read_anew else report


def _read_anew(app: App, path: str, kind: str) -> bool:
    """Forget how far a source was read and queue its extraction; False while a job has it, which would move it again."""
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        known = tx.first(upkeep.idle_sources(kind, [path]))
        if known is None:
            return False
        job = sweep.look_again(known, Trigger.COMMAND, now)
        tx.run(cursors.rewind(path, kind))
        tx.first(jobs.insert_or_merge(job))
        tx.run(jobs.event(job.id, now, "queued"))
    return True


def _looked_at(app: App, source: Source, kind: str) -> SourceReport:
    if source.is_conversation:
        return _owed(app, _unread(app, source, "pending"))
    try:
        whole, rest = _read(app, source)
    except SourceGone:
        return _unread(app, source, "gone")
    except MexError as error:
        return _unread(app, source, "unreadable", {"code": error.code, "params": dict(error.params)})
    return _Look(app, source, kind, whole, rest).report()


def _read(app: App, source: Source) -> tuple[Transcript, Transcript]:
    """The source from its beginning, and as the next job will read it."""
    adapter = registry.find(source.adapter)
    quiet = app.settings.extraction.quiet_seconds
    key = source_key(source.path)
    whole = read(key, adapter, Cursor(), quiet_seconds=quiet, redact=False)
    return whole, read(key, adapter, source.cursor or Cursor(), quiet_seconds=quiet, redact=False)


def _position(source: Source) -> int:
    return 0 if source.cursor is None else source.cursor.off


def _unread(app: App, source: Source, standing: Standing, error: Mapping[str, Any] | None = None) -> SourceReport:
    """What is gone, or cannot be read, was missed only when a job still owed it; how many turns, nobody knows."""
    listed = app.db.all(rows.jobs_of(source.path))
    last = listed[-1] if listed else None
    gaps: tuple[Gap, ...] = ()
    if last is not None and last.state in ("failed", "cancelled"):
        gaps = (Gap(last.state, 0, _retry(last), last.id),)
    waiting = tuple(job.id for job in listed if job.state not in FINAL)
    return SourceReport(
        source.path, source.adapter, standing, _position(source), job_ids=waiting, gaps=gaps, error=error
    )


def _owed(app: App, conversation: SourceReport) -> SourceReport:
    """A conversation that a job has or had to read: its turns are with the job."""
    gaps = tuple(replace(gap, turns=_carried(app, gap.job_id or "")) for gap in conversation.gaps)
    return replace(conversation, standing="gap", gaps=gaps) if gaps else conversation


def _carried(app: App, job_id: str) -> int:
    text = app.db.first(jobs.text(job_id))
    return 0 if text is None else len(unpack(text).turns)


def _retry(job: SourceJob) -> str:
    return f"mex jobs retry {job.id}"


class _Look:
    """One source that was read: its turns against the books, which are read after it, so that nothing seems missed that
    a job commits meanwhile."""

    def __init__(self, app: App, source: Source, kind: str, whole: Transcript, rest: Transcript) -> None:
        self._app = app
        self._source = source
        self._whole = whole
        self._rest = {turn.key for turn in rest.turns}
        self._read_to = 0 if rest.reset else _position(source)
        with app.db.snapshot() as view:
            keys = [turn.key for turn in whole.turns]
            self._judged = dict(view.all(rows.judged(whole.agent, keys, kind)))
            self._jobs = view.all(rows.jobs_of(source.path))
            self._lost = view.all(rows.lost(source.path))
            self._idle = view.first(upkeep.idle_sources(kind, [source.path]))

    def report(self) -> SourceReport:
        """Return how the source stands."""
        open_turns = [turn for turn in self._whole.turns if turn.key not in self._judged]
        held = [turn for turn in open_turns if turn.held]
        passed = [turn for turn in open_turns if not turn.held and self._is_passed(turn)]
        ahead = [turn for turn in open_turns if not turn.held and not self._is_passed(turn)]
        waiting = tuple(job.id for job in self._jobs if job.state not in FINAL)
        is_awaited = bool(waiting) or (self._idle is not None and sweep.has_grown(self._idle))
        gaps = (*self._unseen(passed), *(() if is_awaited else self._unread(ahead)), *self._missing())
        pending = len(ahead) if is_awaited else 0
        return SourceReport(
            source=self._source.path,
            adapter=self._source.adapter,
            standing="gap" if gaps else "pending" if pending or waiting else "whole",
            cursor=_position(self._source),
            judged=dict(sorted(Counter(self._judged.values()).items())),
            held=len(held),
            pending=pending,
            job_ids=waiting,
            gaps=gaps,
        )

    def _is_passed(self, turn: Turn) -> bool:
        """True for a turn that the next job will not come across any more."""
        return turn.end <= self._read_to or turn.key not in self._rest

    def _unseen(self, turns: list[Turn]) -> Iterable[Gap]:
        if turns:
            yield Gap(UNSEEN, len(turns), f"mex jobs verify --fix {shlex.quote(self._source.path)}")

    def _unread(self, turns: list[Turn]) -> Iterable[Gap]:
        """The turns that the last job did not get done, and those that nobody was sent after."""
        last = next((job for job in reversed(self._jobs) if job.state in FINAL), None)
        if last is not None and last.state != "succeeded":
            covered = [turn for turn in turns if last.end_off is None or turn.end <= last.end_off]
            if covered:
                yield Gap(last.state, len(covered), _retry(last), last.id)
            turns = [turn for turn in turns if turn not in covered]
        if turns:
            file = shlex.quote(self._source.path)
            about = " --subject other" if self._idle is not None and self._idle.subject == "other" else ""
            yield Gap("unread", len(turns), f"mex extract --from {self._source.adapter} --file {file}{about} --async")

    def _missing(self) -> Iterable[Gap]:
        return (Gap("memories_missing", number, "mex doctor", job_id) for job_id, number in self._lost)
