"""The Typer app: every command by name, in the order of its help."""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main

from mex_pipeline import __version__
from mex_pipeline.cli import declared, output
from mex_pipeline.cli.help import Command, Commands, Root
from mex_pipeline.cli.options import JsonOption, LangOption, t
from mex_pipeline.cli.usage import UsageError, refused


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
        _function("admin:where_things_stand")()


def _options(as_json: JsonOption = False, lang: LangOption = None) -> None:
    """Options stand before the command of a group too (product G7)."""


_COMMANDS: dict[str, str | dict[str, str]] = {
    "help": "help:explain",
    "setup": "setup:setup",
    "integrate": "integrate:integrate",
    "init": "admin:init",
    "add": "memory:add",
    "update": "memory:update",
    "pin": "pin:pin",
    "get": "quick:get",
    "list": "quick:list",
    "search": "quick:search",
    "profile": "quick:profile",
    "related": "related:related",
    "source": "turns:source",
    "history": "history:history",
    "diff": "history:changed",
    "log": "log:log",
    "forget": "lifecycle:forget",
    "restore": "lifecycle:restore",
    "undo": "undo:undo",
    "gc": "lifecycle:gc",
    "move": "lifecycle:move",
    "extract": "extract:extract",
    "compact": "compact:compact",
    "embed": "embed:embed",
    "sessions": "sessions:list_sessions",
    "sweep": "sessions:sweep",
    "transcript": "extract:transcript",
    "export": "transfer:export",
    "import": "transfer:import_file",
    "backup": "transfer:backup",
    "clear": "transfer:clear",
    "stats": "admin:stats",
    "audit": "audit:audit",
    "doctor": "doctor:doctor",
    "schema": "schema:schema",
    "review": {
        "": "review:review", "list": "review:list_waiting", "approve": "review:approve", "decline": "review:decline",
    },
    "jobs": {
        "list": "jobs:list_jobs", "show": "jobs:show", "wait": "jobs:wait", "cancel": "jobs:cancel", "retry": "jobs:retry",
        "logs": "job_care:logs", "stats": "job_care:stats", "pause": "job_care:pause", "resume": "job_care:resume",
        "prune": "job_care:prune", "verify": "job_care:verify",
    },
    "turns": {"list": "turns:list_turns", "prune": "turns:prune"},
    "worker": {
        "run": "worker:run", "start": "worker:start", "stop": "worker:stop", "status": "worker:status",
        "logs": "worker:logs", "install-service": "worker:install_service", "uninstall-service": "worker:uninstall_service",
    },
    "config": {"llm": "model:config_llm", "show": "admin:config_show"},
}  # fmt: skip
"""Every command: the module below `cli` and the function, in the order of the help; "" is what a group does by itself.

What `quick` reads without Typer is declared there."""

_CARE = "job_care:"
"""Commands that are needed now and then: not in the help of their group, but in `mex help all`."""
_MESSAGES = {"install-service": "install_service", "uninstall-service": "uninstall_service"}
"""The names under which commands with a hyphen have their help."""


def build(arguments: Sequence[str] | None = None) -> Callable[..., Any]:
    """Return the commands as a callable that takes `args`, `prog_name` and `standalone_mode`.

    Of the commands only those that the arguments need are imported, without arguments all: a query does not wait for
    what others need.
    """
    app = typer.Typer(
        name="mex",
        help=t("help.mex"),
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        cls=Root,
        context_settings={"help_option_names": ["-h", "--help"], "obj": build},
        invoke_without_command=True,
    )
    app.callback()(root)
    for name in _COMMANDS if arguments is None else _needed(arguments):
        found = _COMMANDS[name]
        if isinstance(found, str):
            app.command(name, cls=Command, help=t(f"help.{name}"))(_function(found))
        else:
            app.add_typer(_group(name, found), name=name)
    return typer.main.get_command(app)


def call(arguments: Sequence[str]) -> object:
    """Run the command of a line and return what Typer returns; a line that it cannot read raises UserError."""
    command = build(arguments)
    gc.enable()  # off while the modules load (cli/main.py)
    try:
        return command(args=list(arguments), prog_name="mex", standalone_mode=False)
    except UsageError as error:
        raise refused(error, error.ctx) from error


def _needed(arguments: Sequence[str]) -> Iterable[str]:
    """The commands to load: the one that is named; none for the bare command and its options, all for help."""
    asked = _first_word(arguments)
    if asked in _COMMANDS:
        return [asked]
    is_bare = not asked and not {"-h", "--help"} & set(arguments)
    return () if is_bare else _COMMANDS


def _first_word(arguments: Sequence[str]) -> str:
    """The word that should be the command: the first that is neither an option nor the language."""
    words = (one for at, one in enumerate(arguments) if at == 0 or arguments[at - 1] != "--lang")
    return next((one for one in words if not one.startswith("-")), "")


def _group(name: str, verbs: Mapping[str, str]) -> typer.Typer:
    alone = verbs.get("")
    group = typer.Typer(
        help=t(f"help.{name}"),
        cls=Commands,
        no_args_is_help=False,
        rich_markup_mode=None,
        callback=_function(alone) if alone else _options,
        invoke_without_command=alone is not None,
    )
    for verb, found in verbs.items():
        if verb:
            text = t(f"help.{name}.{_MESSAGES.get(verb, verb)}")
            group.command(verb, cls=Command, help=text, hidden=found.startswith(_CARE))(_function(found))
    return group


def _function(found: str) -> Callable[..., None]:
    module, name = found.split(":")
    if module == "quick":
        return declared.command(name)
    function: Callable[..., None] = getattr(import_module(f"mex_pipeline.cli.{module}"), name)
    return function
