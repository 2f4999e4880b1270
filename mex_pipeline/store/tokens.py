"""Search tokens: CJK runs as overlapping pairs plus their last character, everything else as words (spec: docs/storage.md).

Two characters are the commonest word length in Chinese, and pairs make any substring a phrase of tokens.
"""

import re
import unicodedata
from collections.abc import Iterator

# Han, kana, hangul and the CJK extensions: scripts written without spaces between words. Left out are the marks among
# them that FTS5 takes for separators (the katakana middle dot, the voicing marks).
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = re.compile(f"(?P<cjk>[{_CJK}]+)|(?P<word>[^\\W_{_CJK}]+[+#]*)")
_LANGUAGE_SIGNS = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp"}


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is CJK, piece) of the folded text in order."""
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text).casefold()):
        if match["cjk"]:
            yield True, match["cjk"]
        else:
            word = match["word"]
            yield False, _LANGUAGE_SIGNS.get(word, word.rstrip("+#"))


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def segment(text: str) -> str:
    """Return the tokens of a content, space separated, as stored in `memories.tokens`."""
    tokens: list[str] = []
    for is_cjk, piece in _pieces(text):
        tokens += [*_pairs(piece), piece[-1]] if is_cjk else [piece]
    return " ".join(tokens)


def match_expression(text: str) -> str:
    """Return the FTS5 MATCH expression that finds every content holding `text`'s pieces; "" when there is none.

    Every piece is quoted, so that no character of the text is an operator (product E4).
    """
    terms: list[str] = []
    for is_cjk, piece in _pieces(text):
        if not is_cjk or len(piece) == 1:
            terms.append(f'"{piece}"*')
        else:
            terms.append('"' + " ".join(_pairs(piece)) + '"')
    return " ".join(terms)


def is_exact(text: str) -> bool:
    """True when the index alone finds every substring: the text is one CJK run and nothing else (product H11).

    A half-width kana is looked for as it is too: folded, it may be one character with the mark behind it.
    """
    match = _PIECE.fullmatch(text)
    return match is not None and match["cjk"] is not None
