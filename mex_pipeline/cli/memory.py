"""`mex add`, `mex update`."""

from typing import Annotated

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import (
    ByOption,
    JsonOption,
    LangOption,
    SubTopicOption,
    TopicOption,
    session,
    t,
    writer,
)
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.services import hygiene, memories, refusing
from mex_pipeline.services.results import memory_plain


def add(
    content: Annotated[str, typer.Option("--content", help=t("help.content"))],
    topic: TopicOption = None,
    sub_topic: SubTopicOption = None,
    confidence: Annotated[Confidence | None, typer.Option("--confidence", help=t("help.confidence"))] = None,
    expires: Annotated[str | None, typer.Option("--expires", help=t("help.expires"))] = None,
    since: Annotated[str | None, typer.Option("--since", help=t("help.valid_since"))] = None,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    actor = writer(by)
    with session() as app:
        refused = refusing.standing(app)
        memory = memories.add(
            app,
            content=content,
            topic=topic,
            sub_topic=sub_topic,
            confidence=confidence,
            expires=expires,
            since=since,
            actor=actor,
        )
        _note_hygiene(content, memory)
        _note_lifted(app, refused)
        if memories.is_past(app, memory):
            output.note(t("note.expires_in_past"))
        output.emit(
            memory_plain(memory), [t("done.added", id=memory.id, content=memory_text.content_text(memory, app.schema))]
        )


def update(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.id"))],
    content: Annotated[str | None, typer.Option("--content", help=t("help.content"))] = None,
    confidence: Annotated[Confidence | None, typer.Option("--confidence", help=t("help.new_confidence"))] = None,
    expires: Annotated[str | None, typer.Option("--expires", help=t("help.expires"))] = None,
    clear_expires: Annotated[bool, typer.Option("--clear-expires", help=t("help.clear_expires"))] = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    actor = writer(by)
    with session() as app:
        refused = refusing.standing(app)
        memory = memories.update(
            app,
            identifier,
            content=content,
            confidence=confidence,
            expires=expires,
            clear_expires=clear_expires,
            actor=actor,
        )
        _note_hygiene(content, memory)
        _note_lifted(app, refused)
        if memories.is_past(app, memory):
            output.note(t("note.expires_in_past"))
        output.emit(
            memory_plain(memory),
            [t("done.updated", id=memory.id, content=memory_text.content_text(memory, app.schema))],
        )


def _note_lifted(app: App, before: dict[str, int]) -> None:
    """Say that what was never to be known again may be, now that a person has written it."""
    if sum(refusing.standing(app).values()) < sum(before.values()):
        output.note(t("note.refusal_lifted"))


def _note_hygiene(content: str | None, memory: Memory) -> None:
    """Tell what of a typed content was left out or replaced, and which secret now stands in the database (product F2)."""
    if content is None:
        return
    if hygiene.is_partly_private(content):
        output.note(t("note.private_left_out"))
    if stored := hygiene.secrets_in(memory.content):
        output.note(t("note.secret_stored", kinds=", ".join(stored)))
    if replaced := hygiene.replaced_in(content, memory.content):
        output.note(t("note.secret_replaced", kinds=", ".join(replaced)))
