"""Whether a text reads as an instruction to a model: override, run, fetch, exfiltrate (product F5, integrations §7.6).

Such a text steers whoever reads the profile, so it never gets there by itself. A table of shapes per language says what
an order looks like; what a person tells of himself ("I run a bakery", "我负责运行部") is none.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, normalize

from mex_pipeline.domain import instruction_en, instruction_zh
from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.sign import Clause, Needs, Shape, Sign
from mex_pipeline.domain.text import CJK

_WISHES = frozenset({Sign.ORDER, Sign.ROLE, Sign.COMMAND, Sign.FETCH})
"""What a user may well ask of an assistant in his own words; the other signs are nobody's way to be served."""

_SERVICE = "interaction"
"""The topic of how to be served (seed 004 §3.2)."""

_TABLES: tuple[tuple[re.Pattern[str], Clause, tuple[Shape, ...]], ...] = (
    (re.compile(r"[a-z]{2}|[<\[|#]"), instruction_en.CLAUSE, instruction_en.SHAPES),
    (re.compile(f"[{CJK}]"), instruction_zh.CLAUSE, instruction_zh.SHAPES),
)
"""What a text must hold for a language's shapes to be tried, and these."""
_BORDER = re.compile(r"[.!?;:,\n。！？；：，、\"“”‘「」『』()（）\[\]【】<>|#*—]|(?<![a-z])['’]|['’](?![a-z])")
_SPACES = re.compile(r"[^\S\n]+")
_SPACED = re.compile(r"(?<!\S)(?:\w ){5,}\w(?!\S)")
_MASKED = re.compile("[a-z\u0370-\u058f]{2,}")
_TWINS = str.maketrans("аеорсухіѕјһԁոοαενικυρτ", "aeopcyxisjhdnoaevikupt")
"""Cyrillic, Armenian and Greek letters that look like Latin ones; used only in words that mix them with Latin ones."""

_TAGS = re.compile("(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])[\U000e0000-\U000e007f]")
"""Invisible copies of ASCII; behind a black flag they are the flag of a region."""

_UNSEEN = re.compile(
    "[\u180e\u200b-\u200d\u2060-\u2064\ufeff]{4,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}|[\u202d\u202e]"
)
"""Runs of signs without width, variation selectors in a row, and text that is shown in another order than it is read."""

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?:(?:\\x|%|0x)?[0-9a-fA-F]{2}[ ,]?){16,}")
_LONGEST = 4_000
"""Characters of an encoded run that are looked into."""


def reads_as_instruction(text: str) -> bool:
    """Return whether `text` orders a model about or hides something from the eye (product F5)."""
    return bool(signs(text))


def may_be_poison(candidate: Candidate) -> bool:
    """Return whether a candidate, its evidence or its words read as an instruction; to be asked once they are verified.

    The user's own verified words about how to be served pass ("always run the tests first", product F5), but nothing
    does that overrides, hides, or gives data away.
    """
    source = candidate.source
    texts = (candidate.content, candidate.evidence, candidate.quote, source.quote if source else None)
    is_users = source is not None and source.verified and source.role == "user"
    return bool(poison(texts, topic=candidate.topic, is_users=is_users))


def poison(texts: Iterable[str | None], *, topic: str | None, is_users: bool) -> frozenset[Sign]:
    """Return the signs in a memory's content, evidence and quotes that keep it out of the profile.

    `is_users` says that they are the user's own words, which code found where he said them or which he typed into meX.
    """
    found = signs("\n".join(_apart(text for text in texts if text)))
    return found - _WISHES if is_users and topic == _SERVICE else found


def _apart(texts: Iterable[str]) -> list[str]:
    """The texts without those that stand in another: evidence quotes, and a quote holds the content."""
    kept: list[str] = []
    for text in sorted(texts, key=len, reverse=True):
        if not any(text in other for other in kept):
            kept.append(text)
    return kept


def signs(text: str) -> frozenset[Sign]:
    """Return what the orders in a text are after; empty for a text without any."""
    return _signs(text, looks_inside=True)


@lru_cache(maxsize=512)
def _signs(text: str, *, looks_inside: bool) -> frozenset[Sign]:
    found = set() if _TAGS.search(text) is None and _UNSEEN.search(text) is None else {Sign.HIDDEN}
    if looks_inside and any(_signs(inner, looks_inside=False) for inner in _decoded(text)):
        found.add(Sign.HIDDEN)
    plain = _plain(text)
    for letters, clause, shapes in _TABLES:
        for one in shapes if letters.search(plain) else ():
            if one.sign not in found and any(map(plain.__contains__, one.hints)) and _bears(plain, one, clause):
                found.add(one.sign)
    return frozenset(found)


def _bears(text: str, one: Shape, clause: Clause) -> bool:
    return any(_may_begin(text, at, one.needs, clause) for at in one.places(text))


def _may_begin(text: str, at: int, needs: Needs, clause: Clause) -> bool:
    """Whether an instruction may begin at a place: what stands before it in its clause tells of nobody."""
    if needs is Needs.NOTHING:
        return True
    first = max((border.end() for border in _BORDER.finditer(text, max(0, at - 200), at)), default=max(0, at - 200))
    before = text[first:at]
    if clause.addressee.search(before):
        return True
    if needs is Needs.NO_TELLER:
        return clause.teller.search(before) is None
    return clause.lead.fullmatch(before) is not None


def _plain(text: str) -> str:
    """Return a text as its words are looked for: one width and case, nothing unseen, no letters of another script
    inside a word, no word that is spelled with spaces."""
    if not text.isascii():
        text = "".join(char for char in normalize("NFKC", text) if category(char) != "Cf")
    plain = _SPACES.sub(" ", text.casefold())
    if not plain.isascii():
        plain = _MASKED.sub(lambda word: _unmasked(word[0]), plain)
    return _SPACED.sub(lambda spelled: spelled[0].replace(" ", ""), plain)


def _unmasked(word: str) -> str:
    return word.translate(_TWINS) if re.search("[a-z]", word) else word


def _decoded(text: str) -> list[str]:
    """Return what stands in a text as base64 or in hexadecimal, where it is readable."""
    found = [_from_base64(run[0][:_LONGEST]) for run in _ENCODED.finditer(text)]
    found += [_from_hex(run[0][:_LONGEST]) for run in _HEX.finditer(text)]
    return [inner for inner in found if inner]


def _from_base64(run: str) -> str:
    digits = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _from_hex(run: str) -> str:
    try:
        return bytes.fromhex(re.sub(r"\\x|%|0x|[ ,]", "", run)).decode()
    except ValueError:
        return ""
