"""The functions that SQL calls: how words are compared and cut into tokens. Both gateways give them to every connection."""

from collections.abc import Callable

from mex_pipeline.domain.folding import folded, sought
from mex_pipeline.store.tokens import segment


def _of_text(function: Callable[[str], str]) -> Callable[[object], str]:
    """The function for whatever a column holds: an original file may have a number where a text belongs."""
    return lambda value: "" if value is None else function(str(value))


FUNCTIONS: tuple[tuple[str, int, Callable[[object], str]], ...] = (
    ("folded", 1, _of_text(folded)),
    ("sought", 1, _of_text(sought)),
    ("segmented", 1, _of_text(segment)),
)
"""(name, arguments, function): SQLite's own `lower` knows ASCII only, and its tokenizers no Chinese."""
