"""`get`, `list`, `search` and `profile` are read twice in the code, without Typer and by it: to one effect."""

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.cli import output, quick
from mex_pipeline.cli.app import build
from mex_pipeline.cli.usage import UsageError
from tests.support.extent import tries
from tests.support.program import in_process, mex


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    yield
    output.begin(as_json=False)  # Typer chooses it while it reads


def function(name: str) -> Any:
    return quick.function_of(quick.COMMANDS[name])


def typed(name: str, words: list[str]) -> dict[str, Any] | None:
    """What Typer calls the command's function with; None when it refuses the words."""
    command = build([name]).commands[name]  # type: ignore[attr-defined]
    try:
        params = command.make_context(name, list(words)).params
    except (UsageError, typer.Exit):
        return None
    return {key: value for key, value in params.items() if key not in ("as_json", "lang")}


def quickly(name: str, words: list[str]) -> dict[str, Any] | None:
    """What the quick reader calls it with, its defaults filled in; None when it leaves the words to Typer."""
    found = quick.read(quick.COMMANDS[name], function(name), words)
    if found is None:
        return None
    defaults = {one.name: one.default for one in signature(function(name)).parameters.values()}
    return defaults | found


def _values(kind: str) -> tuple[str, ...]:
    numbers = ("0", "7", "007", "-1", "1.5", "9" * 30, "٣", " 3 ", "1_0")
    return (
        (*numbers, "work", "工作", "two words", "a=b", "")
        if kind == "int"
        else ("work", "工作", "two words", "a=b", "-x", "")
    )


LINES = [
    (name, line)
    for name, command in quick.COMMANDS.items()
    for flag, option in (quick.options(command, function(name)) | {"--lang": quick.Option("lang", "str")}).items()
    for value in _values(option.kind)
    for line in (
        [flag],
        [flag, value],
        [f"{flag}={value}"],
        [flag, value, flag, value],
        [value, flag],
        ["--json", flag, value],
    )
]


@pytest.mark.parametrize("name", quick.COMMANDS)
def test_every_option_means_the_same_to_both_readers(name: str) -> None:
    """Or the quick one leaves it to Typer; what it does not leave is most of it."""
    lines = [line for one, line in LINES if one == name]
    argument = ["abcdef12"] if name == "get" else []
    read = [(line, quickly(name, [*argument, *line])) for line in lines]
    assert [line for line, mine in read if mine is not None and mine != typed(name, [*argument, *line])] == []
    options = quick.options(quick.COMMANDS[name], function(name))
    taken = {flag for flag in options for line, mine in read if mine is not None and line[0] == flag}
    assert taken == set(options)


@pytest.mark.parametrize("name", quick.COMMANDS)
def test_typer_knows_the_same_options_and_no_others(name: str) -> None:
    command = build([name]).commands[name]  # type: ignore[attr-defined]
    known = {flag for param in command.params for flag in param.opts if flag.startswith("--")}
    assert known == {"--json", "--lang", *quick.options(quick.COMMANDS[name], function(name))}


LEFT_TO_TYPER: tuple[list[str], ...] = (
    [],
    ["help"],
    ["--json", "list"],
    ["list", "--help"],
    ["list", "-h"],
    ["list", "a word"],
    ["list", "--nonsense"],
    ["list", "--top", "work"],
    ["list", "--limit"],
    ["list", "--limit", "many"],
    ["list", "--limit", "-1"],
    ["list", "--all=yes"],
    ["list", "--all", "--all"],
    ["get"],
    ["get", "one", "two"],
    ["get", "--json"],
    ["search", "--", "-not"],
    ["search", "-not"],
    ["search", "two", "words"],
    ["search", ""],
    ["profile", "--view="],
    ["profile", "--view", "--json"],
    ["profil"],
)


@pytest.mark.parametrize("line", LEFT_TO_TYPER, ids=" ".join)
def test_what_is_not_plain_is_left_to_typer_and_nothing_is_done(line: list[str], home: Path) -> None:
    assert not quick.carried_out(line)
    assert not home.exists()


WORDS = st.one_of(
    st.sampled_from(
        sorted({flag for name, one in quick.COMMANDS.items() for flag in quick.options(one, function(name))})
    ),
    st.sampled_from(
        ["--json", "--lang", "--lang=zh", "zh", "--help", "--", "-", "-x", "3", "--limit=3", "工作", "a b", "=", ""]
    ),
    st.text(max_size=4).filter(lambda text: text.isprintable()),
)


@pytest.mark.parametrize("name", quick.COMMANDS)
@settings(max_examples=tries(150))
@given(words=st.lists(WORDS, max_size=5))
def test_any_words_that_the_quick_reader_takes_mean_the_same_to_typer(name: str, words: list[str]) -> None:
    mine = quickly(name, words)
    assert mine is None or mine == typed(name, words)


def test_both_ways_print_the_same(home: Path) -> None:
    kept = mex("add", "--topic", "work", "--sub-topic", "company", "--content", "远光软件", "--json").json["id"]
    mex("add", "--content", "Met Lin at the fair")
    for words in (
        ("get", kept),
        ("list",),
        ("search", "远光"),
        ("search", "nobody"),
        ("profile",),
        ("get", "abcdef12"),
    ):
        short, long = in_process(*words, "--json"), in_process("--json", *words)
        assert (short.code, short.out, short.err) == (long.code, long.out, long.err)
