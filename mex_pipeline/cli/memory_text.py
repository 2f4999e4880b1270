"""A memory as people read it."""

from collections.abc import Callable, Iterable

from mex_pipeline import messages
from mex_pipeline.cli import output
from mex_pipeline.clock import SystemClock, iso, to_local
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.structured import render

Spans = Iterable[tuple[int, int]]


def content_text(memory: Memory, schema: Schema) -> str:
    """Return a memory's content as people read it: structured content in words."""
    return render(schema.find(memory.topic, memory.sub_topic), memory.content, messages.active())


def memory_lines(
    memory: Memory, schema: Schema, number: int | None = None, spans: Callable[[str], Spans] | None = None
) -> list[str]:
    """Return a memory for people: where it belongs, how sure it is, when, then its content and evidence.

    `spans` tells which parts of a text stand out, as (start, end).
    """
    place = f"{memory.topic}.{memory.sub_topic}" if memory.slot else memory.topic or "—"
    marks = "".join(
        f" [{messages.text(f'mark.{mark}')}]"
        for mark, shown in (
            ("forgotten", memory.forgotten_at),
            ("expired", memory.expires_at and memory.expires_at <= iso(SystemClock().now())),
            ("inferred", memory.is_ai_inferred),
            ("pinned", memory.is_pinned),
        )
        if shown
    )
    head = output.Painted(
        (f"{number}. " if number else "", output.BOLD),
        (memory.id, output.FAINT),
        (f" · {place} · {memory.confidence}", output.BOLD),
        (marks, output.YELLOW),
        (f" · {to_local(memory.updated_at)}", output.BOLD),
    )
    content = content_text(memory, schema).replace("\n", "\n   ")
    lines = [head, _standing_out(f"   {content}", spans) if spans else f"   {content}"]
    if memory.evidence and memory.confidence is not Confidence.CONFIRMED:
        lines.append(output.evidence_line(memory.evidence))
    return lines


def _standing_out(text: str, spans: Callable[[str], Spans]) -> output.Painted:
    parts: list[tuple[str, str]] = []
    at = 0
    for start, end in spans(text):
        parts += [(text[at:start], ""), (text[start:end], output.GREEN)]
        at = end
    return output.Painted(*parts, (text[at:], ""))
