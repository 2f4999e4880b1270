"""Whether a file is a session of CodeBuddy Code or WorkBuddy, and what in one of its records was said (session-formats §3.8)."""

import re
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.cleaning import left_out, user_text
from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.records import Record, records, text_of
from mex_pipeline.adapters.values import mapping, number
from mex_pipeline.domain.conversation import Kind

HEAD = 1024 * 1024
"""How many bytes at the beginning decide what the file is."""

RECORD_REASONS = {
    "function_call": "tool_use",
    "function_call_result": "tool_result",
    "function_call_output": "tool_result",
    "reasoning": "thinking",
    "file-history-snapshot": "snapshot",
    "ai-title": "title",
    "topic": "title",
    "summary": "compact_summary",
}

_FLAGS = {
    "isSubAgent": "sidechain",
    "isTeammateMessage": "sidechain",
    "isMeta": "meta",
    **dict.fromkeys(("isCompactInternal", "isSummary", "isCompacted", "isCompact"), "compact_summary"),
    "skipRun": "synthetic",
}
"""Of `providerData`: what says that a message is not the conversation's, and what it is then."""

_WRAPPERS = (
    ("<local-command-caveat>", "caveat"),
    ("<local-command-std", "command_output"),
    ("<bash-std", "command_output"),
    ("<bash-input>", "command"),
    ("<command-", "command"),
    ("<task-notification>", "notification"),
    ("<teammate-message", "notification"),
    ("<cb_summary", "compact_summary"),
    ("<conversation_history_summary", "compact_summary"),
    ("# agents.md instructions", "injected"),
    ("<environment_context>", "injected"),
    ("<user_instructions>", "injected"),
)
"""How texts begin that the client wrote in the user's name, in lower case."""

_TEXTS = ("input_text", "output_text", "text")
_HOME = re.compile(r"[/\\]\.codebuddy(?:[/\\]|$)")


def detect(path: Path, *, is_codebuddy: bool) -> bool:
    """True when the beginning of the file holds more of its records than unusable lines.

    CodeBuddy and WorkBuddy write the same; they are told apart by a `.codebuddy` folder in the path.
    """
    if bool(_HOME.search(str(path))) != is_codebuddy:
        return False
    with opened(path) as file:
        score = 0
        for record in records(file, 0, min(size_of(file), HEAD)):
            score += is_workbuddy(record) - (record.fault is not None)
        return score > 0


def is_workbuddy(record: Record) -> bool:
    """True for a record that no other agent writes: a type, an id and a time in milliseconds side by side."""
    value = record.value
    kind = text_of(value, "type")
    if kind is None or text_of(value, "id") is None or number(value.get("timestamp")) is None:
        return False
    return kind in RECORD_REASONS or (kind == "message" and "role" in value and "message" not in value)


def flag(value: dict[str, Any]) -> str | None:
    """Return why a whole message is not of this conversation, by what the client says of it."""
    about = mapping(value.get("providerData"))
    if about.get("agent") == "compact" or about.get("compactType"):
        return "compact_summary"
    return next((reason for name, reason in _FLAGS.items() if about.get(name) is True), None)


def raw_text(value: dict[str, Any]) -> str:
    """Return the text blocks of a message, joined."""
    content = value.get("content")
    if isinstance(content, str):
        return content
    blocks = [mapping(block) for block in content] if isinstance(content, list) else []
    return "\n".join(text_of(block, "text") or "" for block in blocks if text_of(block, "type") in _TEXTS)


def typed(raw: str) -> tuple[str, Kind, list[str]]:
    """Return what a person typed of a user's text, how, and the reasons of all that is left out.

    Where there are queries in tags, they are all that is the person's: the rest is context.
    """
    reasons = left_out(raw)
    queries = _inside("user_query", raw)
    text = user_text("\n".join(queries) if queries else raw)
    start = text[:80].lower()
    for prefix, reason in _WRAPPERS:
        if start.startswith(prefix):
            words = user_text("\n".join(_inside("command-args", text))) if reason == "command" else ""
            return (words, "command_args", reasons) if words else ("", "typed", [reason])
    return text, "typed", reasons if text else reasons[:1] or ["empty"]


def _inside(tag: str, text: str) -> list[str]:
    """Return what stands in each closed element, in order."""
    *closed, _ = text.split(f"</{tag}>")
    return [part.partition(f"<{tag}>")[2] for part in closed if f"<{tag}>" in part]
