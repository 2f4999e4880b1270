"""Reading JSONL: whole objects by byte offset, up to the last complete one (session-formats §1)."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, BinaryIO, NamedTuple

from mex_pipeline.adapters.cleaning import scrub_all

LINE_CAP = 16 * 1024 * 1024
"""Longest line in bytes that is parsed; memory is bounded by it, not by the file (session-formats §2)."""

BAD_LINE = "bad_line"
OVERSIZED_LINE = "oversized_line"

LONG = 1024 * 1024
"""Stretches above this many bytes are worth loading the fast decoder for; a glance at a file's beginning is not."""

_BLOCK = 64 * 1024
_GLANCE = 4096
_BOM = b"\xef\xbb\xbf"
_SOLID = re.compile(r"[^ \t\r\n\0]")
_TYPE = re.compile(rb'"type"\s*:\s*"(user|assistant)"')
_DECODER = json.JSONDecoder(strict=False)  # clients have written raw control characters inside strings


class Record(NamedTuple):  # made for every line: a frozen dataclass takes three times as long
    """One object of the file, at the bytes `start` to `end`; or, with a `fault`, a stretch that cannot be used.

    Records follow each other without gaps except for blank lines, so `end` is always a place to go on from. The value
    of an oversized line holds its `type` when a glance at its beginning found one of `user`, `assistant`.
    """

    start: int
    end: int
    value: dict[str, Any]
    fault: str | None = None


def records(file: BinaryIO, start: int, stop: int) -> Iterator[Record]:
    """Yield the complete records between the byte offsets `start` and `stop`, in order.

    A line that ends in a newline and is no JSON object, or more than one after the other, gives a record with the fault
    `bad_line`; one above LINE_CAP gives `oversized_line`. A last line without newline counts only if it is made of
    whole objects; otherwise reading stops before it, without fault, because it is still being written.
    """
    parse = _usual_line() if stop - start > LONG else _no_line
    file.seek(start)
    at, cap = start, LINE_CAP + 1
    while at < stop:
        line = file.readline(cap if stop - at > cap else stop - at)
        end = at + len(line)
        if line.endswith(b"\n"):
            try:
                value = parse(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict) and b"\\u0000" not in line:
                yield Record(at, end, value)
            else:
                yield from _objects(line, at)
        elif len(line) > LINE_CAP:
            skipped = _skip_line(file, stop - end)
            if skipped is None:
                return
            end += skipped
            yield Record(at, end, _glance(line), OVERSIZED_LINE)
        else:
            found = list(_objects(line, at))
            if found and found[-1].fault is None:
                yield from found
            return
        at = end


def _no_line(_: bytes) -> None:
    """Read no line: all are read with tolerance."""


@cache
def _usual_line() -> Callable[[bytes], Any]:
    """Return what reads the usual line fast, with nothing in it that has to be tolerated.

    It gives exactly the value that `_objects` finds first, or raises ValueError or RecursionError: for lone surrogates,
    NaN, numbers beyond a float, raw control characters, broken UTF-8, a byte order mark, and for several objects.
    """
    import msgspec  # noqa: PLC0415 - 15 ms that a short session and a request for a job do not need

    return msgspec.json.Decoder().decode


def _objects(line: bytes, at: int) -> Iterator[Record]:
    """Yield the records of one line that begins at the offset `at`; two objects on a line are two records."""
    body = line.removeprefix(_BOM) if at == 0 else line
    text, is_clean = _decoded(body)
    start, mark, end = at, 0, at + len(line) - len(body)
    found = _SOLID.search(text)
    while found:
        try:
            value, to = _DECODER.raw_decode(text, found.start())
            value = value if is_clean else scrub_all(value)
        except (ValueError, RecursionError):  # ValueError also for integers of thousands of digits
            value = None
        if not isinstance(value, dict):
            yield Record(start, at + len(line), {}, BAD_LINE)
            return
        found = _SOLID.search(text, to)
        end = end + len(text[mark:to].encode("utf-8", "surrogateescape")) if found else at + len(line)
        yield Record(start, end, value)
        start, mark = end, to


def _decoded(body: bytes) -> tuple[str, bool]:
    """Return the text, and whether its strings need no scrubbing.

    Broken bytes become surrogates, not U+FFFD, so that offsets can be told; scrubbing makes them U+FFFD.
    """
    try:
        return body.decode(), b"\\u" not in body and b"\0" not in body
    except UnicodeDecodeError:
        return body.decode("utf-8", "surrogateescape"), False


def text_of(value: dict[str, Any], key: str) -> str | None:
    """Return a string of a record that is there and not empty, else None; a record's strings are fit to be stored."""
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def _skip_line(file: BinaryIO, left: int) -> int | None:
    """Return how many of the next `left` bytes belong to the line, newline included; None when it does not end."""
    skipped = 0
    while skipped < left:
        part = file.readline(min(_BLOCK, left - skipped))
        skipped += len(part)
        if part.endswith(b"\n"):
            return skipped
        if not part:
            return None
    return None


def _glance(line: bytes) -> dict[str, Any]:
    found = _TYPE.search(line, 0, _GLANCE)
    return {"type": found[1].decode()} if found else {}
