"""What is taken out of a message before it becomes a turn: injected blocks, long code, unstorable characters."""

import re
from typing import Any

TEXT_CAP = 8_000
"""Longest text of an agent's turn in characters: pasted logs are "typed" too (session-formats §2)."""

CODE_LINES = 20
"""Fenced code of the assistant with more lines than this is only counted (session-formats §2)."""

_HEAD, _TAIL = 5_900, 2_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_INJECTED = re.compile(r"<(?P<close>/)?(?:system[-_]reminder|ide_[a-z_]+)\b[^<>]*>", re.IGNORECASE)
_THOUGHT = re.compile(r"<(?P<close>/)?(?:thinking|antthinking|antartifact)\b[^<>]*>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")


def scrub(text: str) -> str:
    """Return `text` with lone surrogates as U+FFFD and without NUL: SQLite and UTF-8 take neither."""
    return _UNSTORABLE.sub(lambda match: "" if match[0] == "\0" else "\ufffd", text)


def scrub_all(value: Any) -> Any:
    """Return parsed JSON with every string in it, keys included, scrubbed."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_all(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub_all(item) for key, item in value.items()}
    return value


def user_text(text: str) -> str:
    """Return what the person wrote: without `<system-reminder>` and `<ide_…>` blocks, trimmed (session-formats §2)."""
    return _without(text, _INJECTED).strip()


def assistant_text(text: str) -> str:
    """Return what the assistant said: without thinking and artifacts, long code as `[code n lines]`, trimmed."""
    return _short_code(_without(text, _THOUGHT)).strip()


def capped(text: str) -> tuple[str, bool]:
    """Return `text` in at most TEXT_CAP characters, keeping head and tail, and whether it was cut."""
    if len(text) <= TEXT_CAP:
        return text, False
    return f"{text[:_HEAD]}\n[cut {len(text) - _HEAD - _TAIL} characters]\n{text[-_TAIL:]}", True


def _without(text: str, tag: re.Pattern[str]) -> str:
    """Return `text` without the blocks between `tag`s.

    A block ends where its nesting closes, or at the last closing tag if it never does: a stray tag inside must not let
    injected words pass as the speaker's. A tag that nothing closes is speech about the tag and stays.
    """
    kept: list[str] = []
    done = begin = last = depth = 0
    for found in tag.finditer(text):
        if not found["close"]:
            if depth == 0:
                begin = found.start()
            depth += 1
        elif depth > 0:
            depth -= 1
            last = found.end()
            if depth == 0:
                kept.append(text[done:begin])
                done = last
    if depth > 0 and last > begin:
        kept.append(text[done:begin])
        done = last
    return "".join([*kept, text[done:]])


def _short_code(text: str) -> str:
    """Return `text` with closed fences of more than CODE_LINES lines replaced; an unclosed fence stays."""
    kept: list[str] = []
    opening = ""
    begin = 0
    for line in text.split("\n"):
        kept.append(line)
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if not opening:
            opening, begin = fence["mark"], len(kept)
        elif fence["mark"].startswith(opening) and not fence["info"].strip():
            lines = len(kept) - begin - 1
            if lines > CODE_LINES:
                kept[begin - 1 :] = [f"[code {lines} lines]"]
            opening = ""
    return "\n".join(kept)
