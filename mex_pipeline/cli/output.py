"""Printing: JSON for programs, text for people, errors to stderr (seed 004 §5.2, product E3, E4)."""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from mex_pipeline import messages
from mex_pipeline.clock import SystemClock, iso, to_local
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.structured import render
from mex_pipeline.errors import MexError

_STEERING = re.compile("[\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates that JSON may hold as they are."""


class _Style:
    as_json = False
    notes: ClassVar[list[str]] = []
    """What was said beside the result with `--json`: held back, an error has stderr for itself (product E4)."""


def begin(*, as_json: bool) -> None:
    """Choose how this command speaks."""
    _Style.as_json = as_json
    _Style.notes.clear()


def end() -> None:
    """Say on stderr what was held back for an error that did not come."""
    for text in _Style.notes:
        sys.stderr.write(visible(text) + "\n")
    _Style.notes.clear()


def wants_json() -> bool:
    """True when `--json` was given."""
    return _Style.as_json


def emit(plain: Any, lines: Iterable[str]) -> None:
    """Print one JSON value, or the lines for people."""
    if _Style.as_json:
        json_value(plain)
    else:
        for one in lines:
            line(one)


def json_value(plain: Any) -> None:
    """Print a value as indented JSON, non-ASCII as it is; what could steer a terminal is escaped, and so stays exact."""
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    line(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def line(text: str) -> None:
    """Print one line."""
    sys.stdout.write(visible(text) + "\n")


def note(text: str) -> None:
    """Say something beside the result, on stderr; with `--json` at the end, when no error came."""
    if _Style.as_json:
        _Style.notes.append(text)
    else:
        sys.stderr.write(visible(text) + "\n")


def visible(text: str) -> str:
    """Return text without control characters: a memory must not steer the terminal it is printed on."""
    if text.isprintable():
        return text
    return "".join(one if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") else "\ufffd" for one in text)


def fail(error: MexError) -> int:
    """Print an error and return its exit code; with `--json` one object `{code, message, hint, retryable}` (product E4)."""
    what, hint = messages.render(error)
    complain(error.code, what, hint, retryable=error.retryable)
    return error.exit_code


def complain(code: str, what: str, hint: str, *, retryable: bool) -> None:
    """Print what happened and what to do on stderr."""
    if _Style.as_json:
        _Style.notes.clear()
        shape = {"code": code, "message": what, "hint": hint, "retryable": retryable}
        sys.stderr.write(json.dumps(shape, ensure_ascii=False) + "\n")
    else:
        note(messages.text("label.error", text=joined(what, hint)))


def joined(*sentences: str) -> str:
    """Return the sentences that are not empty, one after the other; Chinese sets no space between them."""
    return ("" if messages.active() == "zh" else " ").join(sentence for sentence in sentences if sentence)


def content_text(memory: Memory, schema: Schema) -> str:
    """Return a memory's content as people read it: structured content in words."""
    return render(schema.find(memory.topic, memory.sub_topic), memory.content, messages.active())


def memory_lines(memory: Memory, schema: Schema, number: int | None = None) -> list[str]:
    """Return a memory for people: where it belongs, how sure it is, when, then its content and evidence."""
    place = f"{memory.topic}.{memory.sub_topic}" if memory.slot else memory.topic or "—"
    marks = "".join(
        f" [{messages.text(f'mark.{mark}')}]"
        for mark, shown in (
            ("forgotten", memory.forgotten_at),
            ("expired", memory.expires_at and memory.expires_at <= iso(SystemClock().now())),
            ("inferred", memory.is_ai_inferred),
        )
        if shown
    )
    head = f"{memory.id} · {place} · {memory.confidence}{marks} · {to_local(memory.updated_at)}"
    content = content_text(memory, schema).replace("\n", "\n   ")
    lines = [f"{number}. {head}" if number else head, f"   {content}"]
    if memory.evidence and memory.confidence is not Confidence.CONFIRMED:
        lines.append(f"   {messages.text('label.evidence', text=' '.join(memory.evidence.split()))}")
    return lines


def discarded_line(discarded: Mapping[str, Any]) -> str:
    """Return why a candidate was not written."""
    reason, facts = discarded["reason"], discarded.get("facts", {})
    known = f"discard.{reason}" in messages.CATALOGUES[messages.active()]
    why = messages.text(f"discard.{reason}", **facts) if known else messages.render_code(reason, facts)[0]
    return f"- {discarded['content']}: {why}"
