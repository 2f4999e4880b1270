"""`mex --help` by example, `mex help`, and what a mistyped command is answered (product G8)."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, t
from mex_pipeline.errors import InvalidInput

PAGE: dict[str, tuple[str, ...]] = {
    "start": ("setup", "integrate claude", "config llm", "doctor"),
    "remember": (
        "extract --file session.jsonl",
        'add --content "met Lin in Porto"',
        "schema",
    ),
    "look": ("profile", "search coffee --since 30d", "list --topic work", "get ID", "history ID", "diff --since 7d"),
    "correct": ("review", "update ID --content Lisbon", "forget ID", "restore ID"),
    "move": ("export --output memories.json", "import memories.json", "backup mex-copy.db"),
    "background": ("jobs list", "jobs wait ID --timeout 20", "worker status"),
}
"""The commands people use, by example, in the groups of the page."""


class _Spoken:
    """A command whose `--help` speaks the language in use; the library's own word is English."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option Typer makes, with our words."""
        found = super().get_help_option(ctx)  # type: ignore[misc]  # the class beside this one has it
        if found is not None:
            found.help = t("help.show")
        return found


class Command(_Spoken, TyperCommand):
    """A command."""


class Commands(_Spoken, TyperGroup):
    """A group whose mistyped commands are answered with the nearest ones, in the language in use."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return what Typer finds; raises InvalidInput, with the nearest names when there are any."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
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
