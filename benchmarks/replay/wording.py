"""When two values are the same to the scorer, and how a scripted model says a value otherwise."""

import random
import re
from collections import Counter

SAME = 0.85
"""Dice coefficient of character trigrams from which two wordings are one value."""

_POLARITY = re.compile(r"(like|dislike)\s")


def plain(value: str) -> str:
    """Return the value in small letters, everything but letters and digits as one space."""
    return re.sub(r"[\W_]+", " ", value.lower()).strip()


def dice(one: str, other: str) -> float:
    """Return how alike two texts are, 0 to 1, by their character trigrams."""
    left, right = _trigrams(one), _trigrams(other)
    total = sum(left.values()) + sum(right.values())
    return 2 * sum((left & right).values()) / total if total else 1.0


def same(one: str, other: str) -> bool:
    """True when two values of one slot mean the same: equal but for signs, or nearly so, and of one polarity."""
    left, right = plain(one), plain(other)
    return left == right or (_polarity(left) == _polarity(right) and dice(left, right) >= SAME)


def reworded(value: str, chance: random.Random) -> str:
    """Return the value as a model might say it again: another case, a full stop, an article, a dash for a comma."""
    case = value.upper() if len(value) < 12 else value[:1].lower() + value[1:]
    return chance.choice([case, f"{value}.", f"the {value}", value.replace(",", " -")])


def _trigrams(text: str) -> Counter[str]:
    padded = f"  {plain(text)} "
    return Counter(padded[start : start + 3] for start in range(len(padded) - 2))


def _polarity(value: str) -> str:
    found = _POLARITY.match(value)
    return found[1] if found else ""
