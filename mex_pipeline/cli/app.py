"""The Typer app: every command by name, in the order of its help."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
import typer.main

from mex_pipeline import __version__
from mex_pipeline.cli import admin, extract, jobs, memory, output, query, worker
from mex_pipeline.cli.options import JsonOption, LangOption, t

# Typer keeps its parser's error classes private; this public one tells their base in every version.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

_app = typer.Typer(
    name="mex",
    help=t("help.mex"),
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)


@_app.callback()
def root(
    context: typer.Context,
    as_json: JsonOption = False,
    lang: LangOption = None,
    version: Annotated[bool, typer.Option("--version", help=t("help.version"))] = False,
) -> None:
    if version:
        output.line(f"mex {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        admin.where_things_stand()


def _options(as_json: JsonOption = False, lang: LangOption = None) -> None:
    """Options stand before the command of a group too (product G7)."""


def _group(name: str, commands: dict[str, Callable[..., None]]) -> None:
    group = typer.Typer(help=t(f"help.{name}"), no_args_is_help=False, rich_markup_mode=None, callback=_options)
    for verb, function in commands.items():
        group.command(verb, help=t(f"help.{name}.{verb}"))(function)
    _app.add_typer(group, name=name)


_COMMANDS: dict[str, Callable[..., None]] = {
    "init": admin.init,
    "add": memory.add,
    "update": memory.update,
    "get": memory.get,
    "list": memory.list_memories,
    "search": query.search,
    "profile": query.profile,
    "extract": extract.extract,
    "transcript": extract.transcript,
    "stats": admin.stats,
}
for _name, _function in _COMMANDS.items():
    _app.command(_name, help=t(f"help.{_name}"))(_function)
_group(
    "jobs", {"list": jobs.list_jobs, "show": jobs.show, "wait": jobs.wait, "cancel": jobs.cancel, "retry": jobs.retry}
)
_group("worker", {"run": worker.run, "start": worker.start, "stop": worker.stop, "status": worker.status})
_group("config", {"llm": admin.config_llm, "show": admin.config_show})


def build() -> Callable[..., Any]:
    """Return the command as a callable that takes `args`, `prog_name` and `standalone_mode`."""
    return typer.main.get_command(_app)
