"""`mex embed`: the vectors that search by meaning needs, made in front of the person or by a worker (product F6)."""

from typing import Annotated

import typer

from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.services import jobs, semantic


def embed(
    in_background: Annotated[bool, typer.Option("--async", help=t("help.embed_async"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        job, merged = jobs.submit(app, semantic.request(app), trigger=trigger)
        jobs_cli.carry_out(app, job, merged=merged, in_background=in_background)
