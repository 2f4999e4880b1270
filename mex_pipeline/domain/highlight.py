"""Where the words that were looked for stand in a text, as it is written: folded, a text may be shorter."""

import re
from collections.abc import Iterable

from mex_pipeline.domain.folding import folded
from mex_pipeline.domain.selection import forms

_CLUSTER = "(?s:.)[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*"
"""A character with the marks that may melt into it."""


def spans(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Return (start, end) of every place of the words in `text`, in order, those that touch or overlap as one."""
    unified, starts, ends = _traced(text)
    found: list[tuple[int, int]] = []
    for form in {form for word in words for form in forms(word)}:
        found += [(at, at + len(form)) for at in _places(form, text)]
        found += [(starts[at], ends[at + len(form) - 1]) for at in _places(form, unified)]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _traced(text: str) -> tuple[str, list[int], list[int]]:
    """Return the folded text, and where in `text` what gave each of its characters begins and ends."""
    unified: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for cluster in re.finditer(_CLUSTER, text):
        short = folded(cluster[0])
        unified.append(short)
        starts += [cluster.start()] * len(short)
        ends += [cluster.end()] * len(short)
    return "".join(unified), starts, ends


def _places(form: str, text: str) -> Iterable[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + len(form))
