"""Printing: JSON for programs, text for people, errors to stderr (seed 004 §5.2, product E3, E4)."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TextIO

from mex_pipeline import messages
from mex_pipeline.errors import MexError

_STEERING = "[\x7f-\x9f\ud800-\udfff]"
"""Control characters and lone surrogates that JSON may hold as they are."""
_UNSEEN = "[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
"""Unicode's Cc and Cs, but for the line break and the tab."""


BOLD, FAINT, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
"""How a part of a line may look on a terminal: the number of its ANSI code."""


class Painted(str):
    """A line whose parts have colours on a terminal; everywhere else, and in every operation, it is its plain text."""

    __slots__ = ("parts",)

    parts: tuple[tuple[str, str], ...]

    def __new__(cls, *parts: tuple[str, str]) -> Self:
        """Return the line of (text, look) parts; the look "" is none."""
        made = super().__new__(cls, "".join(text for text, _ in parts))
        made.parts = parts
        return made


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
    line(_exact(json.dumps(plain, ensure_ascii=False, indent=2)))


def at_once(plain: Any, text: str) -> None:
    """Print what has just happened, and what will be followed by more: a line, with `--json` one object on one line."""
    line(_exact(json.dumps(plain, ensure_ascii=False)) if _Style.as_json else text)
    sys.stdout.flush()


def _exact(text: str) -> str:
    """JSON with what could steer a terminal escaped."""
    return re.sub(_STEERING, lambda found: f"\\u{ord(found[0]):04x}", text)


def line(text: str) -> None:
    """Print one line."""
    sys.stdout.write(_drawn(text, sys.stdout) + "\n")


def note(text: str) -> None:
    """Say something beside the result, on stderr; with `--json` at the end, when no error came."""
    if _Style.as_json:
        _Style.notes.append(text)
    else:
        sys.stderr.write(_drawn(text, sys.stderr) + "\n")


def _drawn(text: str, stream: TextIO) -> str:
    """Return a line for a stream: its text made safe first, the colours around it after (product E3)."""
    if not isinstance(text, Painted) or not has_colours(stream):
        return visible(text)
    return "".join(
        f"\x1b[{look}m{visible(part)}\x1b[0m" if look and part else visible(part) for part, look in text.parts
    )


def has_colours(stream: TextIO | None = None) -> bool:
    """True for a terminal that says what it is and a person who did not turn colours off (https://no-color.org)."""
    named = os.environ.get("TERM", "dumb") != "dumb"
    return named and (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR") and not _Style.as_json


def visible(text: str) -> str:
    """Return text without control characters: a memory must not steer the terminal it is printed on."""
    if text.isprintable():
        return text
    return re.sub(_UNSEEN, "\ufffd", text)


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
        note(error_line(joined(what, hint)))


def error_line(text: str) -> Painted:
    """Return the line that says what went wrong."""
    return begun(messages.text("label.error", text=""), messages.text("label.error", text=text), RED)


def begun(start: str, text: str, look: str) -> Painted:
    """Return `text`, which begins with `start`, with the look at its start."""
    return Painted((start, look), (text.removeprefix(start), ""))


def marked(text: str, mark: str) -> Painted:
    """Return a line with one more mark of doubt after it."""
    parts = text.parts if isinstance(text, Painted) else ((text, ""),)
    return Painted(*parts, (f" [{mark}]", YELLOW))


def evidence_line(evidence: str) -> Painted:
    """Return the words that say so, on one line."""
    return Painted((f"   {messages.text('label.evidence', text=' '.join(evidence.split()))}", FAINT))


def joined(*sentences: str) -> str:
    """Return the sentences that are not empty, one after the other; Chinese sets no space between them."""
    return ("" if messages.active() == "zh" else " ").join(sentence for sentence in sentences if sentence)


def discarded_line(discarded: Mapping[str, Any]) -> str:
    """Return why a candidate was not written."""
    reason, facts = discarded["reason"], discarded.get("facts", {})
    is_own = messages.knows(f"discard.{reason}")
    why = messages.text(f"discard.{reason}", **facts) if is_own else messages.render_code(reason, facts)[0]
    return f"- {discarded['content']}: {why}" if discarded["content"] else f"- {why}"
