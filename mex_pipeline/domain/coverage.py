"""How much of a value stands in the words it rests on (product B3, C11)."""

import re

from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import CJK, find_quote, fold
from mex_pipeline.domain.wording import OPEN_ENDS

COVERED = 0.5
"""The share from which a value counts as said; below, it is a paraphrase or an invention."""

_PIECE = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+[+#]*")
_HAN = re.compile(f"[{CJK}]")
_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}(?:[T ][0-9:]+Z?)?")
_FILLING = frozenset(
    re.findall(
        r"[\w']+",
        """
        a an the of in on at to for with and or but by from as is are was were be been being has have had do does did
        user users user's s their they them his her its it this that who which will would
        """,
    )
)
_SAID_OF = re.compile(r"用户的?|本人|[的了是在有和与及也都把被]")
_ENDINGS = re.compile(r"(?:ing|ies|ied|es|ed|s|e|y)$")
_WRAPPING = re.compile(r"^(?:the|an?|that|my)\s+|^(?:那个|这个|那只|我的)|[\s.。!！,，;；:：]+$", re.IGNORECASE)


def coverage(content: str, words: str) -> float:
    """Return the share of a content's own words that occur in `words`, 0 to 1; 1 for content without any.

    Chinese is counted in pairs of characters, other scripts in words, whose endings may differ. Dates are left out,
    being resolved from other words, as are the words every sentence has.
    """
    said = fold(words).text
    units = [unit for value in _values(content) for unit in _units(value)]
    return sum(_occurs(unit, said) for unit in units) / len(units) if units else 1.0


def as_said(content: str, words: str) -> str:
    """Return a value without the article, the pronoun or the full stop that a model put around what was said.

    Only when the value stands in `words` without and not with them; anything else is returned as it is.
    """
    if text_fields(content) is not None or find_quote(words, content):
        return content
    plain = _WRAPPING.sub("", content)
    return plain if plain and find_quote(words, plain) else content


def changes_language(content: str, words: str) -> bool:
    """True when a value is written in another script than the words it rests on and does not stand in them."""
    values = "".join(_values(content))
    written, said = bool(_HAN.search(values)), bool(_HAN.search(words))
    has_letters = any(char.isalpha() for char in values)
    return has_letters and written is not said and coverage(content, words) < COVERED


def _values(content: str) -> list[str]:
    fields = text_fields(content)
    return [value for value in (fields.values() if fields else [content]) if value.casefold() not in OPEN_ENDS]


def _units(value: str) -> list[str]:
    units: list[str] = []
    for piece in _PIECE.findall(_DATE.sub(" ", value)):
        if _HAN.match(piece):
            for part in _SAID_OF.sub(" ", piece).split():
                units += [part[at : at + 2] for at in range(len(part) - 1)] or [part]
        elif piece.casefold() not in _FILLING:
            units.append(piece)
    return units


def _occurs(unit: str, said: str) -> bool:
    wanted = fold(unit).text
    if wanted in said:
        return True
    stem = _ENDINGS.sub("", wanted)
    return len(stem) >= 4 and wanted.isalpha() and stem in said
