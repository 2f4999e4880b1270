"""Cutting a JSON array of objects into its elements while it is read, in memory bounded by one element."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_END = re.compile(rb"\}(?=\s*+(?:,\s*+\{|\]|(?:,\s*+)?\Z))")
"""Where an element can end. Which of these places is one is told by the depth; a few too many do no harm."""
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'"{}[]'))
_BLANK = b" \t\r\n"
_KEY = re.compile(rb'[^"{}\[\]]*+(?:"(?P<key>(?:[^"\\]|\\.)*+)"\s*+(?P<colon>:?)|[{}\[\]])', re.DOTALL)


def elements(blocks: Iterable[bytes], cap: int) -> Iterator[bytes | None]:
    """Yield the objects of one array, as their bytes; None for one of more than `cap` bytes, which is passed over.

    `blocks` are the parts of a UTF-8 text. Nothing but the braces, brackets and quotes of an object is looked at: it may
    still be no JSON inside. Raises ValueError where the array is not one of objects or does not end.
    """
    element = _Element(cap)
    between, before, escape = b"", b"[", b""
    for more in blocks:
        block = escape + more
        at, stop = 0, len(block) - _backslashes(block) % 2  # what the last one belongs to is told by the next block
        escape = block[stop:]
        while at < stop:
            if not element.is_open:
                start = block.find(b"{", at, stop)
                between += block[at : start if start >= 0 else stop].translate(None, _BLANK)
                if start < 0:
                    _require(between, (b"", before, b"]", b"[]"))
                    break
                _require(between, (before,))
                between, before, at = b"", b",", start
            at = element.take(block, at, stop)
            if not element.is_open:
                yield element.close()
    if element.is_open or between + escape != (b"]" if before == b"," else b"[]"):
        raise ValueError


def first_keys(head: bytes) -> frozenset[str]:
    """Return the keys of the object a text begins with, or of the first in its array, as far as `head` goes."""
    text = head.lstrip()
    text = text[1:].lstrip() if text.startswith(b"[") else text
    keys: set[str] = set()
    depth = 0
    found = _KEY.match(text) if text.startswith(b"{") else None
    while found:
        mark = found[0][-1:]
        if found["key"] is None:
            depth += 1 if mark in b"{[" else -1
        elif found["colon"] and depth == 1:
            keys.add(found["key"].decode("utf-8", "replace"))
        found = _KEY.match(text, found.end()) if depth > 0 else None
    return frozenset(keys)


@dataclass(slots=True)
class _Element:
    """The object that is being read: its bytes, unless there are too many, and how deep in it the reading stands."""

    cap: int
    depth: int = 0
    in_string: bool = False
    size: int = 0
    parts: list[bytes] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.depth > 0 or self.in_string

    def take(self, block: bytes, start: int, stop: int) -> int:
        """Take the object's bytes between `start` and `stop`; return the offset behind them."""
        at = start
        while at < stop:
            found = _END.search(block, at, stop)
            end = found.end() if found else stop
            self._descend(block[at:end])
            at = end
            if not self.is_open:
                break
        self.size += at - start
        if self.size > self.cap:
            self.parts.clear()
        else:
            self.parts.append(block[start:at])
        return at

    def close(self) -> bytes | None:
        """Return the object that has ended, and make ready for the next."""
        whole = b"".join(self.parts) if self.parts else None
        self.parts, self.size = [], 0
        return whole

    def _descend(self, part: bytes) -> None:
        """Follow the braces and brackets outside of strings.

        Every step runs over the bytes in C: escapes are taken out, all that is no structure, and strings without any.
        """
        marks = part.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE).replace(b'""', b"")
        pieces = marks.split(b'"')
        outside = b"".join(pieces[self.in_string :: 2])
        self.depth += outside.count(b"{") + outside.count(b"[") - outside.count(b"}") - outside.count(b"]")
        self.in_string ^= len(pieces) % 2 == 0


def _backslashes(block: bytes) -> int:
    return len(block) - len(block.rstrip(b"\\"))


def _require(found: bytes, allowed: tuple[bytes, ...]) -> None:
    if found not in allowed:
        raise ValueError
