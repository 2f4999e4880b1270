"""The door to Kingfisher, which knows the tokens of hundreds of vendors (product F2).

It compiles its rules once for a machine, in seconds, and loads them in a third of a second: so only text that holds a
run of letters and digits as a machine makes them is shown to it.
"""

import re
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from mex_pipeline.redaction.shapes import Span, joined

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

_RUN = re.compile(r"[A-Za-z0-9_-]{16,}+")

_loading = Lock()


def spans(text: str) -> list[Span]:
    """Return the tokens that the detector finds, in order; its rule names the kind."""
    if not _may_hold_one(text):
        return []
    with _loading:
        scanner = _scanner()
    data = text.encode(errors="replace")
    found = [
        (one.location["start_offset"], one.location["end_offset"], _kind(one.rule_id))
        for one in scanner.scan(data)
        if one.visible
    ]
    at = _characters(data, {offset for start, end, _ in found for offset in (start, end)})
    return joined((Span(at[start], at[end], kind), 0) for start, end, kind in found)


def _characters(data: bytes, offsets: set[int]) -> dict[int, int]:
    """Return where in characters the bytes of a text lie in which the detector counts."""
    places: dict[int, int] = {}
    last = count = 0
    for offset in sorted(offsets):
        count += len(data[last:offset].decode(errors="ignore"))
        places[offset], last = count, offset
    return places


def _may_hold_one(text: str) -> bool:
    """True for a run as machines make them: no vendor's token is shorter, and but for Hugging Face's all have digits."""
    runs = (match[0] for match in _RUN.finditer(text))
    return "hf_" in text or any(any(map(str.isdigit, run)) and any(map(str.isalpha, run)) for run in runs)


@cache
def _scanner() -> "Scanner":
    from kingfisher_sdk import Rules, Scanner  # noqa: PLC0415 - only text with a token in it pays for it

    return Scanner(Rules(confidence="medium"), dedup=False)


def _kind(rule: str) -> str:
    """Return `github_pat` for `betterleaks.github-pat`."""
    name = re.sub(r"[^a-z]+", "_", rule.lower().partition(".")[2]).strip("_")
    return name.removeprefix("secrets_") or "secret"
