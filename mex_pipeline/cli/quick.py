"""The commands that agents run at every turn, read without Typer: its import costs more than what they do.

A command is declared once, by the signature of its function: what has no default is a word that must be there, a `bool`
is a flag, all else takes a value. Words that are not plainly that are left to Typer, which is given the same signature
(cli/declared.py) and ends in the same function.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Quick(NamedTuple):
    """A command: its module below `cli` and function, and its word that is no option.

    `names` are the options that are not called as their parameter, `helps` the help texts that are not.
    """

    function: str
    argument: str | None = None
    names: Mapping[str, str] = {}
    helps: Mapping[str, str] = {}


COMMANDS = {
    "get": Quick("reading:get", "identifier", helps={"identifier": "id"}),
    "list": Quick("listing:list_memories", names={"everything": "--all"}, helps={"everything": "all", "limit": "page"}),
    "search": Quick(
        "query:search",
        "query",
        names={"with_turns": "--turns", "session_id": "--session"},
        helps={
            "history": "past_values",
            "explain": "explain_search",
            "with_turns": "in_turns",
            "session_id": "in_session",
            "agent": "in_agent",
        },
    ),
    "profile": Quick("profile:profile"),
}


class Option(NamedTuple):
    """An option of a command: the parameter it is for, and what its value is: `bool` for a flag, `int`, `str`."""

    name: str
    kind: str


_COMMON = {"--json": Option("as_json", "bool"), "--lang": Option("lang", "str")}
"""Read before the command is known (cli/dispatch.py)."""


def carried_out(arguments: Sequence[str]) -> bool:
    """Do what the words say, if they are plainly those of a command here; False, and nothing done, for any others."""
    quick = COMMANDS.get(arguments[0]) if arguments else None
    if quick is None:
        return False
    function = function_of(quick)
    given = read(quick, function, arguments[1:])
    if given is None:
        return False
    function(**given)
    return True


def function_of(quick: Quick) -> Callable[..., None]:
    """Return what a command does."""
    module, name = quick.function.split(":")
    function: Callable[..., None] = getattr(import_module(f"mex_pipeline.cli.{module}"), name)
    return function


def options(quick: Quick, function: Callable[..., None]) -> dict[str, Option]:
    """Return the options of a command by their names, as its function declares them: `int | None` takes a number."""
    kinds = {name: kind.partition(" ")[0] for name, kind in function.__annotations__.items()}
    return {
        quick.names.get(name) or f"--{name.replace('_', '-')}": Option(name, kind)
        for name, kind in kinds.items()
        if name not in ("return", quick.argument)
    }


def read(quick: Quick, function: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Return what the function is to be called with; None for words that Typer might take otherwise, or refuse."""
    given: dict[str, Any] = {}
    for name, value in _given(_COMMON | options(quick, function), quick.argument, words):
        if name is None or name in given or value is None:
            return None
        given[name] = value
    is_whole = quick.argument is None or quick.argument in given or function.__defaults__ is not None
    return {name: value for name, value in given.items() if name not in ("as_json", "lang")} if is_whole else None


def _given(
    known: Mapping[str, Option], argument: str | None, words: Sequence[str]
) -> Iterator[tuple[str | None, str | int | bool | None]]:
    """Yield (parameter, its value) for the words in turn; None stands for what is not plain."""
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if not word.startswith("-"):
            yield argument, word or None
        elif name not in known:
            yield None, None
        elif known[name].kind == "bool":
            yield known[name].name, None if has_value else True
        else:
            yield known[name].name, _value(known[name].kind, value if has_value else next(rest, ""))


def _value(kind: str, text: str) -> str | int | None:
    if not text or text.startswith("-"):
        return None
    if kind == "int":
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
    return text
