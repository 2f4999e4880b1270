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
_NUMBER = re.compile(r"[0-9]{1,4}")
_TIME = re.compile(
    r"[今明后前昨去][天日年晚]|[上下这本前后][个]?(?:周|月|星期|礼拜|年|天)|刚才|现在|[一二三四五六七八九十〇零]+[年月日号]|至今"
    r"|\b(?:today|tonight|yesterday|tomorrow|ago|now|last|next|this|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october|november"
    r"|december)\b",
    re.IGNORECASE,
)
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
    being resolved from other words, as are the words every sentence has; a content that is nothing but a date wants
    words that tell a time at all.
    """
    units = _units(content)
    if not units and _DATE.search(content):
        return float(_tells_time(content, words))
    folded, spoken = fold(words).text, {fold(piece).text for piece in _PIECE.findall(words)}
    return sum(_occurs(unit, folded, spoken) for unit in units) / len(units) if units else 1.0


def as_said(content: str, words: str) -> str:
    """Return a value without the article, the pronoun or the full stop that a model put around what was said.

    Only when the value stands in `words` without and not with them; anything else is returned as it is.
    """
    if text_fields(content) is not None or content in words:
        return content
    plain = _WRAPPING.sub("", content)
    return plain if plain and find_quote(words, plain) else content


def changes_language(content: str, words: str) -> bool:
    """True when a value is written in another script than the words it rests on, names that stand in them left aside."""
    units = _units(content)
    chinese = sum(bool(_HAN.match(unit)) for unit in units)
    if not _HAN.search(words):
        return chinese > 0 and 2 * chinese >= len(units)
    has_letters = any(unit[0].isalpha() for unit in units)
    return chinese == 0 and has_letters and coverage(content, words) < COVERED


def _units(content: str) -> list[str]:
    """The words of a content, or of the fields of a structured one."""
    fields = text_fields(content)
    units: list[str] = []
    for value in fields.values() if fields else [content]:
        if value.casefold() in OPEN_ENDS:
            continue
        for piece in _PIECE.findall(_DATE.sub(" ", value)):
            if _HAN.match(piece):
                for part in _SAID_OF.sub(" ", piece).split():
                    units += [part[at : at + 2] for at in range(len(part) - 1)] or [part]
            elif piece.casefold() not in _FILLING:
                units.append(piece)
    return units


def _tells_time(content: str, words: str) -> bool:
    """True when a number of the date stands in `words`, or a month, a weekday or a relative day is named there."""
    numbers = {int(number) for number in _NUMBER.findall(content)}
    return bool(numbers & {int(number) for number in _NUMBER.findall(words)} or _TIME.search(words))


def _occurs(unit: str, folded: str, spoken: set[str]) -> bool:
    """True when a unit was said: `VSCode` also as "VS Code", `growing` also as "grow", but not `Ann` as "Annapolis"."""
    wanted = fold(unit).text
    if wanted in spoken or ((len(wanted) > 3 or _HAN.match(unit)) and wanted in folded):
        return True
    stem = _ENDINGS.sub("", wanted)
    return len(stem) > 3 and wanted.isalpha() and any(word.startswith(stem) for word in spoken)
