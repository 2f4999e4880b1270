"""The profile as text, line by line and whole (seed 004 §6.2)."""

from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.policy import local_day
from mex_pipeline.domain.schema import Topic
from mex_pipeline.domain.structured import render
from mex_pipeline.domain.text import one_line
from mex_pipeline.domain.view import Fitted, Line, SlotView
from mex_pipeline.domain.wording import Language, words


def profile_text(fitted: Fitted, language: Language) -> str:
    """Return the profile without a line break at its end; an empty memory gives the title alone (seed 004 §6.2)."""
    lines = [words(language).title]
    for topic_view in fitted.view.topics:
        lines.append(topic_text(topic_view.topic))
        for slot_view in topic_view.slots:
            lines.extend(line_text(line, language) for line in slot_view.lines)
            lines.extend(hint_texts(slot_view, language))
    if fitted.view.recent:
        lines.append(words(language).recent)
        lines.extend(line_text(line, language) for line in fitted.view.recent)
    return "\n".join(lines)


def topic_text(topic: Topic) -> str:
    """Return the heading of a topic's section."""
    return f"## {topic.label}"


def line_text(line: Line, language: Language) -> str:
    """Return one memory on one line, `- 姓名：小陈` or `- Name: Chen`, with a mark where it is not sure."""
    text = words(language)
    label = f"{line.slot.label}{text.colon}" if line.slot else ""
    content = one_line(render(line.slot, line.memory.content, language))
    return f"- {label}{content}{_mark(line, language)}"


def hint_texts(view: SlotView, language: Language) -> list[str]:
    """Return the line that tells how many memories a slot holds, or nothing while all can be shown."""
    if view.total <= view.slot.policy.most:
        return []
    return [words(language).hint.format(total=view.total, topic=view.slot.topic)]


def _mark(line: Line, language: Language) -> str:
    text = words(language)
    marks = {
        Confidence.INFERRED: text.inferred,
        Confidence.SPECULATED: text.unconfirmed,
        Confidence.UNCERTAIN: text.unconfirmed,
    }
    parts = [marks[line.memory.confidence]] if line.memory.confidence in marks else []
    if line.unchecked_since is not None:
        parts.append(text.unchecked.format(day=local_day(line.unchecked_since).isoformat()))
    if line.earlier is not None:
        parts.append(text.earlier.format(content=one_line(render(line.slot, line.earlier, language))))
    return text.mark.format(text=text.semicolon.join(parts)) if parts else ""
