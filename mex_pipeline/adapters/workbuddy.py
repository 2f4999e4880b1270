"""CodeBuddy Code and WorkBuddy sessions (`~/.codebuddy`, `~/.workbuddy`: `projects/<slug>/<id>.jsonl`).

Typed text and assistant text, no noise, no doubles (session-formats §3.8). The two write the same format.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.claude_local import cleanup_days
from mex_pipeline.adapters.cleaning import assistant_text, capped
from mex_pipeline.adapters.files import digest, is_own_folder, opened
from mex_pipeline.adapters.jsonl import Collector, window
from mex_pipeline.adapters.records import Record, records, text_of
from mex_pipeline.adapters.values import moment
from mex_pipeline.adapters.workbuddy_records import HEAD, RECORD_REASONS, detect, flag, is_workbuddy, raw_text, typed
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Kind, Role, Transcript, Turn
from mex_pipeline.errors import SourceFormat

_KEPT_DAYS = 30
"""What CodeBuddy's `cleanupPeriodDays` is where its settings do not say."""


class WorkBuddyAdapter:
    """Reads one session file of WorkBuddy."""

    name = "workbuddy"

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file holds more of its records than unusable lines."""
        return detect(path, is_codebuddy=False)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns from `since.resume` on.

        An answer that is not `completed` is held until another message follows, `quiet` is true, or `until` names the
        end; of one that is written again under its id the last version counts. `dropped` counts every record that gives
        no turn, under one reason each, and `capped` texts. Subagents' files and sessions of meX's own prompt give none.
        The path names the session, not the records.
        Raises SourceGone, SourceUnreadable, or SourceFormat(`path`, `adapter`) when the file has complete lines and
        none is a record of the format.
        """
        with opened(path) as file:
            part = window(file, since, until)
            left_out = _whole_file_reason(path, records(file, 0, min(part.stop, HEAD)))
            reader = _Reader(Collector(part), path.stem, part.start)
            is_known = False
            for record in part.records(file):
                is_known = is_known or is_workbuddy(record)
                reader.follow(record, left_out)
            if part.start == 0 and reader.collector.records and not is_known:
                raise SourceFormat(path=str(path), adapter=self.name)
            held_from = reader.close()
            return reader.collector.transcript(file, self.name, None if quiet or part.fixed else held_from)

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the session files under `WORKBUDDY_HOME` or `WORKBUDDY_CONFIG_DIR`, else ~/.workbuddy."""
        named = environment.get("WORKBUDDY_HOME") or environment.get("WORKBUDDY_CONFIG_DIR")
        yield from (Path(named) if named else home / ".workbuddy").glob("projects/*/*.jsonl")

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:  # noqa: ARG002 - it says nowhere
        """Return None: nothing is known of WorkBuddy deleting sessions by itself."""
        return None


class CodeBuddyAdapter(WorkBuddyAdapter):
    """Reads one session file of CodeBuddy Code."""

    name = "codebuddy"

    def detect(self, path: Path) -> bool:
        """True when the file lies below a `.codebuddy` folder and holds more of its records than unusable lines."""
        return detect(path, is_codebuddy=True)

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the session files under `CODEBUDDY_CONFIG_DIR`, else ~/.codebuddy."""
        yield from _codebuddy(home, environment).glob("projects/*/*.jsonl")

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:
        """Return the `cleanupPeriodDays` of its settings, which are made as Claude Code's; 30 where they do not say."""
        return cleanup_days(_codebuddy(home, environment) / "settings.json") or _KEPT_DAYS


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that may be written again under its id, and where the record before it ends."""

    place: int
    record: Record
    turn: Turn


@dataclass(slots=True)
class _Reader:
    """Turns the records of one pass into turns; `_place` is where the record before this one ends."""

    collector: Collector
    session_id: str
    _place: int
    _answer: _Answer | None = None

    def follow(self, record: Record, left_out: str | None) -> None:
        """Take the next record."""
        value = record.value
        kind = text_of(value, "type") or ""
        self.collector.note(record, self.session_id, self.collector.project or text_of(value, "cwd"))
        if reason := record.fault or left_out:
            self.collector.drop(reason, record)
        elif kind == "message":
            self._follow_message(value, record)
        else:
            self.collector.drop(RECORD_REASONS.get(kind, "unknown_type"), record)
        self._place = record.end

    def close(self) -> int | None:
        """Take the answer that may still change, and return where it begins."""
        place = self._answer.place if self._answer else None
        self._settle()
        return place

    def _follow_message(self, value: dict[str, Any], record: Record) -> None:
        role = text_of(value, "role")
        if reason := flag(value):
            self.collector.drop(reason, record)
        elif role == "user":
            self._settle()
            text, typed_as, reasons = typed(raw_text(value))
            for reason in reasons:
                self.collector.drop(reason, record)
            if text:
                self._keep(self._turn("u", text, value, typed_as), record)
        elif role == "assistant":
            self._follow_answer(value, record)
        else:
            self.collector.drop("system" if role in ("system", "developer") else "unknown_role", record)

    def _follow_answer(self, value: dict[str, Any], record: Record) -> None:
        text = assistant_text(raw_text(value))
        if not text:
            self.collector.drop("empty", record)
            return
        turn = self._turn("a", text, value)
        place = self._place
        if self._answer and self._answer.turn.key == turn.key:
            place = self._answer.place
            self.collector.drop("duplicate", self._answer.record)
        else:
            self._settle()
        self._answer = _Answer(place, record, turn)
        if value.get("status") == "completed":
            self._settle()

    def _settle(self) -> None:
        """The answer that could have been written again is final."""
        if self._answer:
            self._keep(self._answer.turn, self._answer.record)
        self._answer = None

    def _keep(self, turn: Turn, record: Record) -> None:
        text, was_cut = capped(turn.text)
        if was_cut:
            self.collector.drop("capped", record)
        self.collector.keep(replace(turn, text=text) if was_cut else turn, record)

    def _turn(self, role: str, text: str, value: dict[str, Any], kind: Kind = "typed") -> Turn:
        name = text_of(value, "id")
        key = f"{role}:{name}" if name else f"{role}:#" + digest(f"{value.get('timestamp')}\n{text}")
        speaker: Role = "user" if role == "u" else "assistant"
        return Turn(key, speaker, text, moment(value.get("timestamp")), name, self.session_id, kind)


def _codebuddy(home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("CODEBUDDY_CONFIG_DIR") or home / ".codebuddy")


def _whole_file_reason(path: Path, head: Iterable[Record]) -> str | None:
    """Return why nothing of the file is conversation: a subagent's file, or a session of meX's own."""
    if "subagents" in path.parts[:-1]:
        return "subagent"
    for record in head:
        value = record.value
        if is_own_folder(text_of(value, "cwd")):
            return "own_session"
        if value.get("type") == "message" and value.get("role") == "user" and not flag(value):
            text, typed_as, _ = typed(raw_text(value))
            if text:
                return "own_prompt" if text.startswith(PROMPT_MARK) and typed_as == "typed" else None
    return None
