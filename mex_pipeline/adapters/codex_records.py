"""What a file holds that `codex` reads, as one stream of records, whichever of its four shapes the file has.

A rollout is a line for each record, {timestamp, type, payload}; older ones have bare records without that wrapper, the
oldest are one JSON document {session, items}; a rollout that has rested is compressed (session-formats §3.2).
"""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.records import LINE_CAP, Record, records, text_of
from mex_pipeline.adapters.values import mapping
from mex_pipeline.adapters.zst import MAGIC, DamagedStream, unpacked
from mex_pipeline.errors import SourceFormat, SourceUnreadable

HEAD = 1024 * 1024
"""How many bytes at the beginning decide what the file is."""

_TYPES = frozenset(("session_meta", "turn_context", "event_msg", "response_item", "compacted"))
_DOCUMENT = re.compile(r'\s*\{\s*"session"\s*:\s*(?=\{)')
_ITEMS = re.compile(r'\s*,\s*"items"\s*:\s*\[')
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Stream:
    """An open source as lines of records. One that `is_finished` does not grow any more."""

    file: BinaryIO
    is_finished: bool


@contextmanager
def stream(path: Path, adapter: str) -> Iterator[Stream]:
    """Yield the records of a file as a stream of lines; positions in it are the positions of the source.

    Raises SourceGone, SourceUnreadable (`source_too_large` with `path`, `limit` in bytes for a document above LINE_CAP),
    SourceFormat("source_damaged") with `path`, `adapter` for what is compressed or a document and not whole.
    """
    try:
        with opened(path) as file, _unpacked(file) as found:
            yield _lines(path, found) if _is_document(found.file) else found
    except DamagedStream as error:
        raise SourceFormat("source_damaged", path=str(path), adapter=adapter) from error


def detect(path: Path) -> bool:
    """True when the beginning of the file holds more Codex records than unusable lines."""
    score = 0
    is_bare = False
    try:
        with opened(path) as file, _unpacked(file) as found:
            if _is_document(found.file):
                return True
            for record in records(found.file, 0, min(_size(found), HEAD)):
                is_bare = is_bare or (is_codex(record) and "payload" not in record.value)
                score += (is_bare or is_codex(record)) - (record.fault is not None) * (1 + is_bare)
    except DamagedStream:
        pass
    return score > 0


def is_codex(record: Record) -> bool:
    """True for a record that no other agent writes: a wrapped one, or what bare records begin with."""
    value = record.value
    if isinstance(value.get("payload"), dict):
        return text_of(value, "type") in _TYPES
    return record.start == 0 and "type" not in value and "instructions" in value and {"id", "timestamp"} <= value.keys()


def unwrapped(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a record's type and what it carries; a bare one is a `response_item`, or the `session_meta`."""
    payload = value.get("payload")
    if isinstance(payload, dict):
        return text_of(value, "type") or "", payload
    if "type" in value:
        return "response_item", value
    return ("session_meta" if "instructions" in value else "state"), value


@contextmanager
def _unpacked(file: BinaryIO) -> Iterator[Stream]:
    is_compressed = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    if not is_compressed:
        yield Stream(file, is_finished=False)
        return
    with unpacked(file) as content:
        yield Stream(content, is_finished=True)


def _size(found: Stream) -> int:
    """Return the length of the stream, or enough to know its beginning: a compressed one does not tell."""
    return HEAD if found.is_finished else size_of(found.file)


def _is_document(file: BinaryIO) -> bool:
    """True for {"session": {…}, "items": […]}, also when only its beginning is there."""
    file.seek(0)
    text = file.read(HEAD).decode("utf-8-sig", "replace")
    file.seek(0)
    opening = _DOCUMENT.match(text)
    if opening is None:
        return False
    try:
        _, end = _DECODER.raw_decode(text, opening.end())
    except (ValueError, RecursionError):
        return False
    return _ITEMS.match(text, end) is not None


def _lines(path: Path, found: Stream) -> Stream:
    """Return a document as the bare records that a later version would have written: the session, then its items."""
    data = found.file.read(LINE_CAP + 1)
    if len(data) > LINE_CAP:
        raise SourceUnreadable("source_too_large", path=str(path), limit=LINE_CAP)
    try:
        document = _DECODER.decode(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise DamagedStream from error
    session, items = mapping(document.get("session")), document.get("items")
    head = {name: session.get(name) for name in ("id", "timestamp", "instructions")}
    lines = [json.dumps(one) for one in (head, *(items if isinstance(items, list) else ()))]
    return Stream(io.BytesIO("\n".join([*lines, ""]).encode()), is_finished=True)
