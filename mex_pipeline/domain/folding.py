"""The form in which words are compared: in SQL, in a search, in time travel."""

import json
import re
from unicodedata import normalize

_LATIN_MARKS = dict.fromkeys(range(0x300, 0x370))
_MAY_BE_MARKED = "[\u00c0-\u058f\u1d00-\u1fff\u2190-\u2bff]"
"""What may hold a Latin mark once decomposed: Chinese, by far the most text, need not be looked at closer."""


def folded(text: str) -> str:
    """Return `text` as words are compared: width, compatibility forms, case and Latin accents do not count."""
    if text.isascii():
        return text.lower()
    unified = normalize("NFKC", text).casefold()
    if re.search(_MAY_BE_MARKED, unified) is None:
        return unified
    return normalize("NFC", normalize("NFD", unified).translate(_LATIN_MARKS))


END = "\x1f"
"""Ends each form of a text in `sought`: nobody looks for it."""


def sought(text: str) -> str:
    """Return what any part of `text` is looked for in: its folded form, and the text itself where that is more than case.

    Folded, characters may melt into one (`ｶﾞ`, an accent behind its letter); as it stands, each is still there. Two ends
    make the last character, too, the first of three: so the index of threes knows every character. A structured content
    stands there, besides, with the values that JSON escapes as people read and write them.
    """
    unified = folded(text)
    forms = (unified,) if unified == text.casefold() else (unified, text)
    return END.join((*forms, *map(sought, _escaped(text)))) + END + END


def _escaped(text: str) -> list[str]:
    """The values of a JSON object that do not stand in it as they are: with a quote, a backslash, a line break."""
    if not text.startswith("{") or "\\" not in text:
        return []
    try:
        values = json.loads(text).values()
    except (ValueError, RecursionError):
        return []
    told = (value.encode(errors="ignore").decode() for value in values if isinstance(value, str))  # no lone surrogates
    return [value for value in told if value not in text]
