"""Reading JSONL: whole objects by byte offset, up to the last complete one (session-formats §1)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from mex_pipeline.adapters.cleaning import scrub_all

LINE_CAP = 16 * 1024 * 1024
"""Longest line in bytes that is parsed; memory is bounded by it, not by the file (session-formats §2)."""

BAD_LINE = "bad_line"
OVERSIZED_LINE = "oversized_line"

_BLOCK = 64 * 1024
_GLANCE = 4096
_BOM = b"\xef\xbb\xbf"
_SOLID = re.compile(r"[^ \t\r\n\0]")
_TYPE = re.compile(rb'"type"\s*:\s*"(user|assistant)"')
_DECODER = json.JSONDecoder(strict=False)  # clients have written raw control characters inside strings


@dataclass(frozen=True, slots=True)
class Record:
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
    file.seek(start)
    at = start
    while at < stop:
        line = file.readline(min(LINE_CAP + 1, stop - at))
        end = at + len(line)
        if line.endswith(b"\n"):
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
