"""`mex get`. Its parameters are its options (cli/quick.py)."""

from __future__ import annotations

from mex_pipeline.cli import opened, output
from mex_pipeline.services import lookup
from mex_pipeline.services.results import history_plain, memory_plain, source_plain


def get(identifier: str) -> None:
    """`mex get`: always JSON (seed 004 §5.1, product G16)."""
    with opened.session() as app:
        memory, sources, history = lookup.get(app, identifier)
    output.json_value(
        memory_plain(memory)
        | {"sources": [source_plain(one) for one in sources], "history": [history_plain(one) for one in history]}
    )
