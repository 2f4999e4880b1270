"""Comparing text: what counts as the same words, and where they stand in the original."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, combining, normalize

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d\U00020000-\U000323af"
)
"""Han, kana, bopomofo and hangul as the inside of a regular expression's character class."""

_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_UNSTORABLE = "[\x00\ud800-\udfff]"
_QUOTATION_MARKS = frozenset("\"'`“”„‟‘’‚‛«»‹›「」『』〝〞〟")
_SENTENCE_ENDS = ".,;:!?…。，、；：！？～~"


def clean(text: str) -> str:
    """Return `text` with NUL and lone surrogates, which SQLite and UTF-8 refuse, as U+FFFD (session-formats §2)."""
    return re.sub(_UNSTORABLE, "\ufffd", text)


def is_blank(text: str) -> bool:
    """True when nothing in `text` can be seen: spaces, controls and zero-width characters only.

    Characters that this Python's Unicode does not know yet, and private ones, are somebody's signs.
    """
    return all(category(char) in _UNSEEN for char in text)


def one_line(text: str) -> str:
    """Return `text` with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())


def normalised(content: str) -> str:
    """Return the form in which a repeated value is recognised (product B5): NFKC, case folded, no white space, no
    sentence punctuation at the end. `C#`, `C++` and `3%` keep what tells them apart.
    """
    folded = "".join(normalize("NFKC", content).casefold().split())
    return folded.rstrip(_SENTENCE_ENDS) or folded


class Folded(NamedTuple):
    """A text as quotes are compared; `spans[i]` is the (start, end) in the original that gave `text[i]`."""

    text: str
    spans: tuple[tuple[int, int], ...]


def fold(text: str) -> Folded:
    """Return `text` for comparison: compatibility forms and case unified, white space and quotation marks left out.

    The result is decomposed (NFKD), which compares like the NFKC of product B3 but lets each character be traced back.
    """
    folded: list[str] = []
    spans: list[tuple[int, int]] = []
    for start, end in _clusters(text):
        piece = _fold_cluster(text[start:end])
        folded.append(piece)
        spans.extend([(start, end)] * len(piece))
    return Folded("".join(folded), tuple(spans))


def find_quote(haystack: str, needle: str) -> tuple[int, int] | None:
    """Return (start, end) in `haystack` where the words of `needle` stand, or None (product B3).

    An exact occurrence is preferred to a folded one. Sentence punctuation and quotation marks around `needle` do not
    count, and a Latin word or a number is only found whole: `Ann` is not in `Anna`, nor 199 in 1990.
    """
    sought = needle.strip("".join(_QUOTATION_MARKS) + _SENTENCE_ENDS + " \t\r\n\u3000")
    wanted = fold(sought).text
    if not wanted:
        return None
    for start in _occurrences(haystack, sought):
        if not _cuts_word(haystack, start, start + len(sought)):
            return start, start + len(sought)
    folded = fold(haystack)
    found = (whole(haystack, folded, first, len(wanted)) for first in _occurrences(folded.text, wanted))
    return next((span for span in found if span is not None), None)


def whole(text: str, folded: Folded, first: int, length: int) -> tuple[int, int] | None:
    """Return (start, end) in `text` of `length` characters of its folded form from `first` on, None when they cut a word."""
    last = first + length - 1
    start, end = folded.spans[first][0], folded.spans[last][1]
    return None if _cuts_cluster(folded.spans, first, last) or _cuts_word(text, start, end) else (start, end)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each character with the combining marks that belong to it."""
    start = 0
    for at in range(1, len(text)):
        if not _is_mark(text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


@lru_cache(maxsize=8192)
def _fold_cluster(cluster: str) -> str:
    decomposed = normalize("NFKD", normalize("NFKD", cluster).casefold())
    return "".join(char for char in decomposed if not _is_ignored(char))


def _is_ignored(char: str) -> bool:
    is_variation_selector = "\ufe00" <= char <= "\ufe0f"
    return char.isspace() or char in _QUOTATION_MARKS or is_variation_selector or category(char) in {"Cc", "Cf"}


def _occurrences(text: str, sought: str) -> Iterator[int]:
    start = text.find(sought)
    while start != -1:
        yield start
        start = text.find(sought, start + 1)


def _cuts_cluster(spans: tuple[tuple[int, int], ...], first: int, last: int) -> bool:
    starts_inside = first > 0 and spans[first - 1] == spans[first]
    return starts_inside or (last + 1 < len(spans) and spans[last + 1] == spans[last])


def _cuts_word(text: str, start: int, end: int) -> bool:
    starts_inside = start > 0 and _is_one_word(text[start - 1], text[start])
    return starts_inside or (end < len(text) and _is_one_word(text[end - 1], text[end]))


def _is_one_word(left: str, right: str) -> bool:
    are_digits = left.isdecimal() and right.isdecimal()
    return _is_mark(right) or are_digits or (_is_latin(left) and _is_latin(right))


def _is_mark(char: str) -> bool:
    """True for what belongs to the character before it; the half-width voicing marks combine only once folded."""
    return bool(combining(char)) or char in "ﾞﾟ"


def _is_latin(char: str) -> bool:
    return char < "\u0250" and char.isalpha()
