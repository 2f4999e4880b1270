"""`mex list`. Its parameters are its options (cli/quick.py)."""

from __future__ import annotations

from mex_pipeline.cli import memory_text, opened, output
from mex_pipeline.errors import InvalidInput
from mex_pipeline.messages import text
from mex_pipeline.services import listing
from mex_pipeline.services.results import memory_plain


def list_memories(
    topic: str | None = None,
    sub_topic: str | None = None,
    include_forgotten: bool = False,
    project: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    everything: bool = False,
) -> None:
    """`mex list`: all memories for programs, a page of them for people."""
    if everything and limit:
        raise InvalidInput("all_with_limit")
    unlimited = everything or (limit is None and output.wants_json())
    with opened.session() as app:
        page = listing.page(
            app,
            topic=topic,
            sub_topic=sub_topic,
            include_forgotten=include_forgotten,
            project=project,
            limit=None if unlimited else 10 if limit is None else limit,
            offset=offset,
        )
        lines = [
            line
            for number, memory in enumerate(page.memories, offset + 1)
            for line in memory_text.memory_lines(memory, app.schema, number)
        ]
    shown = offset + len(page.memories)
    if not page.memories:
        lines = [text("note.list_empty")]
    elif shown < page.total:
        lines.append(text("note.list_more", first=offset + 1, last=shown, total=page.total, left=page.total - shown))
    output.emit([memory_plain(memory) for memory in page.memories], lines)
