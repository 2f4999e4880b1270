"""Reading values out of foreign JSON, where any key may be missing or hold anything."""

import math
import re
from typing import Any

from mex_pipeline.adapters.cleaning import scrub
from mex_pipeline.clock import from_iso, iso, iso_of_millis

_USUAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?Z", re.ASCII)
"""A time as it is stored but for its fraction, which is quicker to cut off than the time is to format."""

_SECONDS_END = 100_000_000_000
"""A number below is a time in seconds, from it on in milliseconds: the year 5138 or 1973."""
_END_YEAR, _MILLIS_END = 5138, 1000 * _SECONDS_END
"""Where times end, as strings and as numbers: in no zone of a reader must one overflow."""


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def string(value: dict[str, Any], key: str) -> str | None:
    """Return a string that is there and not empty, fit to be stored, else None."""
    found = value.get(key)
    return (scrub(found) or None) if isinstance(found, str) else None


def number(value: Any) -> int | float | None:
    """Return a finite number, else None; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def moment(value: Any) -> str | None:
    """Return a time in epoch seconds, epoch milliseconds or ISO 8601 as UTC ISO seconds.

    None when it is missing or no time of this era.
    """
    try:
        if isinstance(value, str):
            at = from_iso(value)
            if not 1970 <= at.year < _END_YEAR:
                return None
            return f"{value[:19]}Z" if _USUAL_TIME.fullmatch(value) else iso(at)
        given = number(value)
        if given is None or not 0 < given < _MILLIS_END:
            return None
        return iso_of_millis(int(given if given >= _SECONDS_END else given * 1000))
    except (ValueError, OverflowError, OSError):
        return None
