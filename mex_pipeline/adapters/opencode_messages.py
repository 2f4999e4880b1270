"""One message of a session: whose it is, what its name is, and which turns it gives or why it gives none."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mex_pipeline.adapters.cleaning import assistant_text, capped, left_out, of_one_message, scrub, user_text
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.opencode_shapes import OVERSIZED, is_message
from mex_pipeline.adapters.values import mapping, moment, number, string
from mex_pipeline.domain.conversation import Kind, Role, Turn

_TEXTS = ("text", "input_text", "output_text")
_PART_REASONS = {
    **dict.fromkeys(("reasoning", "thinking", "redacted_thinking"), "thinking"),
    **dict.fromkeys(("tool", "tool_use"), "tool_use"),
    "tool_result": "tool_result",
    **dict.fromkeys(("step-start", "step-finish"), "step"),
    **dict.fromkeys(("patch", "snapshot"), "snapshot"),
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("file", "document"), "document"),
    "agent": "agent",
    "subtask": "command",
    "compaction": "compact_summary",
    "retry": "api_error",
    OVERSIZED: OVERSIZED,
}
_ROLES: dict[str | None, Role] = {"user": "user", "assistant": "assistant"}
_ROLE_REASONS = {"system": "system", "developer": "system", "tool": "tool_result"}
_HIDDEN_AGENTS = {"compaction": "compact_summary", "summary": "compact_summary", "title": "title"}
_TIMES = ("timestamp", "created_at", "time")
_REDACTED = re.compile(r"\[redacted:[^\]\s]*\]")
_BROKEN_OFF = ("interrupted", "api_error", "unfinished")
_REFUSED = "The user rejected permission to use this specific tool call with the following feedback: "
"""What the client writes before the person's words when a permission was refused with a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its `parts` as blocks, or a `reason` to leave it out.

    `name` is its identity. OpenCode's fork gives new ids to the messages it copies but keeps their times, so the time of
    creation in milliseconds is the name, and the id only where there is none (session-formats §2). A message with
    neither is named by all that was said up to it.
    """

    role: Role | None
    name: str
    parts: list[dict[str, Any]]
    reason: str | None = None
    at: str | None = None
    message_id: str | None = None
    session_id: str | None = None
    has_times: bool = False
    is_complete: bool = True

    @property
    def texts(self) -> list[str]:
        """The raw texts of what was said."""
        return [part["text"] for part in self.parts if not part_reason(part)]


def own(value: dict[str, Any]) -> Message:
    """Return a message in OpenCode's own shape."""
    info = value["info"]
    times = mapping(info.get("time"))
    created = number(times.get("created"))
    message_id = string(info, "id")
    role = _ROLES.get(string(info, "role"))
    parts = value.get("parts")
    return Message(
        role=role,
        name=message_id or "" if created is None else str(created),
        parts=[mapping(part) for part in parts] if isinstance(parts, list) else [],
        reason=_own_reason(info, role),
        at=moment(created),
        message_id=message_id,
        session_id=string(info, "sessionID"),
        has_times=bool(times),
        is_complete=role == "user" or not times or number(times.get("completed")) is not None,
    )


def _own_reason(info: dict[str, Any], role: Role | None) -> str | None:
    """Return why a whole message of OpenCode is not the person's or the model's (session-formats §3.3)."""
    if role is None:
        return _ROLE_REASONS.get(string(info, "role") or "", "unknown_role")
    hidden = _HIDDEN_AGENTS.get(string(info, "agent") or "") or _HIDDEN_AGENTS.get(string(info, "mode") or "")
    if hidden or role == "user":
        return hidden
    if info.get("summary") is True:
        return "compact_summary"
    if info.get("error"):
        return "interrupted" if string(mapping(info["error"]), "name") == "MessageAbortedError" else "api_error"
    return None


def plain(value: Any) -> Message:
    """Return a message with a role and a content. Its own id may be a number that every file has, so it is no name."""
    if not is_message(value):
        return Message(None, "", [], reason="unknown_type" if isinstance(value, dict) else "malformed")
    content = value["content"]
    blocks = content if isinstance(content, list) else ["" if content is None else content]
    role = _ROLES.get(value["role"])
    return Message(
        role=role,
        name="",
        parts=[{"type": "text", "text": block} if isinstance(block, str) else mapping(block) for block in blocks],
        reason=None if role else _ROLE_REASONS.get(value["role"], "unknown_role"),
        at=next((at for key in _TIMES if (at := moment(value.get(key)))), None),
        message_id=string(value, "id"),
    )


def turns(message: Message, *, is_held: bool) -> Iterator[tuple[Turn | None, str | None]]:
    """Yield the turns of a message, in its order, and the reasons of what gives none.

    All the person typed is one turn, each text of the assistant another, and so is each thing that a tool was told: an
    answer to a question, the words with which a call was refused. The latter count in a message that was broken off,
    too. The raw text is part of the key, so that better cleaning later does not change it.
    """
    reason = message.reason if message.reason or message.role else "unknown_role"
    if not reason and not message.is_complete and not is_held:
        reason = "unfinished"
    if reason:
        yield None, reason
    if reason and reason not in _BROKEN_OFF:
        return
    typed: list[str] = []
    for part in message.parts:
        words, why = told(part), part_reason(part)
        if words:
            raw = "\n".join(words)
            yield _turn(message, "user", f"{string(part, 'callID') or ''}\n{raw}", user_text(raw), "tool_answer")
        elif reason:
            continue
        elif why:
            yield None, why
        elif message.role == "user":
            typed.append(part["text"])
        else:
            yield _turn(message, "assistant", part["text"], assistant_text(scrub(part["text"])))
    opened = [
        (raw, whole, user_text(whole)) for raw, whole in zip(typed, of_one_message(map(scrub, typed)), strict=True)
    ]
    yield from ((None, reason) for _, whole, text in opened for reason in left_out(whole) or ["empty"] * (not text))
    spoken = [(raw, text) for raw, _, text in opened if text]
    if spoken:
        raw, text = ("\n".join(words) for words in zip(*spoken, strict=True))
        yield _turn(message, "user", raw, text)


def told(part: dict[str, Any]) -> list[str]:
    """Return what the person told a tool: the answers to its questions, or the words with which a call was refused."""
    if string(part, "type") != "tool":
        return []
    state = mapping(part.get("state"))
    error = string(state, "error") or ""
    if error.startswith(_REFUSED):
        return [words] if (words := error.removeprefix(_REFUSED).strip()) else []
    answers = mapping(state.get("metadata")).get("answers") if string(part, "tool") == "question" else None
    lists = [one for one in answers if isinstance(one, list)] if isinstance(answers, list) else []
    chosen = [choice for one in lists for choice in one]
    return [words for one in chosen if isinstance(one, str) and (words := scrub(one).strip())]


def _turn(message: Message, role: Role, raw: str, whole: str, kind: Kind = "typed") -> tuple[Turn | None, str | None]:
    if not whole:
        return None, "empty"
    text, was_cut = capped(whole)
    turn = Turn(
        f"{role[0]}:{message.name}:{digest(raw)}",
        role,
        text,
        at=message.at,
        message_id=message.message_id,
        session_id=message.session_id,
        kind=kind,
    )
    return turn, "capped" if was_cut else None


def part_reason(part: dict[str, Any]) -> str | None:
    """Return why a part is no speech, or None for a text."""
    kind = string(part, "type")
    if kind not in _TEXTS:
        return _PART_REASONS.get(kind or "", "unknown_block" if kind else "malformed")
    if part.get("synthetic"):
        return "synthetic"
    if part.get("ignored"):
        return "ignored"
    text = part.get("text")
    if not isinstance(text, str):
        return "malformed"
    return "redacted" if _REDACTED.fullmatch(text.strip()) else None
