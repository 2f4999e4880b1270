"""Every form in which words may stand in a file, and the files of a home that hold one of them."""

import json
from pathlib import Path
from urllib.parse import quote, quote_plus

from mex_pipeline.store.tokens import segment

_SHORT = 6
"""Bytes: a shorter token stands in any file by chance."""


def forms(word: str) -> dict[str, bytes]:
    """The bytes of a word by the name of the form: as UTF-8 and UTF-16, escaped for JSON and for URLs, as search tokens."""
    escaped = json.dumps(word)[1:-1]
    texts = {
        "plain": word,
        "folded": word.casefold(),
        "json": escaped,
        "json quotes": json.dumps(word, ensure_ascii=False)[1:-1],
        "json twice": json.dumps(escaped)[1:-1],
        "percent": quote(word),
        "percent lower": quote(word).lower(),
        "percent plus": quote_plus(word),
        "tokens": segment(word),
    }
    tokens = {f"token {one}": one for one in segment(word).split() if len(one.encode()) >= _SHORT}
    wide = {name: word.encode(name) for name in ("utf-16-le", "utf-16-be")}
    return {name: text.encode() for name, text in (texts | tokens).items()} | wide


def holding(home: Path, *words: str) -> list[str]:
    """`file: form` of every file of the home that holds one of the words in any form."""
    found = [(path, path.read_bytes()) for path in sorted(home.rglob("*")) if path.is_file()]
    return [
        f"{path.relative_to(home)}: {name}"
        for path, raw in found
        for word in words
        for name, form in forms(word).items()
        if form in raw
    ]
