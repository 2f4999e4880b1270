"""Claude.ai's data export: `conversations.json`, its zip, or one conversation of the web API (session-formats §3.6)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mex_pipeline.adapters import export_source
from mex_pipeline.adapters.export_json import fields, items, value
from mex_pipeline.adapters.exports import Conversation, Exports, Message, instant, newest_leaf, path_up
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.values import mapping, moment, string
from mex_pipeline.domain.conversation import Cursor, Role, Transcript

if TYPE_CHECKING:
    from mex_pipeline.adapters.export_json import Members

_NAME = "claude-ai"
_MESSAGES = "chat_messages"
_ROOT = "00000000-0000-4000-8000-000000000000"
"""The parent of every first message."""

_SENDERS: dict[str | None, Role] = {"human": "user", "assistant": "assistant"}
_BLOCKS = {
    **dict.fromkeys(("thinking", "redacted_thinking"), "thinking"),
    "tool_use": "tool_use",
    "tool_result": "tool_result",
    "image": "image",
    "document": "document",
}


class ClaudeAiAdapter:
    """Reads exports of Claude.ai."""

    name = _NAME

    def detect(self, path: Path) -> bool:
        """True when the first conversation is Claude.ai's."""
        return _is_ours(export_source.look(path).keys)

    def conversations(self, path: Path) -> Iterator[Transcript] | None:
        """Yield every conversation, whole; None for a single one that is no array (port.Archive)."""
        return _EXPORTS.conversations(path)

    def read(
        self,
        path: Path,
        since: Cursor,
        *,
        quiet: bool,  # noqa: ARG002 - of a finished file nothing is held
        until: int | None = None,
    ) -> Transcript:
        """Return the turns of a file's single conversation, along the path that was shown last; as `Exports.read`."""
        return _EXPORTS.read(path, since, until)


def _is_ours(keys: frozenset[str]) -> bool:
    return _MESSAGES in keys


def _conversation(top: "Members") -> Conversation | None:
    if _MESSAGES not in top:
        return None
    messages = [fields(raw) for raw in items(top[_MESSAGES])]
    known = {key: value(top.get(key)) for key in ("uuid", "created_at", "updated_at", "current_leaf_message_uuid")}
    named = _named(messages)
    parents = _parents(named)
    leaf = known["current_leaf_message_uuid"]
    if not isinstance(leaf, str) or leaf not in named:
        leaf = newest_leaf(named, parents, lambda name: instant(value(named[name].get("created_at"))))
    path = path_up(leaf, parents) if leaf else ()
    return Conversation(
        session_id=string(known, "uuid") or digest("\n".join(named)),
        changed_at=instant(known["updated_at"]) or instant(known["created_at"]),
        path=path,
        messages=_spoken(path, named, moment(known["created_at"])),
        dropped=+Counter(off_path=len(messages) - len(path)),
    )


def _named(messages: "list[Members]") -> "dict[str, Members]":
    """Return the messages by their uuid; one that has none, or another's, by its place and its words."""
    named: dict[str, Members] = {}
    for place, message in enumerate(messages):
        uuid = string({"uuid": value(message.get("uuid"))}, "uuid")
        if uuid is None or uuid in named:
            uuid = digest(f"{place} {value(message.get('text'))} {value(message.get('content'))}")
        named[uuid] = message
    return named


def _parents(named: "dict[str, Members]") -> dict[str, str]:
    """Return who is whose parent; a message that does not say it, or names an unknown one, follows the one before it."""
    parents: dict[str, str] = {}
    before: str | None = None
    for name, message in named.items():
        parent = value(message.get("parent_message_uuid"))
        if not isinstance(parent, str) or (parent not in named and parent != _ROOT):
            parent = before
        if parent is not None and parent in named:
            parents[name] = parent
        before = name
    return parents


def _spoken(path: tuple[str, ...], named: "dict[str, Members]", at: str | None) -> Iterator[Message]:
    """Yield the messages of a path; one without a time has its parent's, the first the conversation's."""
    for name in path:
        message = named[name]
        at = moment(value(message.get("created_at"))) or at
        sender = value(message.get("sender"))
        role = _SENDERS.get(sender) if isinstance(sender, str) else None
        if role is None:
            yield Message(name, reason="unknown_role" if message else "malformed", at=at)
            continue
        texts, notes = _blocks(value(message.get("content")), value(message.get("text")))
        yield Message(name, role, tuple(texts), at=at, notes=(*notes, *_pasted(message)))


def _blocks(content: Any, text: Any) -> tuple[list[str], list[str]]:
    """Return the texts of a message and reasons for its other blocks.

    Where there are blocks, `text` repeats them and holds placeholders for those that are none (session-formats §3.6).
    """
    texts: list[str] = []
    notes: list[str] = []
    for block in content if isinstance(content, list) else ():
        kind, said = string(mapping(block), "type"), mapping(block).get("text")
        if kind == "text" and isinstance(said, str):
            texts.append(said)
        else:
            notes.append(_BLOCKS.get(kind or "", "unknown_block" if kind and kind != "text" else "malformed"))
    if isinstance(text, str) and not notes and not any(one.strip() for one in texts):
        return [text], notes
    return texts, notes


def _pasted(message: "Members") -> Iterator[str]:
    """Yield a reason for each thing that hangs on a message: pasted material is not speech."""
    for _ in items(message.get("attachments")):
        yield "document"
    for raw in items(message.get("files")):
        yield "image" if value(fields(raw).get("file_kind")) == "image" else "document"


_EXPORTS = Exports(_NAME, _conversation, _is_ours)
