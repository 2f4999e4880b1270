"""ChatGPT's data export: `conversations.json`, its shards, the zip they come in, or one conversation (session-formats §3.5)."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mex_pipeline.adapters import export_source
from mex_pipeline.adapters.cleaning import scrub
from mex_pipeline.adapters.export_json import fields, is_null, value
from mex_pipeline.adapters.exports import INSTRUCTIONS, Conversation, Exports, Message, instant, newest_leaf, path_up
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.values import mapping, moment, string
from mex_pipeline.domain.conversation import Cursor, Role, Transcript

if TYPE_CHECKING:
    from mex_pipeline.adapters.export_json import Members

_NAME = "chatgpt"
_BESIDE = {"conversation_id", "current_node", "create_time", "update_time", "title"}
"""One of these stands beside a mapping of ChatGPT's."""

_ROLES: dict[str | None, Role] = {"user": "user", "assistant": "assistant"}
_ROLE_REASONS = {"system": "system", "developer": "system", "tool": "tool_result"}
_KINDS = {
    **dict.fromkeys(("thoughts", "reasoning_recap"), "thinking"),
    **dict.fromkeys(("code",), "tool_use"),
    **dict.fromkeys(("execution_output", "tether_quote", "tether_browsing_display"), "tool_result"),
    **dict.fromkeys(("system_error",), "api_error"),
    **dict.fromkeys(("model_editable_context",), "model_memory"),
}
_PARTS = {
    "image_asset_pointer": "image",
    **dict.fromkeys(("audio_asset_pointer", "real_time_user_audio_video_asset_pointer"), "audio"),
}
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]|【[^【】†\\n]*+†[^【】\\n]*】")
_QUOTED = re.compile(r"The user provided (?>.*?```)\n?(?P<words>.*)```\s*", re.DOTALL)
"""How ChatGPT hands custom instructions to the model: its own words, and the person's in a fence."""


class ChatGptAdapter:
    """Reads exports of ChatGPT."""

    name = _NAME

    def detect(self, path: Path) -> bool:
        """True when the first conversation is ChatGPT's, or a zip does not let it be seen: reading tells why."""
        head = export_source.look(path)
        return head.text is None or _is_ours(head.keys)

    def conversations(self, path: Path) -> Iterator[Transcript] | None:
        """Yield every conversation, whole; None for a single one that is no array (port.Archive).

        Custom instructions come once, as a document, in a conversation `custom-instructions` behind the others.
        """
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
    return "mapping" in keys and not _BESIDE.isdisjoint(keys)


def _conversation(top: "Members") -> Conversation | None:
    if "mapping" not in top:
        return None
    nodes = {name: fields(raw) for name, raw in fields(top["mapping"]).items()}
    parents = _parents(nodes)
    heard = {name for name, node in nodes.items() if not is_null(node.get("message"))}
    leaf = value(top.get("current_node"))
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = newest_leaf([name for name in nodes if name in heard], parents, lambda name: _time(nodes[name]))
    path = [name for name in (path_up(leaf, parents) if leaf else ()) if name in heard]
    first, last = value(top.get("create_time")), value(top.get("update_time"))
    names = {key: value(top.get(key)) for key in ("conversation_id", "id")}
    return Conversation(
        session_id=string(names, "conversation_id") or string(names, "id") or digest("\n".join(nodes)),
        changed_at=instant(last) or instant(first),
        path=tuple(path),
        messages=_messages(path, nodes, moment(first)),
        dropped=+Counter(off_path=len(heard) - len(path)),
    )


def _time(node: "Members") -> int | None:
    return instant(value(fields(node.get("message")).get("create_time")))


def _parents(nodes: "dict[str, Members]") -> dict[str, str]:
    """Return who is whose parent; where a node does not say it, another may name it as its child."""
    found = {name: value(node.get("parent")) for name, node in nodes.items()}
    parents = {name: parent for name, parent in found.items() if isinstance(parent, str) and parent in nodes}
    if len(nodes) - len(parents) > 1:
        for name, node in nodes.items():
            children = value(node.get("children"))
            for child in children if isinstance(children, list) else ():
                if isinstance(child, str) and child in nodes:
                    parents.setdefault(child, name)
    return parents


def _messages(path: list[str], nodes: "dict[str, Members]", at: str | None) -> Iterator[Message]:
    """Yield the messages of a path; one without a time has its parent's, the first the conversation's."""
    for name in path:
        found = value(nodes[name]["message"])
        at = moment(mapping(found).get("create_time")) or at
        yield _message(found, name, at) if isinstance(found, dict) else Message(name, reason="malformed", at=at)


def _message(found: dict[str, Any], node: str, at: str | None) -> Message:
    content, metadata = mapping(found.get("content")), mapping(found.get("metadata"))
    kind = string(content, "content_type") or ""
    name = string(found, "id") or scrub(node)
    if kind == "user_editable_context" or metadata.get("is_user_system_message"):
        return Message(name, "user", tuple(_instructions(content, metadata)), INSTRUCTIONS, at)
    role = string(mapping(found.get("author")), "role")
    reason = _reason(role, kind, found, metadata)
    if reason:
        return Message(name, reason=reason, at=at)
    texts, notes = _parts(content.get("parts"))
    if role == "assistant":
        texts = [_CITATION.sub("", text) for text in texts]
    return Message(name, _ROLES[role], tuple(texts), at=at, notes=tuple(notes))


def _reason(role: str | None, kind: str, found: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    """Return why a message is not what the person or the model said to the other (session-formats §3.5)."""
    if role not in _ROLES:
        return _ROLE_REASONS.get(role or "", "unknown_role")
    if kind not in ("text", "multimodal_text"):
        return (
            "tool_result" if kind.startswith("tether_") else _KINDS.get(kind, "unknown_type" if kind else "malformed")
        )
    if found.get("recipient") not in (None, "all"):
        return "tool_use"
    return "hidden" if metadata.get("is_visually_hidden_from_conversation") else None


def _parts(parts: Any) -> tuple[list[str], list[str]]:
    """Return the texts of a message, spoken ones too, and reasons for its other parts."""
    texts: list[str] = []
    notes: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        kind = string(mapping(part), "content_type")
        text = part if isinstance(part, str) else mapping(part).get("text")
        if isinstance(part, str) or (kind == "audio_transcription" and isinstance(text, str)):
            texts.append(str(text))
        else:
            notes.append(_PARTS.get(kind or "", "unknown_block" if kind else "malformed"))
    return texts, notes


def _instructions(content: dict[str, Any], metadata: dict[str, Any]) -> Iterator[str]:
    """Yield what a person wrote about themselves and how they want answers, without the words around it."""
    own = mapping(metadata.get("user_context_message_data"))
    told = [string(own, key) for key in ("about_user_message", "about_model_message")]
    for text in told if any(told) else [string(content, key) for key in ("user_profile", "user_instructions")]:
        if text:
            quoted = _QUOTED.fullmatch(text.strip())
            yield quoted["words"] if quoted else text


_EXPORTS = Exports(_NAME, _conversation, _is_ours)
