"""`mex integrate`: the skill for an agent, and how it is told what became of it (seed 004 §8.4)."""

import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, t
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import integrate as service
from mex_pipeline.services.integrate import AGENTS, SCOPES, Integrated


def integrate(
    agent: Annotated[str, typer.Argument(metavar="|".join(AGENTS), help=t("help.agent"))],
    scope: Annotated[str, typer.Option("--scope", metavar="|".join(SCOPES), help=t("help.scope"))] = "global",
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.integrate_dry_run"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    done = service.install(agent, scope, messages.active(), dry_run=dry_run)
    output.emit(
        done.to_plain() | {"dry_run": dry_run},
        [*file_lines(done), *([t("note.dry_run")] if dry_run else next_lines(done))],
    )
    if not dry_run:
        require_no_conflict(done)


def file_lines(done: Integrated) -> Iterator[str]:
    """Yield one line for each file that was written, or was left to the user."""
    for path in done.written:
        yield t("done.skill_written", path=path)
    for one in done.conflicts:
        yield t("done.skill_kept", path=one.file, new=one.new_file)


def next_lines(done: Integrated) -> Iterator[str]:
    """Yield what to do now: a new session, and a `mex` that the agent finds."""
    yield t("note.skill_next", agent=AGENTS[done.agent])
    found = shutil.which("mex")
    ours = Path(sysconfig.get_path("scripts")) / "mex"
    if found is None:
        yield t("note.mex_not_found", folder=ours.parent)
    elif Path(found).resolve() != ours.resolve():
        yield t("note.other_mex", path=found)


def require_no_conflict(done: Integrated) -> None:
    """Raise InvalidInput when a file of the user's was left as it is (product H15)."""
    if done.conflicts:
        one = done.conflicts[0]
        raise InvalidInput("skill_changed", path=str(one.file), new=str(one.new_file))
