"""Ids: how a new one is made, and how people type one, whole or its beginning."""

import os

from mex_pipeline.errors import InvalidInput

MIN_PREFIX = 8
_DIGITS = frozenset("0123456789abcdef")


def new_id() -> str:
    """Return a random UUID (version 4, RFC 9562), as `uuid.uuid4` makes it; importing that takes 2 ms."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    return _dashed(drawn.hex())


def require_prefix(prefix: str) -> str:
    """Return an id or prefix in its stored form; raises InvalidInput when it is too short or no id at all."""
    wanted = prefix.strip().lower()
    if len(wanted) == 32 and _DIGITS.issuperset(wanted):  # as the original wrote its ids
        wanted = _dashed(wanted)
    if len(wanted) < MIN_PREFIX or not _DIGITS.issuperset(wanted.replace("-", "")):
        raise InvalidInput("bad_id", id=prefix, least=MIN_PREFIX)
    return wanted


def _dashed(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
