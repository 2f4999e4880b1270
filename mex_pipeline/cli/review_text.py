"""What waits in review, as people read it."""

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import t
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import Memory, Source
from mex_pipeline.domain.structured import render
from mex_pipeline.services.asked import Asked, Held, Pair, Waiting
from mex_pipeline.services.decisions import Approved, Declined


def asked_lines(app: App, asked: Asked, number: int | None = None) -> list[str]:
    """Return a question of the queue: what it is about, where it was said, and what stands before or beside it."""
    if isinstance(asked, Waiting):
        head, *rest = memory_text.memory_lines(asked.memory, app.schema, number)
        head = output.marked(head, due_text(asked.due_since)) if asked.due_since else head
        return [head, *rest, *said_lines(asked.sources), *before_lines(app, asked), *beside_lines(app, asked)]
    return [_head(asked, number), *body_lines(app, asked)]


def body_lines(app: App, asked: Pair | Held) -> list[str]:
    """Return what a proposal says: both contents of a merge, or what was held back; and where each was said."""
    if isinstance(asked, Pair):
        return [
            f"   {t('review.first', text=value_text(app, asked.memory))}",
            *said_lines(asked.sources, with_quote=True),
            f"   {t('review.second', text=value_text(app, asked.other))}",
            *said_lines(asked.other_sources, with_quote=True),
        ]
    lines = [f"   {one}" for one in asked.candidate.content.splitlines()]
    if asked.previous is not None:
        lines.append(f"   {t('review.would_replace', text=value_text(app, asked.previous))}")
    return [*lines, *said_lines(asked.sources, with_quote=True)]


def before_lines(app: App, asked: Waiting) -> list[str]:
    """Return the value a doubt replaced."""
    return [] if asked.previous is None else [f"   {t('label.before', text=value_text(app, asked.previous))}"]


def beside_lines(app: App, asked: Waiting) -> list[str]:
    """Return the memories that speak against a value, or are much like it."""
    return [
        output.Painted((f"   {t(f'review.beside_{one.reason}', text=_named(app, one.memory))}", output.YELLOW))
        for one in asked.beside
    ]


def _named(app: App, memory: Memory) -> str:
    return f"{memory.topic}.{memory.sub_topic} {value_text(app, memory)} {memory.id[:8]}"


def due_text(since: str) -> str:
    """Return since when a value has not been checked."""
    return t("review.kind_due", day=to_local(since)[:10])


def said_lines(sources: tuple[Source, ...], *, with_quote: bool = False) -> list[str]:
    """Return where something was said last: the words perhaps, by whom, when, in which session."""
    if not sources:
        return []
    source = sources[-1]
    quoted = source.quote if with_quote else None
    quote = [output.Painted((f"   {t('label.quote', text=' '.join(quoted.split()))}", output.FAINT))] if quoted else []
    return [*quote, f"   {t('label.source', text=source_text(source))}"]


def _head(asked: Pair | Held, number: int | None) -> str:
    topic, sub_topic = _place_of(asked)
    return output.Painted(
        (f"{number}. " if number else "", output.BOLD),
        (asked.id, output.FAINT),
        (f" · {f'{topic}.{sub_topic}' if sub_topic else topic or '—'}", output.BOLD),
        (f" · {kind_text(asked)}", output.YELLOW),
        (f" · {to_local(asked.proposal.created_at)}", output.BOLD),
    )


def _place_of(asked: Pair | Held) -> tuple[str | None, str | None]:
    subject = asked.memory if isinstance(asked, Pair) else asked.candidate
    return subject.topic, subject.sub_topic


def kind_text(asked: Pair | Held) -> str:
    """Return what is proposed, and why a candidate is held back."""
    if isinstance(asked, Pair):
        return t("review.kind_merge")
    name, reason = f"review.why_{asked.proposal.reason}", asked.proposal.reason
    return t("review.kind_hold", why=t(f"review.why_{reason}") if messages.knows(name) else reason)


def place_text(app: App, asked: Asked) -> str:
    """Return the place of a question: the label of its slot, or that it is outside the profile."""
    topic, sub_topic = (asked.memory.topic, asked.memory.sub_topic) if isinstance(asked, Waiting) else _place_of(asked)
    slot = app.schema.find(topic, sub_topic)
    if slot is not None:
        return t("label.slot", label=slot.label, path=slot.path)
    path = ".".join(part for part in (topic, sub_topic) if part)
    return t("label.slot", label=t("label.record"), path=path) if path else t("label.record")


def approved_line(app: App, approved: Approved) -> str:
    """Return what came of a yes."""
    memory = approved.memory
    said = "retired" if memory.forgotten_at else "merged" if isinstance(approved.asked, Pair) else "approved"
    return t(f"review.{said}", id=memory.id, content=memory_text.content_text(memory, app.schema))


def declined_lines(app: App, declined: Declined) -> list[str]:
    """Return what became of a no, and how the value a doubt replaced stands again or can."""
    asked, previous = declined.asked, declined.previous
    if isinstance(asked, Pair):
        first, second = (memory_text.content_text(memory, app.schema) for memory in (asked.memory, asked.other))
        return [t("review.kept_apart", first=first, second=second)]
    if isinstance(asked, Held):
        return [t("review.declined", id=asked.id, content=asked.candidate.content)]
    lines = [t("review.declined", id=asked.id, content=memory_text.content_text(asked.memory, app.schema))]
    if previous is None:
        return lines
    if declined.is_restored:
        return [*lines, f"   {t('review.put_back', text=value_text(app, previous))}"]
    before = t("label.before", text=value_text(app, previous))
    return [*lines, f"   {before}", f"   {t('review.how_to_put_back', id=asked.id)}"]


def value_text(app: App, memory: Memory) -> str:
    """Return a value with its tier, on one line."""
    slot = app.schema.find(memory.topic, memory.sub_topic)
    return f"{' '.join(render(slot, memory.content, messages.active()).split())} [{memory.confidence}]"


def source_text(source: Source) -> str:
    """Return where something was said: by whom, when, in which session."""
    parts = [
        t(f"label.{source.role}") if source.role else "",
        to_local(source.said_at) if source.said_at else "",
        f"{source.agent} {source.session_id or source.source_file or t('label.given_text')}",
        "" if source.verified else t("mark.unverified"),
    ]
    return " · ".join(part for part in parts if part)
