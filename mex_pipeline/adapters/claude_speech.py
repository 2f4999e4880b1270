"""What in one Claude Code record a person or the model said, and why the rest of it is left out (session-formats §3.1).

Speech is a `Said`, everything else the reason under which it is counted.
"""

import re
from dataclasses import dataclass
from typing import Any

from mex_pipeline.adapters.cleaning import assistant_text, left_out, of_one_message, user_text
from mex_pipeline.adapters.files import is_own_folder
from mex_pipeline.adapters.records import text_of
from mex_pipeline.adapters.values import mapping
from mex_pipeline.domain.conversation import Kind

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
_REJECTION = re.compile(r"tool use was rejected.{0,300}?the user said:", re.DOTALL | re.IGNORECASE)
_ADVICE = "\n\nNote: The user's next message may contain a correction or preference."
"""What some versions tell the model after the user's words in a rejection."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words of a speaker, cleaned. `raw` is what the client wrote, `place` tells several answers in a record apart."""

    text: str
    kind: Kind = "typed"
    raw: str = ""
    place: str = ""


def of_user(value: dict[str, Any]) -> tuple[list[Said], list[str]]:
    """Return what the person said in a user record, and the reasons of all that is left out.

    All that was typed is one text, the first of the list; each answer to a tool is another (level 2 of session-formats
    §2: the words of a rejection, each answer to a question, words added to a permission).
    """
    if flag := _user_flag(value):
        return [], [flag]
    typed: list[Said] = []
    answers: list[Said] = []
    reasons: list[str] = []
    is_human = _origin(value) == "human"
    blocks = _blocks(value)
    texts = of_one_message(filter(None, map(_typed, blocks)))
    for index, block in enumerate(blocks):
        raw = _typed(block) and next(texts)
        if block.get("type") == "tool_result":
            found: list[Said] | Said | str = _answers(block, value, index, is_first=not answers) or "tool_result"
        else:
            found = _block_reason(block) if raw is None else typed_text(raw, is_human=is_human)
        if isinstance(found, str):
            reasons.append(found)
        elif isinstance(found, Said):
            typed.append(found)
            reasons += left_out(raw or "")
        else:
            answers += found
    if typed:
        kinds = {one.kind for one in typed}
        typed = [Said("\n".join(one.text for one in typed), kinds.pop() if len(kinds) == 1 else "typed")]
    added = [one for one in answers if all(one.text != other.text for other in typed)]
    return typed + added, reasons + ["duplicate"] * (len(answers) - len(added))


def of_assistant(value: dict[str, Any]) -> tuple[list[Said], list[str]]:
    """Return the texts of an assistant record and the reasons of all that is left out."""
    if flag := _assistant_flag(value):
        return [], [flag]
    texts: list[Said] = []
    reasons: list[str] = []
    for block in _blocks(value):
        raw = _typed(block)
        if raw is None:
            reasons.append(_block_reason(block))
        elif text := assistant_text(raw):
            texts.append(Said(text, raw=raw))
        else:
            reasons.append("empty")
    return texts, reasons


def of_queued(attachment: dict[str, Any], value: dict[str, Any]) -> Said | str:
    """Return what a person said while the model was at work, or why an attachment `queued_command` is not that."""
    if flag := _machine_flag(value):
        return flag
    if attachment.get("isMeta"):
        return "meta"
    origin = _origin(attachment) or _origin(value)
    if origin not in (None, "human") or attachment.get("commandMode") not in (None, "prompt"):
        return "notification"
    found = [typed_text(raw, is_human=False) for raw in of_one_message(_texts(attachment.get("prompt")))]
    said = [one.text for one in found if isinstance(one, Said)]
    if said:
        return Said("\n".join(said), "queued")
    return next((one for one in found if isinstance(one, str)), "malformed")


def typed_text(raw: str, *, is_human: bool) -> Said | str:
    """Return what a person typed in a text of a user record, or what the text is instead.

    `is_human` says that the client names a human as its origin: then a phrase that a person could type is no sign of a
    machine. Of a slash command only its arguments are speech.
    """
    cleaned = user_text(raw)
    mark = _INTERRUPTED.match(cleaned) if cleaned.startswith("[") else None
    text = cleaned[mark.end() :].strip() if mark else cleaned
    if not text:
        return "interrupted" if cleaned else next(iter(left_out(raw)), "empty")
    start = text[:80].lower()
    for prefix, reason in _WRAPPERS if is_human else _WRAPPERS + _PHRASES:
        if start.startswith(prefix):
            given = text.partition("<command-args>")[2].rpartition("</command-args>")[0] if reason == "command" else ""
            args = user_text(given)
            return Said(args, "command_args") if args else reason
    return Said(text)


def answers_tool(value: dict[str, Any]) -> bool:
    """True for a user record with a tool's result: what a person says in it is no prompt, it belongs to the tool."""
    return any(block.get("type") == "tool_result" for block in _blocks(value))


def _answers(block: dict[str, Any], value: dict[str, Any], index: int, *, is_first: bool) -> list[Said]:
    """Return the person's words in a tool result; those the record names apart belong to its first result."""
    words: list[str] = []
    if is_first:
        feedback = text_of(value, "userFeedback")
        words = [feedback] if feedback else _chosen(value)
    if not words and block.get("is_error"):
        words = [_rejection("\n".join(_texts(block.get("content"))))]
    texts = [text for one in words if (text := user_text(one))]
    return [
        Said(text, "tool_answer", place=f":{index}.{number}" if number else f":{index}")
        for number, text in enumerate(texts)
    ]


def _rejection(content: str) -> str:
    """Return what the user said while refusing a tool: all behind the client's words, but not its advice to the model."""
    found = _REJECTION.search(content[:1000])
    return content[found.end() :].partition(_ADVICE)[0] if found else ""


def _chosen(value: dict[str, Any]) -> list[str]:
    """Return the answers to the question tool, each with the note that was added to it."""
    result = value.get("toolUseResult")
    if not isinstance(result, dict) or not isinstance(result.get("answers"), dict):
        return []
    notes = mapping(result.get("annotations"))
    answers: list[str] = []
    for question, answer in result["answers"].items():
        chosen = [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []
        words = ", ".join(one for one in chosen if isinstance(one, str))
        note = text_of(mapping(notes.get(question)), "notes") or ""
        answers.append(f"{words}\n{note}")
    return answers


def _texts(content: Any) -> list[str]:
    """Return the texts of a content that is a string or a list of blocks."""
    parts = [mapping(part).get("text") for part in content] if isinstance(content, list) else [content]
    return [part for part in parts if isinstance(part, str)]


def _blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content blocks of a user or assistant record; a plain string or nothing is one text block."""
    content = mapping(value.get("message")).get("content")
    if isinstance(content, list) and content:
        return [mapping(block) for block in content]
    return [{"type": "text", "text": "" if content == [] else content}]


def _typed(block: dict[str, Any]) -> str | None:
    """Return the text of a text block."""
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _machine_flag(value: dict[str, Any]) -> str | None:
    """Return why a whole record is not this conversation."""
    if value.get("isSidechain"):
        return "sidechain"
    if value.get("sessionKind") == "bg":
        return "background"
    folder = value.get("cwd")
    if isinstance(folder, str) and is_own_folder(folder):
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
    return "synthetic" if mapping(value.get("message")).get("model") == "<synthetic>" else None


def _block_reason(block: dict[str, Any]) -> str:
    kind = text_of(block, "type") or "text"
    if kind == "text":
        return "malformed"
    return "tool_result" if kind.endswith("tool_result") else _BLOCK_REASONS.get(kind, "unknown_block")


def _origin(value: dict[str, Any]) -> str | None:
    origin = value.get("origin")
    return text_of(origin, "kind") if isinstance(origin, dict) else None
