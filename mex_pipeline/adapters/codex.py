"""Codex sessions (`~/.codex/sessions/**/rollout-*.jsonl`): typed text and assistant text, no noise, no doubles.

This is level 1 of session-formats §2. Every prompt stands twice in a rollout, as an item for the model and as an event
that a person typed it; which of the items are prompts is told by the events, and only without them by how they begin.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import codex_records
from mex_pipeline.adapters.cleaning import assistant_text, capped, left_out, user_text
from mex_pipeline.adapters.codex_records import HEAD, is_codex, stream, unwrapped
from mex_pipeline.adapters.codex_speech import (
    RECORD_REASONS,
    answers,
    asked,
    assistant_raw,
    event_text,
    item_reason,
    item_text,
    world_zone,
)
from mex_pipeline.adapters.files import digest, is_own_folder
from mex_pipeline.adapters.jsonl import Collector, Window, window
from mex_pipeline.adapters.records import Record, records, text_of
from mex_pipeline.adapters.values import mapping, moment
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Role, Transcript, Turn
from mex_pipeline.errors import SourceFormat

_MADE_UP = re.compile(r"rollout-\d+")
"""A task's name that a migration made up for an old session: a number, the same in many files."""


class CodexAdapter:
    """Reads one rollout of Codex, plain or compressed, of any age."""

    name = "codex"

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file holds more Codex records than unusable lines."""
        return codex_records.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns from `since.resume` on; positions are offsets in the decompressed stream.

        What followed the last prompt is held until its task ends (`task_complete`, `turn_aborted`), another prompt
        comes, `quiet` is true, `until` names the end, or the file is compressed. `dropped` counts every record that
        gives no turn, under one reason each, and `capped` texts. Subagents' rollouts and sessions of meX's own prompt
        give no turns.
        Raises SourceGone, SourceUnreadable, or SourceFormat as `codex_records.stream` says, and without a code when the
        file has complete lines and none is a Codex record.
        """
        with stream(path, self.name) as source:
            part = window(source.file, since, until)
            head = _Head.of(records(source.file, 0, min(part.stop, HEAD)))
            reader = _Reader.of(part, head)
            is_known = False
            for record in part.records(source.file):
                is_known = is_known or is_codex(record)
                reader.follow(record)
            if part.start == 0 and reader.collector.records and not is_known:
                raise SourceFormat(path=str(path), adapter=self.name)
            held_from = reader.close()
            is_final = quiet or part.fixed or source.is_finished
            return reader.collector.transcript(source.file, self.name, None if is_final else held_from)

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the rollouts under `CODEX_HOME`, else ~/.codex; of a plain and a compressed one of a session the plain.

        Subagents' rollouts lie among them: only their content tells, and reading them gives no turns.
        """
        root = Path(environment.get("CODEX_HOME") or home / ".codex")
        for folder in ("sessions", "archived_sessions"):
            plain = set((root / folder).rglob("rollout-*.jsonl"))
            yield from plain
            yield from (root / folder).rglob("rollout-*.json")
            packed = (root / folder).rglob("rollout-*.jsonl.zst")
            yield from (path for path in packed if path.with_suffix("") not in plain)

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:  # noqa: ARG002 - it keeps all
        """Return None: Codex deletes no session by itself."""
        return None


@dataclass(frozen=True, slots=True)
class _Head:
    """What the beginning of a rollout tells of all of it. A fork copies its parent's records, so only the first counts."""

    session_id: str | None = None
    project: str | None = None
    at: str | None = None
    left_out: str | None = None

    @classmethod
    def of(cls, beginning: Iterable[Record]) -> "_Head":
        """Return the facts of the first `session_meta`, with the reason why nothing of the file is conversation."""
        meta: dict[str, Any] = {}
        first = ""
        for record in beginning:
            kind, payload = unwrapped(record.value)
            if kind == "session_meta":
                meta = meta or payload
            elif not first:
                first = (event_text(payload) or "") if kind == "event_msg" else _typed_item(kind, payload)
            if meta and first:
                break
        folder = text_of(meta, "cwd")
        left_out = "own_prompt" if first.startswith(PROMPT_MARK) else None
        if is_own_folder(folder):
            left_out = "own_session"
        if mapping(meta.get("source")).keys() - {"custom"} or text_of(meta, "thread_source") not in (None, "user"):
            left_out = "subagent"
        return cls(text_of(meta, "id"), folder, moment(meta.get("timestamp")), left_out)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """An item in the user's name, until it is known whether a person typed it.

    `mark` tells its words, `reasons` why some of them are left out.
    """

    place: int
    record: Record
    turn: Turn
    mark: str
    reasons: list[str]
    seems_typed: bool


@dataclass(slots=True)
class _Task:
    """What one prompt set off, the client's "turn": where it counts what was said, so that the counts begin anew.

    `said` counts by how the file says it (`item` or `event`), `kept` what was taken: the second way to say the same is
    no second utterance. `asked` are the calls that ask the person something, each with its questions about secrets. A
    client that does not name its tasks has a single one, in which `chain` is all that was said.
    """

    name: str | None = None
    has_event: bool = False
    said: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    prompts: dict[str, str] = field(default_factory=dict)
    asked: dict[str | None, frozenset[str]] = field(default_factory=dict)
    chain: str = ""


@dataclass(slots=True)
class _Reader:
    """Turns the records of one pass into turns.

    An item in the user's name waits until an event confirms it or the model goes on. `_place` is where the record before
    this one ends, `_open` where the stretch begins that may still change. `_aborted` holds the keys of prompts whose task
    was aborted: one that is typed again right after is the same utterance. `_zone` is the user's, from then on.
    """

    collector: Collector
    entrances: list[int]
    head: _Head
    _place: int
    _task: _Task = field(default_factory=_Task)
    _waiting: list[_Prompt] = field(default_factory=list)
    _open: int | None = None
    _aborted: dict[str, str] = field(default_factory=dict)
    _zone: str | None = None

    @classmethod
    def of(cls, part: Window, head: _Head) -> "_Reader":
        """Return the reader of a window."""
        entrances = [part.start]
        return cls(Collector(part, entrances), entrances, head, part.start)

    def follow(self, record: Record) -> None:
        """Take the next record."""
        kind, payload = unwrapped(record.value)
        self.collector.note(record, self.head.session_id, self.head.project)
        if reason := record.fault or self.head.left_out:
            self.collector.drop(reason, record)
        elif kind == "response_item":
            self._follow_item(payload, record)
        else:
            self._follow_event(kind, payload, record)
        self._place = record.end

    def close(self) -> int | None:
        """Decide what still waits, by how it begins, and return where what may still change starts."""
        places = [prompt.place for prompt in self._waiting] + [self._open]
        self._decide(by_event=False)
        return min((place for place in places if place is not None), default=None)

    def _follow_item(self, payload: dict[str, Any], record: Record) -> None:
        kind = text_of(payload, "type") or ""
        role = payload.get("role") if kind == "message" else "assistant"
        if role == "user":
            self._wait(payload, record)
        elif role != "assistant":
            self.collector.drop("system" if role in ("developer", "system") else "unknown_role", record)
        else:
            if self._waiting:
                self._decide(by_event=self._task.has_event)
            if kind == "message":
                self._say(payload, record)
            elif not self._hear(payload, record):
                self.collector.drop(item_reason(kind), record)

    def _hear(self, payload: dict[str, Any], record: Record) -> bool:
        """Take the person's answers to a call that asked for them; False where a record holds none."""
        call = text_of(payload, "call_id")
        if "output" not in payload:
            secrets = asked(payload)
            if secrets is not None:
                self._task.asked[call] = secrets
            return False
        texts = answers(payload, self._task.asked[call]) if call in self._task.asked else []
        for text in texts:
            key, _ = self._name("user", "answer", f"{call}\n{text}")
            self._open = self._place if self._open is None else self._open
            self._keep(replace(self._turn(key, text, payload, record), kind="tool_answer"), record)
        return bool(texts)

    def _say(self, payload: dict[str, Any], record: Record) -> None:
        raw = assistant_raw(payload)
        key, _ = self._name("assistant", "item", raw)
        text = assistant_text(raw)
        if text:
            self._open = self._place if self._open is None else self._open
            self._keep(self._turn(key, text, payload, record), record)
        else:
            self.collector.drop("empty", record)

    def _follow_event(self, kind: str, payload: dict[str, Any], record: Record) -> None:
        event = payload.get("type") if kind == "event_msg" else kind
        reason = RECORD_REASONS.get(kind, "unknown_type")
        match event:
            case "world_state":
                self._zone = world_zone(payload) or self._zone
            case "task_started" | "turn_context":
                self._zone = text_of(payload, "timezone") or self._zone
                self._begin(text_of(payload, "turn_id"), record)
            case "task_complete" | "turn_aborted":
                self._end(is_aborted=event == "turn_aborted")
            case "user_message" | "item_completed" if (raw := event_text(payload)) is not None:
                self._confirm(raw, payload, record)
                return
            case "agent_message":
                reason = "duplicate"
        self.collector.drop(reason, record)

    def _begin(self, name: str | None, record: Record) -> None:
        """Begin another task; a later read may begin here unless it has to know what was said before."""
        if name is None or name == self._task.name or _MADE_UP.fullmatch(name):
            return
        self._task = _Task(name)
        if not self._aborted and not self._waiting:
            self.entrances.append(record.start)

    def _end(self, *, is_aborted: bool) -> None:
        self._decide(by_event=self._task.has_event)
        self._open = None
        if is_aborted:
            self._aborted |= self._task.prompts
        else:
            self._aborted = {}

    def _wait(self, payload: dict[str, Any], record: Record) -> None:
        """Keep an item in the user's name for the event that may follow; one whose event came before is known."""
        whole, typed, is_certain = item_text(payload)
        raw = typed or whole
        text, reasons = user_text(raw), left_out(raw)
        if not text:
            self.collector.drop(reasons[0] if reasons else "injected", record)
            return
        key, mark = self._name("user", "item", raw)
        prompt = _Prompt(self._place, record, self._turn(key, text, payload, record), mark, reasons, bool(typed))
        if self._is_known(mark, "item"):
            self.collector.drop("duplicate", record)
        elif is_certain:
            self._keep_prompt(prompt)
        else:
            self._waiting.append(prompt)

    def _confirm(self, raw: str, payload: dict[str, Any], record: Record) -> None:
        """Take what an event says was typed; what waited before it was not."""
        text, reasons = user_text(raw), left_out(raw)
        if not text:
            self.collector.drop(reasons[0] if reasons else "injected", record)
            return
        key, mark = self._name("user", "event", raw)
        self._task.has_event = True
        waiting, self._waiting = self._waiting, []
        at = next((at for at, prompt in enumerate(waiting) if prompt.mark == mark), None)
        item = None if at is None else waiting[at]
        if at is not None:
            waiting, self._waiting = waiting[: at + 1], waiting[at + 1 :]
        is_known = self._is_known(mark, "event")
        place = waiting[0].place if waiting else self._place
        if item is not None and item.seems_typed and not is_known:
            self._keep_prompt(replace(item, place=place))
            waiting, is_known = waiting[:-1], True
        for prompt in waiting:
            self.collector.drop("injected", prompt.record)
        if is_known:
            self.collector.drop("duplicate", record)
        else:
            turn = self._turn(key, text, payload, record)
            self._keep_prompt(_Prompt(place, record, turn, mark, reasons, seems_typed=True))

    def _decide(self, *, by_event: bool) -> None:
        """The model goes on: what waits is a prompt if it looks like one, and never where events say which are."""
        for prompt in self._waiting:
            if prompt.seems_typed and not by_event:
                self._keep_prompt(prompt)
            else:
                self.collector.drop("injected", prompt.record)
        self._waiting = []

    def _is_known(self, mark: str, way: str) -> bool:
        """True when the same words were taken already as the file says them the other way."""
        return self._task.said[way, f"u{mark}"] <= self._task.kept[mark]

    def _keep_prompt(self, prompt: _Prompt) -> None:
        if prompt.mark not in self._aborted:
            self._aborted = {}
        self._task.kept[prompt.mark] += 1
        self._task.prompts[prompt.mark] = prompt.turn.key
        self._open = prompt.place
        for reason in prompt.reasons:
            self.collector.drop(reason, prompt.record)
        self._keep(prompt.turn, prompt.record)

    def _keep(self, turn: Turn, record: Record) -> None:
        text, was_cut = capped(turn.text)
        if was_cut:
            self.collector.drop("capped", record)
        self.collector.keep(replace(turn, text=text) if was_cut else turn, record)

    def _name(self, role: Role, way: str, raw: str) -> tuple[str, str]:
        """Return the key of words as they stand in a record, and their mark: blanks do not count."""
        task = self._task
        mark = digest("".join(raw.split()))
        said = f"{role[0]}{mark}"
        if task.name is None:
            name = digest(f"{task.chain}\n{said}")
            task.chain = name if way == "item" else task.chain
        else:
            name = f"{task.name}:{task.said[way, said]}:{mark}"
        task.said[way, said] += 1
        key = f"{role[0]}:{name}"
        return (self._aborted.get(mark, key) if role == "user" else key), mark

    def _turn(self, key: str, text: str, payload: dict[str, Any], record: Record) -> Turn:
        role: Role = "user" if key.startswith("u") else "assistant"
        at = moment(record.value.get("timestamp")) or self.head.at
        return Turn(key, role, text, at, text_of(payload, "id"), self.head.session_id, end=record.end, zone=self._zone)


def _typed_item(kind: str, payload: dict[str, Any]) -> str:
    """Return what a person seems to have typed in an item, empty for anything else."""
    is_prompt = kind == "response_item" and text_of(payload, "type") == "message" and text_of(payload, "role") == "user"
    return item_text(payload)[1] if is_prompt else ""
