"""OpenCode sessions (`opencode export`, the old storage tree) and plain lists of `{role, content}` messages.

This is level 1 of session-formats §2: typed text and assistant text. Such a source is written anew as a whole, so its
position is a number of messages, and what was read before is told by keys.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import opencode_source
from mex_pipeline.adapters.cleaning import assistant_text, capped, scrub, user_text
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.opencode_source import Session, is_message, is_own
from mex_pipeline.adapters.values import mapping, moment, number, string
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Role, Transcript, Turn

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
}
_ROLES: dict[str | None, Role] = {"user": "user", "assistant": "assistant"}
_ROLE_REASONS = {"system": "system", "developer": "system", "tool": "tool_result"}
_HIDDEN_AGENTS = {"compaction": "compact_summary", "summary": "compact_summary", "title": "title"}
_TIMES = ("timestamp", "created_at", "time")
_REDACTED = re.compile(r"\[redacted:[^\]\s]*\]")
_OWN_FOLDER = re.compile(r"[/\\]\.mex(?:[/\\]|$)")


class OpenCodeAdapter:
    """Reads exports of OpenCode, a session of its old storage tree, and lists of messages."""

    name = "opencode"

    def detect(self, path: Path) -> bool:
        """True when the file's content begins like one of the shapes."""
        return opencode_source.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns of all messages; positions are numbers of messages, `until` too.

        An answer that has not been completed is held while nothing of the user follows it, unless `quiet` is true or
        `until` names the end; then it is dropped as `unfinished` and comes when it is complete. In a list that tells no
        times, the last answer is held. What the user took back (a revert) is dropped. `reset` is `shorter` or
        `content_changed` when the messages before the old position are not the ones that were read.
        Raises SourceGone, SourceUnreadable, or SourceFormat as `opencode_source.load` says.
        """
        source = opencode_source.load(path, self.name)
        reader = _Reader()
        for session in source.sessions:
            reader.follow(session)
        messages = reader.messages
        reset = _changed(messages, since)
        done = 0 if reset else since.off
        fixed = until if until is not None and until <= len(messages) else None
        stop = len(messages) if fixed is None else fixed
        hold = stop if quiet or fixed is not None else max(_held_from(messages), done)
        taken = _Taken(done, hold, source.faults + reader.taken_back)
        for index, message in enumerate(messages[:stop]):
            taken.take(index, message)
        off = max(hold, done)
        return Transcript(
            agent=self.name,
            turns=tuple(taken.turns),
            cursor=Cursor(off=off, size=len(messages), content_sha=_sha(messages, off)),
            session_id=reader.session_id,
            project=reader.project,
            dropped=dict(taken.dropped),
            reset=reset,
        )


@dataclass(frozen=True, slots=True)
class _Message:
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
        return [part["text"] for part in self.parts if not _part_reason(part)]


@dataclass(slots=True)
class _Reader:
    """Makes messages of sessions; a message that the user took back is counted, not kept."""

    messages: list[_Message] = field(default_factory=list)
    taken_back: Counter[str] = field(default_factory=Counter)
    session_id: str | None = None
    project: str | None = None

    def follow(self, session: Session) -> None:
        """Add the messages of one session."""
        info = session.info
        left, reverted = _not_reverted(session)
        self.taken_back["reverted"] += reverted
        found: list[_Message] = []
        said = ""
        for value in left:
            message = _own(value) if is_own(value) else _plain(value)
            said = digest("\n".join([said, str(message.role), *message.texts]))
            found.append(message if message.name else replace(message, name=said))
        folder = _folder(session)
        self.session_id = string(info, "id") or next(
            (one.session_id for one in found if one.session_id), self.session_id
        )
        self.project = folder or self.project
        reason = _session_reason(info, folder, found)
        self.messages += [replace(message, reason=reason) for message in found] if reason else found


@dataclass(slots=True)
class _Taken:
    """The turns of one pass and the counts of what gives none; what lies before `done` is not counted again."""

    done: int
    hold: int
    dropped: Counter[str]
    turns: list[Turn] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    def take(self, index: int, message: _Message) -> None:
        """Put one message's turns and reasons in."""
        for turn, reason in _turns(message, is_held=index >= self.hold):
            why = "duplicate" if turn and turn.key in self._keys else reason
            if why and index >= self.done:
                self.dropped[why] += 1
            if turn and turn.key not in self._keys:
                self._keys.add(turn.key)
                self.turns.append(replace(turn, held=index >= self.hold, end=index + 1))


def _folder(session: Session) -> str | None:
    """Return the folder a session was held in; a list of messages names it in the assistant's."""
    paths = [mapping(mapping(one.get("info")).get("path")) for one in session.messages if isinstance(one, dict)]
    named = [string(session.info, "directory"), *(string(path, "cwd") for path in paths)]
    return next((folder for folder in named if folder and not _REDACTED.match(folder)), None)


def _session_reason(info: dict[str, Any], folder: str | None, messages: list[_Message]) -> str | None:
    """Return why nothing of a session is conversation."""
    if string(info, "parentID") or string(info, "parent_id"):
        return "subagent"
    if folder and _OWN_FOLDER.search(folder):
        return "own_session"
    first = next((text for one in messages if one.role == "user" and not one.reason for text in one.texts), "")
    return "own_prompt" if first.startswith(PROMPT_MARK) else None


def _own(value: dict[str, Any]) -> _Message:
    """Return a message in OpenCode's own shape."""
    info = value["info"]
    times = mapping(info.get("time"))
    created = number(times.get("created"))
    message_id = string(info, "id")
    role = _ROLES.get(string(info, "role"))
    parts = value.get("parts")
    return _Message(
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
        return "unknown_role"
    hidden = _HIDDEN_AGENTS.get(string(info, "agent") or "") or _HIDDEN_AGENTS.get(string(info, "mode") or "")
    if hidden or role == "user":
        return hidden
    if info.get("summary") is True:
        return "compact_summary"
    if info.get("error"):
        return "interrupted" if string(mapping(info["error"]), "name") == "MessageAbortedError" else "api_error"
    return None


def _plain(value: Any) -> _Message:
    """Return a message with a role and a content. Its own id may be a number that every file has, so it is no name."""
    if not is_message(value):
        return _Message(None, "", [], reason="unknown_type" if isinstance(value, dict) else "malformed")
    content = value["content"]
    blocks = content if isinstance(content, list) else ["" if content is None else content]
    role = _ROLES.get(value["role"])
    return _Message(
        role=role,
        name="",
        parts=[{"type": "text", "text": block} if isinstance(block, str) else mapping(block) for block in blocks],
        reason=None if role else _ROLE_REASONS.get(value["role"], "unknown_role"),
        at=next((at for key in _TIMES if (at := moment(value.get(key)))), None),
        message_id=string(value, "id"),
    )


def _not_reverted(session: Session) -> tuple[list[Any], int]:
    """Return the messages before the point the user went back to, and how many there are behind it.

    OpenCode deletes them at the next prompt; until then they are only marked. Of the message that a part of is named,
    the parts before it stay.
    """
    revert = mapping(session.info.get("revert"))
    names = [string(mapping(mapping(one).get("info")), "id") for one in session.messages]
    target = string(revert, "messageID")
    if target is None or target not in names:
        return session.messages, 0
    at = names.index(target)
    left = session.messages[:at]
    part_id = string(revert, "partID")
    parts = session.messages[at].get("parts")
    ids = [string(mapping(part), "id") for part in parts] if isinstance(parts, list) else []
    if part_id is not None and part_id in ids:
        left = [*left, {**session.messages[at], "parts": parts[: ids.index(part_id)]}]
    return left, len(session.messages) - at


def _held_from(messages: list[_Message]) -> int:
    """Return the index of the first answer behind the user's last words that may still grow, or the end."""
    first = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user":
            break
        is_last = index == len(messages) - 1
        if message.role and not message.reason and (not message.is_complete or (is_last and not message.has_times)):
            first = index
    return first


def _turns(message: _Message, *, is_held: bool) -> Iterator[tuple[Turn | None, str | None]]:
    """Yield turns and reasons of a message: one turn of all the user typed, one of each text of the assistant.

    The raw text is part of the key, so that better cleaning later does not change it.
    """
    if message.reason or message.role is None:
        yield None, message.reason
        return
    if not message.is_complete and not is_held:
        yield None, "unfinished"
        return
    reasons = [_part_reason(part) for part in message.parts]
    yield from ((None, reason) for reason in reasons if reason)
    clean = user_text if message.role == "user" else assistant_text
    spoken = [(raw, clean(scrub(raw))) for raw in message.texts]
    yield from ((None, "empty") for _, text in spoken if not text)
    spoken = [(raw, text) for raw, text in spoken if text]
    if message.role == "user" and spoken:
        spoken = [("\n".join(raw for raw, _ in spoken), "\n".join(text for _, text in spoken))]
    for raw, whole in spoken:
        text, was_cut = capped(whole)
        yield (
            Turn(
                f"{message.role[0]}:{message.name}:{digest(raw)}",
                message.role,
                text,
                at=message.at,
                message_id=message.message_id,
                session_id=message.session_id,
            ),
            "capped" if was_cut else None,
        )


def _part_reason(part: dict[str, Any]) -> str | None:
    """Return why a part is no speech, or None for a text."""
    kind = string(part, "type")
    if kind not in _TEXTS:
        is_answer = kind == "tool" and mapping(mapping(part.get("state")).get("metadata")).get("answers")
        return "tool_answer" if is_answer else _PART_REASONS.get(kind or "", "unknown_block" if kind else "malformed")
    if part.get("synthetic"):
        return "synthetic"
    if part.get("ignored"):
        return "ignored"
    text = part.get("text")
    if not isinstance(text, str):
        return "malformed"
    return "redacted" if _REDACTED.fullmatch(text.strip()) else None


def _changed(messages: list[_Message], since: Cursor) -> str | None:
    """Return why the messages before the position are not those that were read, or None."""
    if since.off > len(messages):
        return "shorter"
    return "content_changed" if since.content_sha and since.content_sha != _sha(messages, since.off) else None


def _sha(messages: list[_Message], off: int) -> str:
    names = "\n".join(message.name for message in messages[:off])
    return hashlib.sha256(names.encode()).hexdigest()
