"""The door to msgspec: parts of a JSON document that are parsed only when they are looked at.

A conversation of tens of megabytes is mostly branches, metadata and tool output. They stay bytes of the document. Where
msgspec is stricter than what clients write (NaN, lone surrogates, raw control characters, broken UTF-8), the standard
library's parser takes over.
"""

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import Raw
    from msgspec.json import Decoder

    Members = dict[str, Raw]

_TOLERANT = json.JSONDecoder(strict=False)


def document(data: bytes) -> "Members":
    """Return the members of an object, their values unparsed; empty for another value.

    Raises ValueError for what is no JSON. Inside a value there may still be none.
    """
    return _decoded(data, dict) or {}


def fields(raw: "Raw | None") -> "Members":
    """Return the members of an object, their values unparsed; empty for whatever is none."""
    return _part(raw, dict) or {}


def items(raw: "Raw | None") -> "list[Raw]":
    """Return the elements of an array, unparsed; empty for whatever is none."""
    return _part(raw, list) or []


def value(raw: "Raw | None") -> Any:
    """Return the whole of a value; None for what is missing or no JSON."""
    return _part(raw, Any)


def is_null(raw: "Raw | None") -> bool:
    """True for a value that is missing or null."""
    return raw is None or bytes(memoryview(raw)[:5]) == b"null"


def _part(raw: "Raw | None", kind: Any) -> Any:
    try:
        return None if raw is None else _decoded(raw, kind)
    except ValueError:
        return None


def _decoded(data: "bytes | Raw", kind: Any) -> Any:
    """Return a value as `kind`: dict and list keep what is in them unparsed, and are None for another value."""
    try:
        return _decoder(kind).decode(data)
    except (ValueError, RecursionError):
        found = _parsed(bytes(data))
    if kind is dict:
        return {key: _unparsed(one) for key, one in found.items()} if isinstance(found, dict) else None
    if kind is list:
        return [_unparsed(one) for one in found] if isinstance(found, list) else None
    return found


def _parsed(data: bytes) -> Any:
    try:
        return _TOLERANT.decode(data.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError from error


def _unparsed(one: Any) -> "Raw":
    return _raw()(json.dumps(one).encode())


@cache
def _decoder(kind: Any) -> "Decoder[Any]":
    from msgspec.json import Decoder  # noqa: PLC0415 - 30 ms that only exports need

    raw: Any = _raw()
    return Decoder({dict: dict[str, raw], list: list[raw]}.get(kind, Any))


@cache
def _raw() -> "type[Raw]":
    from msgspec import Raw  # noqa: PLC0415 - as above

    return Raw
