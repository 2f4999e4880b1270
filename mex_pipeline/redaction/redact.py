"""Text without its secrets: each is replaced by its kind, and the words around it stay (product F2)."""

import re
from collections import Counter
from collections.abc import Iterable

from mex_pipeline.redaction import detector, shapes
from mex_pipeline.redaction.shapes import Span

_REPLACED = re.compile(r"\[redacted:([a-z_]+)\]")


def redacted(text: str, *, is_quick: bool = False) -> str:
    """Return `text` with each secret as `[redacted:kind]`; `is_quick` leaves out the detector, which takes long to load.

    The same text always gives the same, and a text that was redacted stays as it is: replies are kept by their prompts,
    and quotes are found by their places.
    """
    for spans in (shapes.spans,) if is_quick else (shapes.spans, detector.spans):
        text = _replaced(text, spans(text))
    return text


def kinds(texts: Iterable[str]) -> dict[str, int]:
    """Return how many secrets were replaced in redacted texts, by kind in alphabetical order."""
    return dict(sorted(Counter(kind for text in texts for kind in _REPLACED.findall(text)).items()))


def _replaced(text: str, spans: list[Span]) -> str:
    """Put the kinds in the place of spans, which are in order; one that holds a replaced secret is left."""
    if not spans:
        return text
    taken = [match.span() for match in _REPLACED.finditer(text)]
    kept: list[str] = []
    done = 0
    for span in spans:
        if span.start < done or any(start < span.end and span.start < end for start, end in taken):
            continue
        kept += [text[done : span.start], f"[redacted:{span.kind}]"]
        done = span.end
    return "".join([*kept, text[done:]])
