"""`mex related ID`."""

from typing import Annotated

import typer

from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.services import related as related_service


def related(
    identifier: Annotated[str, typer.Argument(metavar="ID", help=t("help.id"))],
    limit: Annotated[int, typer.Option("--limit", help=t("help.limit"))] = 10,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        found = related_service.of(app, identifier, limit=limit)
        lines: list[str] = []
        for name in ("session", "slot", "similar"):
            group = getattr(found, name)
            if group:
                lines.append(t(f"related.{name}", count=len(group)))
                lines += [
                    line for at, one in enumerate(group, 1) for line in memory_text.memory_lines(one, app.schema, at)
                ]
    output.emit(found.to_plain(), lines or [t("related.none")])
