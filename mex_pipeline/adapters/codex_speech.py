"""Which words of a Codex record a person typed, and why the rest is left out (session-formats §3.2)."""

import json
import re
from functools import cache
from typing import Any

from mex_pipeline.adapters.cleaning import scrub_all, user_text
from mex_pipeline.adapters.records import text_of
from mex_pipeline.adapters.values import mapping

ITEM_REASONS = {
    "reasoning": "thinking",
    "agent_message": "agent",
    "compaction": "compact_summary",
    "context_compaction": "compact_summary",
    "ghost_snapshot": "snapshot",
}
"""Why a response item that is no message gives no turn; calls and their results are told by the end of their type."""

RECORD_REASONS = {
    "session_meta": "session_meta",
    "turn_context": "context",
    "compacted": "compact_summary",
    "event_msg": "event",
    "inter_agent_communication": "agent",
    **dict.fromkeys(("world_state", "token_usage_record", "state"), "state"),
}

_INJECTED = (
    "# agents.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<instructions>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<goal_context>",
    "<codex_internal_context",
    "<recommended_plugins>",
    "<user_shell_command>",
    "<hook_prompt",
    "warning: the maximum number of unified exec processes",
    "warning: apply_patch was requested via exec_command",
    "warning: your account was flagged",
)
"""How texts begin that the client wrote in the user's name, in lower case."""

_WRAPPED = re.compile(r"\s*<([a-z]+(?:_[a-z]+)+)\b[^>]*>.*</\1>\s*", re.DOTALL | re.IGNORECASE)
_IMAGE_TAG = re.compile(r"\s*(?:<image\b[^>]*>|</image>)\s*")
_NOTE = "user_note: "
"""What the client puts before words that were added to a choice."""
_IDE = re.compile(r"\A\s*# .*^## My request for Codex:[^\n]*\n?", re.DOTALL | re.MULTILINE)


@cache
def item_reason(kind: str) -> str:
    """Return why a response item of this type, which is no message, gives no turn."""
    if kind in ITEM_REASONS:
        return ITEM_REASONS[kind]
    if kind.endswith("_output"):
        return "tool_result"
    return "tool_use" if kind.endswith("_call") or kind == "additional_tools" else "unknown_type"


def world_zone(payload: dict[str, Any]) -> str | None:
    """Return the time zone that a `world_state` record tells: newer clients write it there, not in `turn_context`."""
    return text_of(mapping(mapping(payload.get("state")).get("environments")), "timezone")


def event_text(payload: dict[str, Any]) -> str | None:
    """Return what a person typed by an event that says so, empty when nothing of it was; None for other events.

    Old clients told of injected texts in the same way, by their `kind`; newer ones complete an item.
    """
    match text_of(payload, "type"):
        case "user_message":
            if text_of(payload, "kind") not in (None, "plain"):
                return ""
            return _said([payload.get("message")], is_certain=True)
        case "item_completed":
            item = mapping(payload.get("item"))
            content = item.get("content")
            if text_of(item, "type") == "UserMessage" and isinstance(content, list):
                return _said([mapping(block).get("text") for block in content], is_certain=True)
    return None


def item_text(payload: dict[str, Any]) -> tuple[str, str, bool]:
    """Return of a message item of the user all its text, what of it the person seems to have typed, and whether that is certain.

    It is certain where the client says of each block who made it. Otherwise the injected ones are told by how they begin.
    """
    blocks = _texts(payload)
    makers = _makers(payload)
    is_certain = len(makers) == len(blocks) > 0 and all(makers)
    if is_certain:
        blocks = [text for text, maker in zip(blocks, makers, strict=True) if maker == "user"]
    return _said(blocks, is_certain=True), _said(blocks, is_certain=is_certain), is_certain


def asked(payload: dict[str, Any]) -> frozenset[str] | None:
    """Return which of the questions of a call to the person are about secrets, by their ids; None for other calls."""
    if text_of(payload, "name") != "request_user_input":
        return None
    listed = _parsed(payload.get("arguments")).get("questions")
    questions = [mapping(question) for question in listed] if isinstance(listed, list) else []
    return frozenset(text_of(question, "id") or "" for question in questions if question.get("isSecret"))


def answers(payload: dict[str, Any], secrets: frozenset[str]) -> list[str]:
    """Return what a person answered in the output of such a call: what was chosen and what was added, secrets left out."""
    replies = mapping(_parsed(payload.get("output")).get("answers"))
    listed = [mapping(reply).get("answers") for name, reply in replies.items() if name not in secrets]
    words = [word for found in listed if isinstance(found, list) for word in found if isinstance(word, str)]
    return [text for word in words if (text := user_text(word.removeprefix(_NOTE)))]


def assistant_raw(payload: dict[str, Any]) -> str:
    """Return what the model said in a message item, as it stands there."""
    return "\n".join(text for text in _texts(payload) if text)


def _parsed(value: Any) -> dict[str, Any]:
    """Return an object that stands as JSON inside a string, empty for anything else."""
    try:
        return mapping(scrub_all(json.loads(value))) if isinstance(value, str) else mapping(value)
    except (ValueError, RecursionError):
        return {}


def _texts(payload: dict[str, Any]) -> list[str | None]:
    content = payload.get("content")
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [text_of(mapping(block), "text") for block in blocks]


def _makers(payload: dict[str, Any]) -> list[str | None]:
    """Return who made each block of a message, as newer clients write beside it."""
    listed = mapping(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_metadata")
    blocks = listed if isinstance(listed, list) else []
    return [text_of(mapping(mapping(block).get("provenance")), "type") for block in blocks]


def _said(texts: list[Any], *, is_certain: bool) -> str:
    """Return the words of the person in these texts: where an editor put its context before them, what is behind its mark."""
    kept = [text for text in texts if isinstance(text, str) and not _is_injected(text, is_certain=is_certain)]
    return "\n".join(text for one in kept if (text := _IDE.sub("", one, count=1).strip()))


def _is_injected(text: str, *, is_certain: bool) -> bool:
    """True for what the client put in; where a person is said to have typed it, only for a whole block that it is known for."""
    if _IMAGE_TAG.fullmatch(text):
        return True
    is_known = text.lstrip()[:80].lower().startswith(_INJECTED)
    is_block = _WRAPPED.fullmatch(text) is not None
    return is_known and is_block if is_certain else is_known or is_block
