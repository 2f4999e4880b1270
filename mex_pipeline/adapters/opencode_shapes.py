"""What a session is before anything is judged in it, and which JSON has the shape of a message or a session."""

import json
from dataclasses import dataclass, field
from typing import Any

from mex_pipeline.adapters.values import mapping, string

SIZE_CAP = 64 * 1024 * 1024
"""Largest source in bytes, the files of a storage tree or the texts of a database's session together: it is read whole."""

OVERSIZED = "oversized_part"
"""The type that a part gets which is too long to be looked at, and the reason it is dropped for."""

_ROLES = ("user", "assistant", "system", "developer", "tool")
_OTHERS = frozenset(("type", "message", "providerData", "parentId"))
"""Keys of other agents' records that also have a role and a content."""
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: what is known of it as a whole, and its messages as they stand in the source.

    `is_live` says that the client writes it piece by piece where it is read, so that its last message may lack parts.
    """

    info: dict[str, Any]
    messages: list[Any] = field(default_factory=list)
    is_live: bool = False

    @property
    def is_known(self) -> bool:
        """True when it is OpenCode's, or one of its messages has a shape that can be read."""
        return is_session(self.info) or any(is_message(message) for message in self.messages)


def is_message(value: Any) -> bool:
    """True for a message with parts (OpenCode's own) and for a message with a role and a content (anyone's)."""
    return is_own(value) or (
        isinstance(value, dict) and value.get("role") in _ROLES and "content" in value and not value.keys() & _OTHERS
    )


def is_own(value: Any) -> bool:
    """True for a message in OpenCode's own shape."""
    return isinstance(value, dict) and isinstance(mapping(value.get("info")).get("role"), str)


def is_session(info: dict[str, Any]) -> bool:
    """True for what OpenCode writes of a session as a whole."""
    return string(info, "id") is not None and bool({"directory", "projectID", "version"} & info.keys())


def parsed(data: Any) -> Any:
    """Return the value of a JSON text, None for what is none."""
    try:
        return _DECODER.decode(data) if isinstance(data, str) else None
    except (ValueError, RecursionError):
        return None
