"""When two contents say the same value, and when they are so alike that a person should look (product B5)."""

import re
from collections import Counter
from unicodedata import normalize

from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import CJK

NEAR = 0.7
"""From here on two values of one slot are proposed as one; measured in benchmarks/README.md."""

_SYMBOLS = r"[^\w+#%&@/$€£¥°²³<=>]|_"
_LOST = re.compile(rf"(?:(?<![0-9])[.,](?![\w])|(?<=\w)[.,](?![0-9])|(?<=\w)-|-(?![0-9])|(?![.,-]){_SYMBOLS})+")
"""Signs that do not tell values apart: `C++`, `3.5`, `-5` and `.NET` keep theirs."""

_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\w)")
_NUMBERS = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_NOT = re.compile(
    r"不|没|無|无|非|勿|别|\b(?:no|not|never|none|without|hates?|dis\w+|un\w+|non)\b|n['’]t\b", re.IGNORECASE
)
_HAN = re.compile(f"[{CJK}]")


def bare(content: str) -> str:
    """Return the form in which a value is recognised however it is written: width, case, spaces, a leading article and
    punctuation do not count. Of structured content it is the fields in the order of their names.
    """
    fields = text_fields(content)
    if fields:
        return "\n".join(f"{name}={bare(value)}" for name, value in sorted(fields.items()))
    text = _ARTICLE.sub("", normalize("NFKC", content).casefold().strip(), count=1) if content else ""
    return "".join(_LOST.sub(" ", text).split()) or "".join(text.split())


def are_same(first: str, second: str) -> bool:
    """True when two contents of one slot are one value."""
    return bare(first) == bare(second)


def likeness(first: str, second: str) -> float:
    """Return how much two contents share, 0 to 1: the Dice coefficient of their runs of characters.

    Runs of two where Chinese is written, of three elsewhere, the ends included. Values with different numbers, or of
    which one is negated, share nothing: `Python 2` is not `Python 3`.
    """
    if _numbers(first) != _numbers(second) or bool(_NOT.search(first)) is not bool(_NOT.search(second)):
        return 0.0
    one, other = bare(first), bare(second)
    if one == other:
        return 1.0
    length = 2 if _HAN.search(one + other) else 3
    runs, others = _runs(one, length), _runs(other, length)
    return 2 * (runs & others).total() / (runs.total() + others.total())


def are_near(first: str, second: str) -> bool:
    """True when two contents are not one value but may mean one."""
    return not are_same(first, second) and likeness(first, second) >= NEAR


def _numbers(content: str) -> list[str]:
    return sorted(_NUMBERS.findall(normalize("NFKC", content)))


def _runs(text: str, length: int) -> Counter[str]:
    padded = f" {text} "
    return Counter(padded[at : at + length] for at in range(max(1, len(padded) - length + 1)))
