"""Foreign text made fit to be sent, stored and printed."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Return `text` with lone surrogates as U+FFFD and without control characters; tab, LF and CR stay.

    A lone surrogate cannot be encoded, a NUL ends a C string, an escape character drives a terminal.
    """
    return _CONTROL.sub("", _SURROGATE.sub("\ufffd", text))
