"""`mex pin`."""

from typing import Annotated

import typer

from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import ByOption, JsonOption, LangOption, session, t, writer
from mex_pipeline.services import pins
from mex_pipeline.services.results import memory_plain


def pin(
    identifiers: Annotated[list[str], typer.Argument(metavar="ID...", help=t("help.id"))],
    off: Annotated[bool, typer.Option("--off", help=t("help.pin_off"))] = False,
    by: ByOption = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = pins.pin(app, identifiers, is_pinned=not off, actor=writer(by))
        done = "done.unpinned" if off else "done.pinned"
        lines = [t(done, id=one.id, content=memory_text.content_text(one, app.schema)) for one in found]
    output.emit([memory_plain(one) for one in found], lines)
