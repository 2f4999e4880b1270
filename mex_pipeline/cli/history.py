"""`mex history`, `mex diff`: what happened to a memory, and what changed about its owner (seed 004 ADR-7, product E2)."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.change_text import pin_mark
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import HistoryEntry, Memory
from mex_pipeline.domain.structured import render
from mex_pipeline.domain.wording import words
from mex_pipeline.services import timeline
from mex_pipeline.services.results import history_plain
from mex_pipeline.services.timeline import Changed


def history(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.id"))],
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        entries = timeline.history_of(app, identifier)
        lines = [line for entry in entries for line in _entry_lines(app, entry)]
    output.emit([history_plain(one) for one in entries], lines or [t("note.history_empty")])


def changed(
    since: Annotated[str | None, typer.Option("--since", help=t("help.diff_since"))] = None,
    until: Annotated[str | None, typer.Option("--until", help=t("help.until"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = timeline.difference(app, since=since, until=until)
        lines = list(_section_lines(app, found))
    output.emit(found.to_plain(), lines)


def _entry_lines(app: App, entry: HistoryEntry) -> Iterator[str]:
    state = entry.after or entry.before or {}
    slot = app.schema.find(state.get("topic"), state.get("sub_topic"))
    old, new = (
        t("label.nothing") if content is None else _one_line(render(slot, content, messages.active()))
        for content in (entry.old_content, entry.new_content)
    )
    yield f"{to_local(entry.created_at)}  {t(f'event.{entry.event}')} {t(f'actor.{entry.actor}')}  {old} → {new}{pin_mark(entry)}"
    if entry.job_id:
        yield output.Painted((f"   {t('label.job', id=entry.job_id)}", output.FAINT))
    if entry.evidence:
        yield output.evidence_line(entry.evidence)


def _section_lines(app: App, found: Changed) -> Iterator[str]:
    """A section for each topic, in the order of the schema; records without a topic last."""
    sections = defaultdict[str | None, list[str]](list)
    for memory in found.added:
        sections[memory.topic].append(f"+ {_said(app, memory)}")
    for before, after in found.changed:
        sections[after.topic].append(f"~ {_changed(app, before, after)}")
    for one in found.gone:
        sections[one.memory.topic].append(f"- {_said(app, one.memory)}{_mark(t(f'gone.{one.reason}'))}")
    between = {"since": to_local(found.since), "until": to_local(found.until)}
    if not sections and not found.deleted:
        yield t("note.diff_empty", **between)
        return
    gone = len(found.gone) + len(found.deleted)
    yield t("diff.between", added=len(found.added), changed=len(found.changed), gone=gone, **between)
    known = [*app.schema.topics, *sorted(name for name in sections if name and name not in app.schema.topics), None]
    for topic in known:
        if topic in sections:
            declared = app.schema.topics.get(topic or "")
            yield f"## {declared.label if declared else topic or t('label.record')}"
            yield from sections[topic]
    if found.deleted:
        yield t("diff.deleted", count=len(found.deleted))


def _said(app: App, memory: Memory) -> str:
    """A memory on one line, as the profile shows it."""
    slot = app.schema.find(memory.topic, memory.sub_topic)
    label = slot.label if slot else memory.sub_topic
    return f"{label}{words(messages.active()).colon}{_content(app, memory)}" if label else _content(app, memory)


def _content(app: App, memory: Memory) -> str:
    return _one_line(memory_text.content_text(memory, app.schema))


def _changed(app: App, before: Memory, after: Memory) -> str:
    """What became of a memory: its content, else its slot, its tier, its expiry."""
    parts = []
    if before.slot != after.slot:
        parts.append(" → ".join(".".join(one.slot) if one.slot else one.topic or "—" for one in (before, after)))
    if before.confidence is not after.confidence:
        parts.append(f"{before.confidence} → {after.confidence}")
    if before.expires_at != after.expires_at:
        old, new = (to_local(at) if at else t("label.nothing") for at in (before.expires_at, after.expires_at))
        parts.append(t("diff.expires", before=old, after=new))
    if before.content == after.content:
        return f"{_said(app, after)}{_mark(words(messages.active()).semicolon.join(parts))}"
    marks = _mark(words(messages.active()).semicolon.join(parts)) if parts else ""
    return f"{_said(app, before)} → {_content(app, after)}{marks}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _mark(text: str) -> str:
    return words(messages.active()).mark.format(text=text)
