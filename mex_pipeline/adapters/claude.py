"""Claude Code sessions (`~/.claude/projects/<slug>/<uuid>.jsonl`): all that a person and the model said, each once.

All three levels of session-formats §2: typed text and assistant text; human words that stand elsewhere; no branches that
a rewind left. What is speech is told in claude_speech, the queue in claude_queue, rewinds in claude_branches.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mex_pipeline.adapters import claude_local, claude_records
from mex_pipeline.adapters.claude_branches import Link, Tree
from mex_pipeline.adapters.claude_queue import Queue
from mex_pipeline.adapters.claude_records import HEAD, is_claude
from mex_pipeline.adapters.claude_speech import Said, answers_tool, of_assistant, of_queued, of_user
from mex_pipeline.adapters.cleaning import capped
from mex_pipeline.adapters.files import digest, opened
from mex_pipeline.adapters.jsonl import Collector, Window, window
from mex_pipeline.adapters.records import Record, records, text_of
from mex_pipeline.adapters.values import mapping, moment
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Role, Transcript, Turn
from mex_pipeline.errors import SourceFormat

_KINDS = {
    "progress": "progress",
    "system": "system",
    "attachment": "attachment",
    "snapshot": "file-history-snapshot file-history-delta attribution-snapshot",
    "last_prompt": "last-prompt",
    "title": "summary custom-title ai-title agent-name",
    "api_request": "api-request api-request-shape api-request-blob api-request-resumed",
    "state": (
        "mode permission-mode repl-mode memory-mode worktree-state bridge-session started result pr-link cost-state"
        " tools-used atis-latch isolation-latch session-owner dev-mods observer-ref frame-link continued-in"
        " resume-head-vouch content-replacement derived-from fork-context-ref"
    ),
}
"""The types of records in which nobody speaks, by the reason under which they are counted (session-formats §3.1)."""
_RECORD_REASONS = {kind: reason for reason, kinds in _KINDS.items() for kind in kinds.split()}


class ClaudeAdapter:
    """Reads one session file of Claude Code."""

    name = "claude"

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file holds more Claude records than unusable lines."""
        return claude_records.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns from `since.resume` on.

        The text blocks of the last assistant message are held until a record of another message or of the user follows,
        `quiet` is true, or `until` names the end. A queued message is a turn from the record on that delivers it; while
        it waits, the cursor's `resume` stays before it. A branch that was left by a rewind gives no turns, as far as the
        rewind was written when it was read. `dropped` counts every record or block that gives no turn, under one reason each,
        and `capped` texts. Subagents' files and sessions of meX's own prompt give no turns.
        Raises SourceGone, SourceUnreadable, or SourceFormat(`path`, `adapter`) when the file has complete lines and
        none is a Claude record.
        """
        with opened(path) as file:
            part = window(file, since, until)
            left_out = _whole_file_reason(path, records(file, 0, min(part.stop, HEAD)))
            reading = _Reading(Collector(part), part, _Trailing(part.start), left_out)
            is_known = False
            for record in part.records(file):
                is_known = is_known or is_claude(record)
                reading.take(record)
            collector = reading.collector
            if part.start == 0 and collector.records and not is_known:
                raise SourceFormat(path=str(path), adapter=self.name)
            reading.settle(file)
            held_from = None if quiet or part.fixed else reading.trailing.start
            transcript = collector.transcript(file, self.name, held_from)
            resume = reading.queue.entrance(transcript.cursor.resume)
            return replace(transcript, cursor=replace(transcript.cursor, resume=resume))

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the sessions of the main conversations under `~/.claude`, or wherever CLAUDE_CONFIG_DIR says."""
        return claude_local.places(home, environment)

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:
        """Return `cleanupPeriodDays` of the user's settings, 30 where they do not say; None when nothing is deleted."""
        return claude_local.kept_days(home, environment)


@dataclass(slots=True)
class _Trailing:
    """The assistant message at the end of what was read, and where its run of records starts; nothing if it is over.

    The start is where the record before it ends (`end`), so that blank lines between them do not matter.
    """

    end: int
    message: str | None = None
    start: int | None = None

    def follow(self, record: Record, kind: str | None) -> None:
        """Take the next record into account: only the user or another message ends a message."""
        if kind == "user":
            self.message = self.start = None
        elif kind == "assistant" and self.message != (message := _message_id(record.value)):
            self.message, self.start = message, self.end
        self.end = record.end


class _Found(NamedTuple):
    """A turn, the id of its record in the tree if it has one, and the bytes at which the record stands."""

    turn: Turn
    uuid: str | None
    start: int
    end: int


@dataclass(slots=True)
class _Reading:
    """One pass over a window: turns are found record by record, and given to the collector when all is known."""

    collector: Collector
    window: Window
    trailing: _Trailing
    left_out: str | None
    queue: Queue = field(default_factory=Queue)
    tree: Tree = field(default_factory=Tree)
    found: list[_Found] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Find one record's turns and count the rest of it."""
        value = record.value
        kind = text_of(value, "type")
        self.trailing.follow(record, kind)
        self.collector.note(record, _session(value), text_of(value, "cwd"))
        if reason := record.fault or self.left_out:
            self.collector.drop(reason, record)
            return
        said: list[Said] = []
        if kind == "user":
            said = self._take_user(record)
        elif kind == "assistant":
            self._take_assistant(record)
        elif kind == "queue-operation":
            self._take_queue(record)
        elif kind == "attachment" and mapping(value.get("attachment")).get("type") == "queued_command":
            self._take_queued(record)
        else:
            self.collector.drop(_RECORD_REASONS.get(kind or "", "unknown_type"), record)
        if link := _link(record, said):
            self.tree.follow(link)

    def settle(self, file: BinaryIO) -> None:
        """Give the turns to the collector, without those of a branch that was left (claude_branches)."""
        for reason, record in self.queue.counts():
            self.collector.drop(reason, record)
        left: dict[str, int] = {}
        if self.found and self.tree.branched > self.found[0].start:
            left = self._whole_tree(file).left(one.uuid for one in self.found if one.uuid)
        for one in self.found:
            if one.start < left.get(one.uuid or "", 0):
                self.collector.drop("abandoned_branch", one)
            else:
                self.collector.keep(one.turn, one)

    def _whole_tree(self, file: BinaryIO) -> Tree:
        """Return the tree from the beginning of the file on: a branch may hang on what is before the window."""
        if self.window.start == 0:
            return self.tree
        tree = Tree()
        for record in chain(records(file, 0, self.window.start), self.window.records(file)):
            if link := _link(record):
                tree.follow(link)
        return tree

    def _take_user(self, record: Record) -> list[Said]:
        """One turn for all that was typed, and one for each answer to a tool."""
        said, reasons = of_user(record.value)
        for reason in reasons:
            self.collector.drop(reason, record)
        uuid = text_of(record.value, "uuid")
        for one in said:
            if one.kind != "tool_answer" and self.queue.hears(_session(record.value), one.text, record.start):
                self.collector.drop("duplicate", record)
            else:
                self._find(record, one, f"u:{uuid or _unnamed(record, one)}{one.place}", uuid)
        return said

    def _take_assistant(self, record: Record) -> None:
        """One turn per text block; the raw text makes the key, so that better cleaning later does not change it."""
        self.queue.answered(record.start)
        said, reasons = of_assistant(record.value)
        for reason in reasons:
            self.collector.drop(reason, record)
        name = _message_id(record.value)
        for one in said:
            self._find(record, one, f"a:{name}:{digest(one.raw)}", name or None, role="assistant")

    def _take_queued(self, record: Record) -> None:
        """One turn for a message that reached the model in the running turn, as the attachment it was given as."""
        attachment = mapping(record.value.get("attachment"))
        said = of_queued(attachment, record.value)
        if isinstance(said, str):
            self.collector.drop(said, record)
        elif self.queue.hears(_session(record.value), said.text, record.start):
            self.collector.drop("duplicate", record)
        else:
            uuid = text_of(attachment, "source_uuid") or text_of(record.value, "uuid")
            self._find(record, said, f"u:{uuid or _unnamed(record, said)}", uuid)

    def _take_queue(self, record: Record) -> None:
        """One turn for a message that reached the model in the running turn, as the queue tells of it."""
        found = self.queue.follow(record)
        if isinstance(found, str):
            self.collector.drop(found, record)
        elif found is not None:
            key = f"u:{found.id}" if found.id else "q:" + digest(f"{found.typed_at}\n{found.said.raw}")
            self._find(record, found.said, key, found.id, typed_at=found.typed_at)

    def _find(
        self,
        record: Record,
        said: Said,
        key: str,
        message_id: str | None,
        *,
        role: Role = "user",
        typed_at: str | None = None,
    ) -> None:
        value = record.value
        text, was_cut = capped(said.text)
        if was_cut:
            self.collector.drop("capped", record)
        at = moment(typed_at or text_of(value, "timestamp"))
        session = _session(value)
        if session == self.collector.session_id:
            session = self.collector.session_id  # one string for all turns
        turn = Turn(key, role, text, at=at, message_id=message_id, session_id=session, kind=said.kind)
        self.found.append(_Found(turn, text_of(value, "uuid"), record.start, record.end))


def _whole_file_reason(path: Path, head: Iterable[Record]) -> str | None:
    """Return why nothing of the file is conversation: a subagent's file, or a session of meX's own prompt."""
    if path.match("agent-*.jsonl") or "subagents" in path.parts[:-1]:
        return "subagent"
    for record in head:
        said = of_user(record.value)[0] if record.value.get("type") == "user" else []
        if said:
            return "own_prompt" if said[0].text.startswith(PROMPT_MARK) else None
    return None


def _link(record: Record, said: list[Said] | None = None) -> Link | None:
    """Return the record's place in the tree; None for one without id, and for a subagent's."""
    value = record.value
    uuid = text_of(value, "uuid")
    if uuid is None or value.get("isSidechain"):
        return None
    if said is None:
        said = of_user(value)[0] if value.get("type") == "user" else []
    parent = text_of(value, "parentUuid") or text_of(value, "logicalParentUuid")
    return Link(uuid, parent, record.start, bool(said) and not answers_tool(value))


def _unnamed(record: Record, said: Said) -> str:
    """Return a name for a user record without id, made of its time and its words."""
    return "#" + digest(f"{record.value.get('timestamp')}\n{capped(said.text)[0]}")


def _session(value: dict[str, Any]) -> str | None:
    return text_of(value, "sessionId") or text_of(value, "session_id")


def _message_id(value: dict[str, Any]) -> str:
    """Return the API message's id, else the record's; one message spans several records (session-formats §3.1)."""
    return text_of(mapping(value.get("message")), "id") or text_of(value, "uuid") or ""
