"""Which of its two forms a Gemini CLI session has: one JSON document that is written anew, or a journal of changes.

Nothing is judged here but the shape (session-formats §3.4); who said what is `gemini_messages`' part.
"""

import json
import re
from pathlib import Path
from typing import Any, BinaryIO

from mex_pipeline.adapters.cleaning import scrub_all
from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.records import LINE_CAP
from mex_pipeline.errors import SourceFormat, SourceUnreadable

SIZE_CAP = 64 * 1024 * 1024
"""Largest document in bytes: it is read whole. A journal may be of any size."""

TYPES = ("user", "gemini", "info", "warning", "error")

_HEAD = 64 * 1024
_MEMBER = re.compile(r'[\s{,]*"((?:[^"\\]|\\.)*)"\s*:\s*')
_DECODER = json.JSONDecoder(strict=False)


def detect(path: Path) -> bool:
    """True when the file begins with an object that names a session and the hash of its project."""
    with opened(path) as file:
        return _names_session(_members(file.read(_HEAD).decode("utf-8-sig", "replace")))


def is_known(value: dict[str, Any]) -> bool:
    """True for a record that only a journal of Gemini CLI has."""
    if isinstance(value.get("$set"), dict) or isinstance(value.get("$rewindTo"), str):
        return True
    return _names_session(value) or (isinstance(value.get("id"), str) and value.get("type") in TYPES)


def document(path: Path, file: BinaryIO, adapter: str) -> dict[str, Any] | None:
    """Return the document that an open file is, or None for a journal.

    Raises SourceUnreadable("source_too_large", `path`, `limit` in bytes above SIZE_CAP); SourceFormat(`path`,
    `adapter`) for a document that is no session, as `source_damaged` for one that is not whole: the client writes it in
    place, so its next size is another one and it is looked at again.
    """
    size = size_of(file)
    file.seek(0)
    first = file.readline(LINE_CAP + 1)
    is_all = file.tell() == size
    value = _object(first)
    if value is None and _opens_document(first, is_all=is_all):
        if size > SIZE_CAP:
            raise SourceUnreadable("source_too_large", path=str(path), limit=SIZE_CAP)
        file.seek(0)
        value = _object(file.read(SIZE_CAP))
        if value is None:
            raise SourceFormat("source_damaged", path=str(path), adapter=adapter)
        if not isinstance(value.get("messages"), list):
            raise SourceFormat(path=str(path), adapter=adapter)
        return value
    return value if value is not None and is_all and isinstance(value.get("messages"), list) else None


def _opens_document(first: bytes, *, is_all: bool) -> bool:
    """True when a first line that is no whole object begins a document.

    A line of its own for the brace is a document's. What has no line end yet is a journal's first record that is being
    written, unless it lists messages.
    """
    start = first.removeprefix(b"\xef\xbb\xbf").strip()
    return start == b"{" or (start.startswith(b"{") and (len(first) > LINE_CAP or (is_all and b'"messages"' in start)))


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(data.decode("utf-8-sig", "replace"))
        value = scrub_all(value) if b"\\u" in data or b"\0" in data else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _members(text: str) -> dict[str, Any]:
    """Return the members of an object that need not be whole, up to the first that is cut off."""
    found: dict[str, Any] = {}
    at = 0
    if not text.lstrip().startswith("{"):
        return found
    while member := _MEMBER.match(text, at):
        try:
            found[member[1]], at = _DECODER.raw_decode(text, member.end())
        except (ValueError, RecursionError):
            break
    return found


def _names_session(value: dict[str, Any]) -> bool:
    return isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)
