"""What is taken out of a message before it becomes a turn.

What the person keeps private, blocks that a client or a memory tool put in, long code, unstorable characters.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal

TEXT_CAP = 8_000
"""Longest text of an agent's turn in characters: pasted logs are "typed" too (session-formats §2)."""

CODE_LINES = 20
"""Fenced code of the assistant with more lines than this is only counted (session-formats §2)."""

_HEAD, _TAIL, _WORD = 5_900, 2_000, 200
_HALF_AT_END, _HALF_AT_START = re.compile(r"(?<=\s)\S+\Z"), re.compile(r"\A\S+(?=\s)")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

_INJECTED_TAGS = (
    r"system[-_]reminder",  # Claude Code, WorkBuddy
    r"ide_[a-z_]+",  # the IDE extensions of Claude Code
    r"persisted-output",  # Claude Code: where a long output was put
    r"user-prompt-submit-hook",  # Claude Code: what such a hook printed
    r"hook[-_]context",  # Gemini CLI and others: additionalContext of a hook
    r"system[-_]context",  # prompt hooks of OpenCode plugins
    r"system[-_]instructions?",  # what claude-mem takes out as well
    r"claude-mem-context",  # claude-mem
    r"supermemory-(?:context|containers)",  # claude-supermemory, its OpenClaw and OpenCode plugins
    r"mem0-context",  # mem0's plugins
    r"agentmemory-context",  # agentmemory
    r"openviking-context",  # OpenViking
    r"byterover-context",  # ByteRover (cipher)
    r"membase-(?:context|handoff)",  # Membase
    r"nowledge[-_](?:mem[-_]context|context[-_]bundle)",  # Nowledge Mem
    r"graphiti-context",  # Graphiti's plugins
    r"goldfish-context",  # goldfish
    r"letta(?:_(?:context|message|memory_blocks|memory_update))?",  # Letta's subconscious
    r"memory_blocks",  # Letta, OpenCode's agent memory
    r"hindsight_(?:memories|context)",  # Hindsight
    r"(?:local-)?memory[-_]context",  # Hermes and others
    r"relevant[-_]memories",  # OpenClaw's memory plugins, LanceDB
    r"user[-_]memories",  # Pipecat and others
    r"(?:recalled|retrieved)[-_](?:memory|memories|experience)",  # recall hooks
)
"""Blocks that clients, hooks and other memory tools put before or into a prompt, by the name of their tag."""


@cache
def _tag(names: str) -> re.Pattern[str]:
    """Return what finds the opening and closing tags of these names, with any attributes; a self-closed tag is none.

    The brackets may be full-width, as a Chinese keyboard gives them.
    """
    return re.compile(rf"[<＜](?P<close>[/／])?\s*(?:{names})(?:\s[^<>＜＞]*)?(?<![/／])[>＞]", re.IGNORECASE)


def _has_tag(text: str) -> bool:
    return ("<" in text or "＜" in text) and _tag(_ANY).search(text) is not None


_INJECTED = "|".join(_INJECTED_TAGS)
_OURS = "mex-memory"
_PRIVATE = "private"
_THOUGHT = "thinking|antthinking|antartifact"
_DEEPEST = 100
"""How many private blocks inside each other are told apart from one text of a message to the next."""
_ANY = f"{_INJECTED}|{_OURS}|{_PRIVATE}|{_THOUGHT}"
_Unclosed = Literal["to_last_tag", "to_the_end", "stays"]
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`]*)")


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
    """Return what the person wrote, trimmed: no injected block, nothing of meX's own, nothing private.

    Both `<private>` and `<mex-memory>` reach to the end of the message when nothing closes them (session-formats §2,
    integrations §7.6, product F2, F3).
    """
    return _outside(text)[0].strip()


def of_one_message(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts of one message for cleaning: what one leaves open as private goes on in the next.

    An image in a private passage makes two texts of it.
    """
    depth = 0
    for text in texts:
        yield f"<{_PRIVATE}>" * depth + text
        if _has_tag(text):
            kept = _without(_without(text, _INJECTED)[0], _OURS, unclosed="to_the_end")[0]
            for found in _tag(_PRIVATE).finditer(kept):
                depth = max(0, depth - 1) if found["close"] else min(depth + 1, _DEEPEST)


def assistant_text(text: str) -> str:
    """Return what the assistant said, cleaned as the user's text: no thinking, no artifacts, long code counted."""
    if _has_tag(text):
        text = _without(_outside(text)[0], _THOUGHT)[0]
    return _short_code(text).strip()


def left_out(text: str) -> list[str]:
    """Return the reason of each block that `user_text` takes out: `injected`, `private`."""
    return _outside(text)[1]


def without_closed_private(text: str) -> str:
    """Return `text` without the private blocks that are closed, for a dialogue whose turns are not yet told apart."""
    return _without(text, _PRIVATE, unclosed="stays")[0]


def capped(text: str) -> tuple[str, bool]:
    """Return `text` in at most TEXT_CAP characters, keeping head and tail, and whether it was cut.

    It is cut between words where there are any: half a key would pass as no secret (product F2).
    """
    if len(text) <= TEXT_CAP:
        return text, False
    head, tail = text[:_HEAD], text[-_TAIL:]
    if not text[_HEAD].isspace():
        head = head[:-_WORD] + _HALF_AT_END.sub("", head[-_WORD:])
    if not text[-_TAIL - 1].isspace():
        tail = _HALF_AT_START.sub("", tail[:_WORD]) + tail[_WORD:]
    return f"{head}\n[cut {len(text) - len(head) - len(tail)} characters]\n{tail}", True


def _outside(text: str) -> tuple[str, list[str]]:
    """Return `text` without injected and private blocks, and a reason for each."""
    if not _has_tag(text):
        return text, []
    text, injected = _without(text, _INJECTED)
    text, ours = _without(text, _OURS, unclosed="to_the_end")
    text, private = _without(text, _PRIVATE, unclosed="to_the_end")
    return text, ["injected"] * (injected + ours) + ["private"] * private


def _without(text: str, names: str, *, unclosed: _Unclosed = "to_last_tag") -> tuple[str, int]:
    """Return `text` without the blocks between tags of these names, and how many there were.

    A block ends where its nesting closes. One that never does ends with the last closing tag, for a stray tag inside
    must not let injected words pass as the speaker's; a tag that nothing closes is speech about the tag. What was meant
    to stay private must not leave by a typing error: there a block may reach `to_the_end`.
    """
    kept: list[str] = []
    done = begin = last = depth = 0
    for found in _tag(names).finditer(text):
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
    if depth > 0 and (unclosed == "to_the_end" or (unclosed == "to_last_tag" and last > begin)):
        kept.append(text[done:begin])
        done = len(text) if unclosed == "to_the_end" else last
    return "".join([*kept, text[done:]]), len(kept)


def _short_code(text: str) -> str:
    """Return `text` with closed fences of more than CODE_LINES lines replaced; an unclosed fence stays."""
    if text.count("\n") <= CODE_LINES:
        return text
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
