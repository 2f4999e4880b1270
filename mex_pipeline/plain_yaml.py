"""The plainest YAML, read without the yaml package, whose import is as slow as all of a Python start.

Two levels of keys with one-line values, which is how config.yaml is shipped and how `mex` edits it. Whatever is not
plainly that is left to the yaml package, errors included, so this never decides that a file is wrong.
"""

import re
from typing import Any

_MAX_CHARACTERS = 65_536
_LINE = re.compile(r'(  )?([a-z_]+):(?: +(?:"([^"\\]*)"|([^\s"#]+)))?(?: +#.*)? *')
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_WORD = _LETTERS | _DIGITS | frozenset("_-./:")
_RESERVED = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_BOOL = {"true": True, "false": False}


class _NotPlain(Exception):
    """Something here may mean more than it seems to."""


def parse(text: str) -> dict[str, Any] | None:
    """Return what yaml makes of `text`, sections as dicts; None when that takes more than this reader knows."""
    try:
        return _parse(text) if len(text) <= _MAX_CHARACTERS else None
    except _NotPlain:
        return None


def _parse(text: str) -> dict[str, Any]:
    data: dict[str, Any] = {}
    section = ""
    for line in text.split("\n"):
        if not line.isprintable():  # a tab, another line break, a control character
            raise _NotPlain
        if not (bare := line.lstrip(" ")) or bare[0] == "#":
            continue
        found = _LINE.fullmatch(line)
        if found is None or found[2] in _RESERVED:
            raise _NotPlain
        indent, key, quoted, word = found.groups()
        value = quoted if quoted is not None else None if word is None else _scalar(word)
        if indent:
            if not section:
                raise _NotPlain
            if data[section] is None:
                data[section] = {}
            place = data[section]
        else:
            place, section = data, key if value is None else ""
        if key in place:
            raise _NotPlain
        place[key] = value
    if not data:
        raise _NotPlain
    return data


def _scalar(word: str) -> Any:
    """Return the value of an unquoted word that can be nothing else than a number, true, false or text."""
    if word in _BOOL:
        return _BOOL[word]
    whole, dot, fraction = word.partition(".")
    if set(whole) <= _DIGITS and (whole == "0" or whole[:1] not in ("0", "")):
        if not dot:
            return int(word)
        if fraction and set(fraction) <= _DIGITS:
            return float(word)
    is_text = word[0] in _LETTERS or (word[-1] in "smhdw" and set(word[:-1]) <= _DIGITS)
    if not is_text or not set(word) <= _WORD or word[-1] == ":" or word.lower() in _RESERVED:
        raise _NotPlain
    return word
