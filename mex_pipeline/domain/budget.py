"""How many tokens a text will cost, roughly: no tokenizer, one pass (seed 004 §6.2)."""

import re

from mex_pipeline.domain.text import CJK

_TENTHS = {"cjk": 15, "symbol": 15, "letter": 5}
_TENTHS_PER_WORD = 13
_WORD_LENGTH = 16

_PIECES = re.compile(
    rf"(?P<cjk>[{CJK}\u3000-\u303f\uff00-\uffef]+)"
    r"|(?P<word>[A-Za-z0-9\u00c0-\u024f]+(?:['’][A-Za-z]+)*|[!-/:-@\[-`{-~]{3,})"
    r"|(?P<symbol>[\u2000-\u2bff\U0001f000-\U0001faff]+)"
    r"|(?P<letter>[^\s\x00-\x7f])"
)


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens: CJK characters × 1.5 + English words × 1.3, rounded up (seed 004 §6.2).

    A word counts once for every 16 characters begun, so that keys and URLs are not free, and so does a run of three or
    more signs. Symbols and emoji cost 1.5, letters of other scripts 0.5. The estimates of a text's lines add up to at
    least the estimate of the text.
    """
    tenths = 0
    for match in _PIECES.finditer(text):
        length = match.end() - match.start()
        if match.lastgroup == "word":
            tenths += -(-length // _WORD_LENGTH) * _TENTHS_PER_WORD
        else:
            tenths += length * _TENTHS[str(match.lastgroup)]
    return -(-tenths // 10)


def split(max_tokens: int) -> tuple[int, int]:
    """Return the tokens for the profile's body and for the recent records: 70/30, a fifth of each in reserve."""
    return max_tokens * 70 * 80 // 10_000, max_tokens * 30 * 80 // 10_000
