"""`mex --help` by example, `mex help`, and what a mistyped command is answered (product G8)."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, t
from mex_pipeline.cli.usage import UsageError, refused
from mex_pipeline.errors import InvalidInput

PAGE: dict[str, tuple[str, ...]] = {
    "start": ("setup", "integrate claude", "config llm", "doctor"),
    "remember": (
        "extract --file session.jsonl",
        'add --content "met Lin in Porto"',
        "schema",
    ),
    "look": ("profile", "search coffee --since 30d", "list --topic work", "get ID", "history ID", "diff --since 7d"),
    "correct": ("review", "update ID --content Lisbon", "forget ID", "restore ID", "undo last"),
    "move": ("export --output memories.json", "import memories.json", "backup mex-copy.db"),
    "background": ("jobs list", "jobs wait ID --timeout 20", "worker status"),
}
"""The commands people use, by example, in the groups of the page."""


class _Spoken:
    """A command whose `--help` and refusals speak the language in use; the library's own words are English."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Return what Typer makes of the words; raises UserError in our words when it cannot."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]  # the class beside this one has it
        except UsageError as error:
            raise refused(error, ctx, words) from error

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option Typer makes, with our words."""
        found = super().get_help_option(ctx)  # type: ignore[misc]  # the class beside this one has it
        if found is not None:
            found.help = t("help.show")
        return found

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the line that says how the command is called."""
        pieces = self.collect_usage_pieces(ctx)  # type: ignore[attr-defined]
        formatter.write_usage("", " ".join(pieces), prefix=t("label.help_usage", command=ctx.command_path))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        shown = [one for one in self.get_params(ctx) if not one.hidden]  # type: ignore[attr-defined]
        for kind, heading in (("argument", t("label.help_arguments")), ("option", t("label.help_options"))):
            _write(formatter, heading, [_row(one, ctx) for one in shown if one.param_type_name == kind])


class Command(_Spoken, TyperCommand):
    """A command."""


class Commands(_Spoken, TyperGroup):
    """A group whose mistyped commands are answered with the nearest ones, in the language in use."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, then the commands."""
        super().format_options(ctx, formatter)
        shown = [one for one in map(self.commands.get, self.list_commands(ctx)) if one is not None and not one.hidden]
        _write(formatter, t("label.help_commands"), [(one.name or "", one.help or "") for one in shown])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return what Typer finds; raises InvalidInput, with the nearest names when there are any."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            nearest = [f"{ctx.command_path} {one}" for one in get_close_matches(name, self.list_commands(ctx))]
            if nearest:
                raise InvalidInput("mistyped_command", command=name, nearest=", ".join(nearest))
            raise InvalidInput("unknown_command", command=name)
        return super().resolve_command(ctx, args)


class Root(Commands):
    """The program itself: its help is a page of examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write("\n".join(_page(ctx.obj())) + "\n")


def _write(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    """Write a section of a help, unless it is empty."""
    if rows:
        formatter.write_paragraph()
        formatter.write(f"{heading}\n")
        with formatter.indentation():
            formatter.write_dl(rows)


def _row(param: Any, ctx: Any) -> tuple[str, str]:
    """A parameter as Typer spells it, and its help with what else there is to know."""
    notes = [t("label.help_default", value=value)] if (value := _default(param, ctx)) else []
    if hasattr(param.type, "min"):
        notes.append(f"{param.type.min}<=x<={param.type.max}")
    if param.required:
        notes.append(t("label.help_required"))
    what = [param.help, f"[{'; '.join(notes)}]" if notes else ""]
    return param.get_help_record(ctx)[0], "  ".join(one for one in what if one)


def _default(param: Any, ctx: Any) -> str:
    """What stands for a parameter that is left out, as it would be typed; nothing for a flag that is off."""
    value = param.get_default(ctx, call=False)
    if isinstance(value, bool) and param.secondary_opts and param.show_default:
        return str((param.opts if value else param.secondary_opts)[0]).lstrip("-")
    if not isinstance(value, str | int | Enum) or value is False or not param.show_default:
        return ""
    return str(value.value if isinstance(value, Enum) else value)


def explain(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help=t("help.command"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    build: Callable[..., Any] = context.obj
    wanted = [] if words in (None, ["all"]) else list(words or ())
    start = " ".join(["mex", *wanted, ""])
    found = [(name, one.help) for name, one in _all(build(), "mex") if f"{name} ".startswith(start)]
    if wanted and not (output.wants_json() and found):
        build(wanted)(args=[*wanted, "--help"], prog_name="mex", standalone_mode=False)
        return
    width = max(len(name) for name, _ in found)
    output.emit(
        [{"command": name, "help": text} for name, text in found],
        _columns(found, width) if words else _page(build()),
    )


def _page(root: Any) -> Iterator[str]:
    """Yield the lines of the page; the words beside an example are its command's own help."""
    yield t("help.page_usage")
    yield ""
    yield t("help.mex")
    width = max(len(one) for examples in PAGE.values() for one in examples) + len("mex ")
    for group, examples in PAGE.items():
        yield ""
        yield t(f"help.page_{group}")
        rows = [(f"mex {one}", _named(root, one).help) for one in examples]
        yield from (f"  {line}" for line in _columns(rows, width))
    yield ""
    yield t("help.page_more")


def _named(root: Any, example: str) -> Any:
    """Return the command an example names."""
    first, *rest = example.split()
    command = root.commands[first]
    below = getattr(command, "commands", {})
    return below.get(rest[0], command) if rest else command


def _all(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, by its full name."""
    below = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield name, command
    for verb, child in below.items():
        yield from _all(child, f"{name} {verb}")


def _columns(rows: list[tuple[str, str]], width: int) -> list[str]:
    return [f"{left:<{width}}  {right}" for left, right in rows]
