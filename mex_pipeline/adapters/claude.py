"""Claude Code sessions (`~/.claude/projects/<slug>/<uuid>.jsonl`): typed text and assistant text, no noise, no doubles.

This is level 1 of session-formats §2. Human words that stand elsewhere (rejections, answers, command arguments, queued
messages) are told apart from noise by their reasons, but not taken yet.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import claude_records
from mex_pipeline.adapters.claude_records import HEAD, is_claude, text_of
from mex_pipeline.adapters.cleaning import assistant_text, capped, user_text
from mex_pipeline.adapters.files import digest, opened
from mex_pipeline.adapters.jsonl import Collector, window
from mex_pipeline.adapters.records import Record, records
from mex_pipeline.clock import from_iso, iso
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Transcript, Turn
from mex_pipeline.errors import SourceFormat

_RECORD_REASONS = {
    "progress": "progress",
    "system": "system",
    "file-history-snapshot": "snapshot",
    "last-prompt": "last_prompt",
    **dict.fromkeys(("summary", "custom-title", "ai-title"), "title"),
    **dict.fromkeys(("api-request", "api-request-shape", "api-request-blob"), "api_request"),
    **dict.fromkeys(("mode", "permission-mode", "worktree-state", "bridge-session", "started", "result"), "state"),
    **dict.fromkeys(("pr-link", "cost-state", "tools-used", "atis-latch"), "state"),
}

_BLOCK_REASONS = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_use",
    "server_tool_use": "tool_use",
    "mcp_tool_use": "tool_use",
    "image": "image",
    "document": "document",
}

_WRAPPERS = (
    ("operation stopped by hook:", "hook_stop"),
    ("<task-notification>", "notification"),
    ("<agent-notification>", "notification"),
    ("<local-command-caveat>", "caveat"),
    ("caveat: the messages below", "caveat"),
    ("<local-command-std", "command_output"),
    ("<bash-std", "command_output"),
    ("<bash-input>", "command"),
    ("<command-", "command"),
)
"""How texts begin that a client wrote in the user's name, in lower case (session-formats §3.1)."""

_PHRASES = (
    ("implement the following plan:", "plan"),
    ("this session is being continued from a previous conversation", "compact_summary"),
)
"""Beginnings a person could also type: they count only where the client does not name a human as the origin."""

_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]*\]")
_COMMAND_ARGS = re.compile(r"<command-args>\s*[^<\s]")
_REJECTION = "the user said:"
_OWN_FOLDER = re.compile(r"[/\\]\.mex(?:[/\\]|$)")


class ClaudeAdapter:
    """Reads one session file of Claude Code."""

    name = "claude"

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file holds more Claude records than unusable lines."""
        return claude_records.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns from `since.resume` on.

        The text blocks of the last assistant message are held until a record of another message or of the user follows,
        `quiet` is true, or `until` names the end. `dropped` counts every record or block that gives no turn, under one
        reason each, and `capped` texts. Subagents' files and sessions of meX's own prompt give no turns.
        Raises SourceGone, SourceUnreadable, or SourceFormat(`path`, `adapter`) when the file has complete lines and
        none is a Claude record.
        """
        with opened(path) as file:
            part = window(file, since, until)
            left_out = _whole_file_reason(path, records(file, 0, min(part.stop, HEAD)))
            collector = Collector(part)
            trailing = _Trailing(part.start)
            is_known = False
            for record in part.records(file):
                is_known = is_known or is_claude(record)
                trailing.follow(record)
                _take(collector, record, left_out)
            if part.start == 0 and collector.records and not is_known:
                raise SourceFormat(path=str(path), adapter=self.name)
            held_from = None if quiet or part.fixed else trailing.start
            return collector.transcript(file, self.name, held_from)


@dataclass(slots=True)
class _Trailing:
    """The assistant message at the end of what was read, and where its run of records starts; nothing if it is over.

    The start is where the record before it ends (`end`), so that blank lines between them do not matter.
    """

    end: int
    message: str | None = None
    start: int | None = None

    def follow(self, record: Record) -> None:
        """Take the next record into account: only the user or another message ends a message."""
        kind = record.value.get("type")
        if kind == "user":
            self.message = self.start = None
        elif kind == "assistant" and self.message != (message := _message_id(record.value)):
            self.message, self.start = message, self.end
        self.end = record.end


def _whole_file_reason(path: Path, head: Iterable[Record]) -> str | None:
    """Return why nothing of the file is conversation: a subagent's file, or a session of meX's own prompt."""
    if path.match("agent-*.jsonl") or "subagents" in path.parts[:-1]:
        return "subagent"
    for record in head:
        texts, _ = _typed(record.value) if record.value.get("type") == "user" else ([], [])
        if texts:
            return "own_prompt" if texts[0].startswith(PROMPT_MARK) else None
    return None


def _take(collector: Collector, record: Record, left_out: str | None) -> None:
    """Put one record's turns and reasons into the collector."""
    value = record.value
    kind = text_of(value, "type")
    collector.note(record, text_of(value, "sessionId") or text_of(value, "session_id"), text_of(value, "cwd"))
    if reason := record.fault or left_out:
        collector.drop(reason, record)
    elif kind == "user":
        _take_user(collector, record)
    elif kind == "assistant":
        _take_assistant(collector, record)
    else:
        collector.drop(_record_reason(kind, value), record)


def _take_user(collector: Collector, record: Record) -> None:
    """One turn per user record: its text blocks belong to one prompt."""
    value = record.value
    texts, reasons = _typed(value)
    for reason in reasons:
        collector.drop(reason, record)
    if not texts:
        return
    text, was_cut = capped("\n".join(texts))
    if was_cut:
        collector.drop("capped", record)
    uuid = text_of(value, "uuid")
    name = uuid or "#" + digest(f"{value.get('timestamp')}\n{text}")
    session_id = text_of(value, "sessionId") or text_of(value, "session_id")
    collector.keep(Turn(f"u:{name}", "user", text, at=_at(value), message_id=uuid, session_id=session_id), record)


def _take_assistant(collector: Collector, record: Record) -> None:
    """One turn per text block; the raw text makes the key, so that better cleaning later does not change it."""
    value = record.value
    if reason := _assistant_flag(value):
        collector.drop(reason, record)
        return
    message_id = _message_id(value)
    session_id = text_of(value, "sessionId") or text_of(value, "session_id")
    for block in _blocks(value):
        raw = block.get("text") if block.get("type") == "text" else None
        text, was_cut = capped(assistant_text(raw)) if isinstance(raw, str) else ("", False)
        if not text:
            collector.drop("empty" if isinstance(raw, str) else _block_reason(block), record)
            continue
        if was_cut:
            collector.drop("capped", record)
        key = f"a:{message_id}:{digest(str(raw))}"
        turn = Turn(key, "assistant", text, at=_at(value), message_id=message_id or None, session_id=session_id)
        collector.keep(turn, record)


def _typed(value: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the texts a person typed in a user record, cleaned, and the reasons of all that is left out."""
    if flag := _user_flag(value):
        return [], [flag]
    texts: list[str] = []
    reasons: list[str] = []
    for block in _blocks(value):
        raw = block.get("text") if block.get("type") == "text" else None
        if not isinstance(raw, str):
            reasons.append(_result_reason(block, value) if block.get("type") == "tool_result" else _block_reason(block))
            continue
        cleaned = user_text(raw)
        mark = _INTERRUPTED.match(cleaned)
        text = cleaned[mark.end() :].strip() if mark else cleaned
        if not text:
            reasons.append("interrupted" if cleaned else "empty")
        elif reason := _wrapper_reason(text, is_human=_origin(value) == "human"):
            reasons.append(reason)
        else:
            texts.append(text)
    return texts, reasons


def _blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content blocks of a user or assistant record; a plain string or nothing is one text block."""
    content = _dict(value.get("message")).get("content")
    if isinstance(content, list) and content:
        return [_dict(block) for block in content]
    return [{"type": "text", "text": "" if content == [] else content}]


def _machine_flag(value: dict[str, Any]) -> str | None:
    """Return why a whole user or assistant record is not this conversation."""
    if value.get("isSidechain"):
        return "sidechain"
    if value.get("sessionKind") == "bg":
        return "background"
    if _OWN_FOLDER.search(text_of(value, "cwd") or ""):
        return "own_session"
    return "meta" if value.get("isMeta") else None


def _user_flag(value: dict[str, Any]) -> str | None:
    """Return why a whole user record is not the person's, by its flags and its origin (session-formats §3.1)."""
    if flag := _machine_flag(value):
        return flag
    if value.get("isCompactSummary") or value.get("isVisibleInTranscriptOnly"):
        return "compact_summary"
    if value.get("planContent"):
        return "plan"
    origin = _origin(value)
    if origin is None:
        return "machine_origin" if value.get("promptSource") == "system" else None
    if origin.endswith("notification"):
        return "notification"
    return None if origin == "human" else "machine_origin"


def _assistant_flag(value: dict[str, Any]) -> str | None:
    """Return why a whole assistant record is not the model's words."""
    if flag := _machine_flag(value):
        return flag
    if value.get("isApiErrorMessage"):
        return "api_error"
    return "synthetic" if _dict(value.get("message")).get("model") == "<synthetic>" else None


def _wrapper_reason(text: str, *, is_human: bool) -> str | None:
    """Return what a client's text in the user's name is, or None for typed text."""
    start = text[:80].lower()
    for prefix, reason in _WRAPPERS if is_human else _WRAPPERS + _PHRASES:
        if start.startswith(prefix):
            return "command_args" if reason == "command" and _COMMAND_ARGS.search(text) else reason
    return None


def _result_reason(block: dict[str, Any], value: dict[str, Any]) -> str:
    """Return `tool_answer` or `tool_rejection` where a tool result carries the person's words, else `tool_result`."""
    if _dict(value.get("toolUseResult")).get("answers"):
        return "tool_answer"
    content = block.get("content")
    parts = [_dict(part).get("text") for part in content] if isinstance(content, list) else [content]
    is_rejection = block.get("is_error") and any(_REJECTION in part for part in parts if isinstance(part, str))
    return "tool_rejection" if is_rejection else "tool_result"


def _block_reason(block: dict[str, Any]) -> str:
    kind = text_of(block, "type") or "text"
    if kind == "text":
        return "malformed"
    return "tool_result" if kind.endswith("tool_result") else _BLOCK_REASONS.get(kind, "unknown_block")


def _record_reason(kind: str | None, value: dict[str, Any]) -> str:
    """Return the reason of a record that is neither the user's nor the assistant's."""
    if kind == "queue-operation":
        return "queue_removed" if value.get("operation") == "remove" else "queue_operation"
    if kind == "attachment":
        attachment = _dict(value.get("attachment"))
        if attachment.get("type") != "queued_command":
            return "attachment"
        origin = _origin(attachment) or _origin(value)
        return "queued_command" if origin in (None, "human") else "notification"
    return _RECORD_REASONS.get(kind or "", "unknown_type")


def _origin(value: dict[str, Any]) -> str | None:
    return text_of(_dict(value.get("origin")), "kind")


def _message_id(value: dict[str, Any]) -> str:
    """Return the API message's id, else the record's; one message spans several records (session-formats §3.1)."""
    return text_of(_dict(value.get("message")), "id") or text_of(value, "uuid") or ""


def _at(value: dict[str, Any]) -> str | None:
    """Return the record's time as UTC ISO seconds; None when it is missing or no time of this era."""
    try:
        moment = from_iso(text_of(value, "timestamp") or "")
    except (ValueError, OverflowError):
        return None
    return iso(moment) if moment.year >= 1970 else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
