"""Search tokens: CJK runs as overlapping pairs plus their last character, everything else as words (spec: docs/storage.md).

Two characters are the commonest word length in Chinese, and pairs make any substring a phrase of tokens.
"""

from mex_pipeline.domain.folding import END
from mex_pipeline.domain.words import is_cjk, pairs, pieces

_HAN = (("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\U00020000", "\U0002a6d6"))
MOST_GRAMS = 6
"""Of a long word so many threes of characters are looked for, spread over it; the row tells whether it is there."""


def segment(text: str) -> str:
    """Return the tokens of a content, space separated, as stored in `memories.tokens`."""
    tokens: list[str] = []
    for is_run, piece in pieces(text):
        tokens += [*pairs(piece), piece[-1]] if is_run else [piece]
    return " ".join(tokens)


def is_short_han(word: str) -> bool:
    """True when the index of words alone finds every content that holds `word`: one or two Chinese characters.

    Kana and hangul may stand in a content as letters and marks that only melt together when they are folded.
    """
    return 0 < len(word) < 3 and all(any(low <= char <= high for low, high in _HAN) for char in word)


def term_expression(term: str) -> str:
    """Return the MATCH expression of one word, pair or character as domain/words.py cuts it."""
    return f'"{term}"*' if len(term) == 1 and is_cjk(term) else f'"{term}"'


def stem_expression(text: str) -> str:
    """Return the MATCH expression that finds the pieces of `text` side by side, by their stems; "" when there is none.

    Every piece is quoted, so that no character of the text is an operator (product E4).
    """
    cut = list(pieces(text))
    if not cut:
        return ""
    *before, (is_run, last) = cut
    tokens = [token for is_cut, piece in before for token in ([*pairs(piece), piece[-1]] if is_cut else [piece])]
    tokens += (pairs(last) or [last]) if is_run else [last]
    return f'"{" ".join(tokens)}"{"*" if is_run and len(last) == 1 else ""}'


def gram_expression(form: str) -> str:
    """Return the MATCH expression of the threes of characters that a text holding `form` has; "" for less than three.

    A NUL, which no content holds, would end the expression.
    """
    last = len(form) - 3
    if last < 0:
        return ""
    steps = max(1, min(last, MOST_GRAMS - 1))
    form = form.replace("\0", END)
    grams = dict.fromkeys(form[start : start + 3] for start in (last * step // steps for step in range(steps + 1)))
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in grams)
