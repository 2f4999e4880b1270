"""An export for people: the profile by topic, records as a time line, then what is expired or forgotten (seed 004 ADR-9).

One memory is one line of a list that ends with the first characters of its id, so that a change shows as one line.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.structured import render
from mex_pipeline.domain.wording import Language, words


@dataclass(frozen=True, slots=True)
class _Headings:
    timeline: str
    expired: str
    forgotten: str


_HEADINGS: dict[Language, _Headings] = {
    "zh": _Headings("## 时间线", "## 已过期", "## 已遗忘"),
    "en": _Headings("## Time line", "## Expired", "## Forgotten"),
}


def markdown(
    memories: Iterable[Memory], schema: Schema, language: Language, *, now: str, local_date: Callable[[str], str]
) -> str:
    """Return the whole text. `now` tells what has expired; `local_date` turns a stored time into a date for people."""
    given = list(memories)
    active = [memory for memory in given if memory.is_active(now)]
    expired = [memory for memory in given if memory.forgotten_at is None and not memory.is_active(now)]
    forgotten = [memory for memory in given if memory.forgotten_at is not None]
    headings = _HEADINGS[language]
    page = _Page(schema, language, local_date)
    parts = [words(language).title, *page.profile([memory for memory in active if memory.slot])]
    parts += page.timeline(headings.timeline, [memory for memory in active if not memory.slot])
    parts += page.past(headings.expired, [(memory, memory.expires_at or "") for memory in expired])
    parts += page.past(headings.forgotten, [(memory, memory.forgotten_at or "") for memory in forgotten])
    return "\n\n".join(parts) + "\n"


class _Page:
    """Writes sections in one language."""

    def __init__(self, schema: Schema, language: Language, local_date: Callable[[str], str]) -> None:
        self._schema = schema
        self._language = language
        self._words = words(language)
        self._local_date = local_date

    def profile(self, memories: list[Memory]) -> Iterator[str]:
        """Yield a section for each topic in the order of the schema, then for those it does not declare (any more)."""
        known = list(self._schema.topics)
        slots = {(slot.topic, slot.name): place for place, slot in enumerate(self._schema.slots())}

        def place(memory: Memory) -> tuple[int, str, int, str]:
            topic, name = memory.slot or ("", "")
            return (
                known.index(topic) if topic in known else len(known),
                topic,
                slots.get((topic, name), len(slots)),
                name,
            )

        for topic, group in groupby(sorted(memories, key=place), lambda memory: memory.topic or ""):
            lines = [self._line(memory) for memory in group]
            yield f"## {self._topic(topic)}"
            yield "\n".join(lines)

    def timeline(self, heading: str, memories: list[Memory]) -> Iterator[str]:
        """Yield the records under their local dates, the newest date first."""
        dated = sorted(((self._date(memory), memory) for memory in memories), key=lambda one: one[0], reverse=True)
        if dated:
            yield heading
        for date, group in groupby(dated, lambda one: one[0]):
            yield f"### {date}"
            yield "\n".join(self._line(memory) for _, memory in group)

    def past(self, heading: str, memories: list[tuple[Memory, str]]) -> Iterator[str]:
        """Yield a section of memories that are no longer shown, each with the date on which that began."""
        if memories:
            yield heading
            yield "\n".join(self._line(memory, since) for memory, since in memories)

    def _date(self, memory: Memory) -> str:
        when = memory.occurred_at or memory.valid_from
        return self._local_date(when) if len(when) > len("2026-11-30") else when

    def _line(self, memory: Memory, since: str | None = None) -> str:
        slot = self._schema.find(memory.topic, memory.sub_topic)
        content = "\n  ".join(render(slot, memory.content, self._language).splitlines())
        marks = [str(memory.confidence)]
        marks += [self._words.inferred] if memory.is_ai_inferred else []
        marks += [self._local_date(since)] if since else []
        marks += [memory.forgotten_reason] if memory.forgotten_reason else []
        mark = self._words.mark.format(text=self._words.semicolon.join(marks))
        return f"- {self._label(memory)}{content}{mark} <!-- {memory.id[:8]} -->"

    def _label(self, memory: Memory) -> str:
        slot = self._schema.find(memory.topic, memory.sub_topic)
        name = slot.label if slot else memory.sub_topic
        if name is None and memory.topic is not None:
            name = self._topic(memory.topic)
        return f"{name}{self._words.colon}" if name else ""

    def _topic(self, name: str) -> str:
        declared = self._schema.topics.get(name)
        return declared.label if declared else name
