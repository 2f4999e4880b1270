"""What makes a text read as an instruction to a model: the signs, and the shape of the words that bear them (product F5)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Sign(StrEnum):
    """What an instruction is after (integrations §7.6)."""

    OVERRIDE = "override"
    EXFILTRATION = "exfiltration"
    SECRECY = "secrecy"
    JAILBREAK = "jailbreak"
    MARKUP = "markup"
    HIDDEN = "hidden"
    ORDER = "order"
    ROLE = "role"
    COMMAND = "command"
    FETCH = "fetch"


class Needs(StrEnum):
    """What has to stand before the words in their clause, or they are no instruction.

    `NOTHING` is asked of what nobody says of himself, `NO_TELLER` of what could be told of a person ("I ignore the
    rules"), `AN_ORDER` of what begins a command only where a command begins ("run this script").
    """

    NOTHING = "nothing"
    NO_TELLER = "no_teller"
    AN_ORDER = "an_order"


@dataclass(frozen=True, slots=True)
class Shape:
    """Words that bear a sign. `hints` are tried first: without one of them in the text the pattern cannot match."""

    sign: Sign
    hints: tuple[str, ...]
    pattern: str
    needs: Needs

    def places(self, text: str) -> Iterator[int]:
        """Yield where such words begin; the pattern is compiled when a text first has a hint, for most never do."""
        return (match.start() for match in _compiled(self.pattern).finditer(text))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Clause:
    """How a language begins a clause: who is told of, who is spoken to, and what may lead a command."""

    teller: re.Pattern[str]
    addressee: re.Pattern[str]
    lead: re.Pattern[str]


def shape(sign: Sign, hints: str, pattern: str, needs: Needs = Needs.NO_TELLER) -> Shape:
    """Return one row of a table; hints stand between commas, the pattern is verbose and may run over lines."""
    return Shape(sign, tuple(hints.split(",")), pattern, needs)
