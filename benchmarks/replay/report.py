"""The figures as a table for people and as JSON."""

from collections.abc import Mapping, Sequence

Rates = Mapping[str, float | None]

COLUMNS = (
    "F1", "P", "R", "unique F1", "many F1", "stale", "duplicates", "made up", "passing leak", "trap leak", "evidence",
    "history", "new per restating", "committed", "again unchanged", "order same", "order F1",
    "kill same", "kill committed", "wasted calls per kill", "lost", "stored per session", "calls per session",
    "prompt tokens per session",
)  # fmt: skip
"""What the table shows, in order; the JSON has every measure."""
_WHOLE = frozenset({"prompt tokens per session"})


def table(rows: Sequence[tuple[str, Rates]]) -> list[str]:
    """Return a Markdown table: a row for each measure, a column for each run; `–` where nothing was measured."""
    names = [name for name in COLUMNS if any(rates.get(name) is not None for _, rates in rows)]
    head = ["measure", *(label for label, _ in rows)]
    body = [[name, *(_cell(name, rates.get(name)) for _, rates in rows)] for name in names]
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *body]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if name in _WHOLE else f"{value:.3f}"
