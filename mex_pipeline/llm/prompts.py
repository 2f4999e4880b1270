"""The messages sent to the model, built from the prompt texts: pure (seed 004 §7.1, product C13)."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mex_pipeline.clock import in_zone
from mex_pipeline.domain.conversation import PROMPT_MARK, Chunk, Turn
from mex_pipeline.llm.port import Message
from mex_pipeline.llm.text import clean

_LAYOUT = 3
_REMINDED_CHARACTERS = 2_000
_PLACEHOLDER = re.compile(r"\{\{(slots|known|today)\}\}")
_JSON_BLOCK = re.compile(r"^```json\s*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # strftime would ask the machine's language
_LINE_BREAKS = {0x0A: "\\n", 0x0D: "\\r", 0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompt texts of one language: the eight parts of the system message in order, and the reminder."""

    parts: tuple[str, ...]
    repair: str
    language: str

    @property
    def version(self) -> str:
        """Twelve hex digits that change with any word of the texts: part of a kept reply's key (product H5)."""
        texts = json.dumps([_LAYOUT, *self.parts, self.repair])
        return hashlib.sha256(texts.encode()).hexdigest()[:12]


def build_messages(prompts: Prompts, *, slots: list[str], known: list[str], today: str, chunk: Chunk) -> list[Message]:
    """Return the system message (the parts with the lists filled in) and the user message (the turns as JSON).

    The user message begins with a line that marks it as meX's own: an agent that serves as endpoint may keep it in a
    session file, which is then not read (session-formats §1.7).
    `slots` and `known` are lines; one that holds a line break stays one line. What is filled in is not expanded again.
    """
    filling = {"slots": _lines(slots), "known": _lines(known), "today": _one_line(today)}
    template = "\n\n".join(part.strip() for part in prompts.parts)
    system = _PLACEHOLDER.sub(lambda match: filling[match[1]], template)
    return [Message("system", clean(system)), Message("user", f"{PROMPT_MARK}\n{_turns(chunk)}")]


def reminder(prompts: Prompts, bad_reply: str) -> list[Message]:
    """Return what is appended for the one repeated question: the unusable reply, cut, and the reminder (seed §7.3)."""
    return answered_with(bad_reply, prompts.repair)


def answered_with(bad_reply: str, repair: str) -> list[Message]:
    """Return an unusable reply, cut, and the text that answers it."""
    # Some endpoints refuse an empty assistant message, others two user messages in a row.
    said = clean(bad_reply)[:_REMINDED_CHARACTERS].strip() or "{}"
    return [Message("assistant", said), Message("user", repair.strip())]


def example_values(prompts: Prompts) -> frozenset[str]:
    """Return every content, field of a structured content and quote in the ```json blocks of the prompt texts.

    Such a value in a reply is an echo of the examples unless the conversation holds it too (product B3).
    """
    values: set[str] = set()
    for part in prompts.parts:
        for block in _JSON_BLOCK.findall(part):
            values.update(value.strip() for value in _values(_parsed(block)))
    return frozenset(values - {""})


def _turns(chunk: Chunk) -> str:
    """Return a JSON array with one turn per line; nothing inside a turn can end its line or its string."""
    lines = [
        json.dumps(_turn(number, turn, is_context=is_context), ensure_ascii=False, separators=(",", ":"))
        for number, turn, is_context in chunk.numbered
    ]
    # json.dumps has escaped LF and CR; what else some readers take for a line break is escaped here.
    return "[" + ",\n ".join(line.translate(_LINE_BREAKS) for line in lines) + "]"


def _turn(number: int, turn: Turn, *, is_context: bool) -> dict[str, Any]:
    """Return a turn as the model sees it, its time local and with the weekday: what "yesterday" and "last Friday" need."""
    shown: dict[str, Any] = {"turn": number, "role": turn.role}
    if is_context:
        shown["context"] = True
    if turn.at is not None:
        moment = in_zone(turn.at, turn.zone)
        shown["time"] = f"{moment.isoformat(timespec='seconds')} {_WEEKDAYS[moment.weekday()]}"
    return {**shown, "text": clean(turn.text)}


def _lines(lines: list[str]) -> str:
    return "\n".join(_one_line(line) for line in lines) or "-"


def _one_line(text: str) -> str:
    return text.translate(_LINE_BREAKS)


def _parsed(block: str) -> Any:
    """Return the JSON of a block, or None: a user's own prompt may show JSON that is none."""
    try:
        return json.loads(block)
    except ValueError:
        return None


def _values(node: Any) -> Iterator[str]:
    """Yield the values an echo would repeat, wherever in `node` they stand."""
    if isinstance(node, list):
        for item in node:
            yield from _values(item)
    elif isinstance(node, Mapping):
        yield from _content_values(node.get("content"))
        yield from _content_values(node.get("quote"))
        for value in node.values():
            yield from _values(value)


def _content_values(content: Any) -> Iterator[str]:
    """Yield a content, and the values of its fields when it is structured."""
    fields = content
    if isinstance(content, str):
        yield content
        fields = _parsed(content)
    if isinstance(fields, dict):
        yield from (value for value in fields.values() if isinstance(value, str))
