"""Options that several commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.cli import output

t = messages.text


def _json(value: bool) -> bool:
    if value:
        output.begin(as_json=True)
    return value


# Before the command and after it (product G7); --lang has been read before the commands were imported.
JsonOption = Annotated[bool, typer.Option("--json", help=t("help.json"), callback=_json)]
LangOption = Annotated[str | None, typer.Option("--lang", help=t("help.lang"), metavar="zh|en")]
TopicOption = Annotated[str | None, typer.Option("--topic", help=t("help.topic"))]
SubTopicOption = Annotated[str | None, typer.Option("--sub-topic", help=t("help.sub_topic"))]


@contextmanager
def session() -> Iterator[App]:
    """Open the home for a command; a home that had to be made is told once, on stderr (product A3)."""
    with open_app(messages.active()) as app:
        if app.is_new:
            output.note(t("note.home_made", path=app.home.root))
        for notice in app.notices:
            output.note(t(f"note.{notice.code}", path=notice.path))
        yield app
