"""Help by example, every command in `help all`, and what a mistyped command is answered (product G8)."""

import json
import re
import shlex
from typing import Any

import pytest

from mex_pipeline.cli.app import build
from mex_pipeline.cli.help import PAGE
from mex_pipeline.cli.usage import UsageError, refused
from tests.support.program import mex

EXAMPLES = [example for examples in PAGE.values() for example in examples]
HAN = re.compile(r"[\u4e00-\u9fff]")


def command(words: list[str]) -> tuple[Any, list[str]]:
    """The command some words name, and the words that are left for it."""
    found: Any = build()
    while words and words[0] in getattr(found, "commands", {}):
        found, words = found.commands[words[0]], words[1:]
    return found, words


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_taken_by_its_command(example: str) -> None:
    """The command exists and its parser accepts the words as they stand."""
    found, words = command(shlex.split(example))
    assert found.name != "mex"
    found.make_context(found.name, words)


def test_the_page_shows_about_twenty_commands_by_group_in_lines_that_fit() -> None:
    page = mex("--help").out
    assert page == mex("-h").out == mex("help").out
    lines = page.splitlines()
    assert lines[0].startswith("Usage: mex ")
    assert [line for line in lines if line in ("Start", "Remember", "Look", "Correct", "Move", "Background")] == [
        "Start", "Remember", "Look", "Correct", "Move", "Background",
    ]  # fmt: skip
    assert [line.strip().split("  ")[0] for line in lines if line.startswith("  mex ")] == [
        f"mex {example}" for example in EXAMPLES
    ]
    assert 15 <= len(EXAMPLES) <= 26
    assert max(len(line) for line in lines) <= 110


def test_product_a4_the_page_speaks_both_languages() -> None:
    lines = [line for line in mex("--lang", "zh", "help").out.splitlines() if line]
    assert [line for line in lines if not HAN.search(line)] == []
    assert not HAN.search(mex("--help").out)


def test_help_all_lists_every_command() -> None:
    listed = mex("help", "all").out
    every = [one["command"] for one in mex("help", "all", "--json").json]
    assert {"mex", "mex jobs list", "mex config llm", "mex worker run", "mex transcript"} <= set(every)
    assert [line.split("  ")[0].strip() for line in listed.splitlines()] == every


@pytest.mark.parametrize("words", [["extract"], ["jobs"], ["jobs", "wait"]])
def test_help_of_a_command_is_what_the_command_says(words: list[str]) -> None:
    assert mex("help", *words).out == mex(*words, "--help").out
    rows = mex("help", *words, "--json").json
    assert all(row["command"].startswith(" ".join(["mex", *words])) for row in rows)
    assert rows


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["profil"], "mex profile"),
        (["serach", "profile"], "mex search"),
        (["jobs", "lits"], "mex jobs list"),
        (["help", "extrct"], "mex extract"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest(words: list[str], nearest: str) -> None:
    ran = mex(*words, ok=False)
    assert (ran.code, ran.out) == (1, "")
    assert f"Did you mean {nearest}" in ran.err
    assert json.loads(mex("--json", *words, ok=False).err)["code"] == "mistyped_command"
    assert HAN.search(mex("--lang", "zh", *words, ok=False).err)


def test_a_word_that_is_near_to_nothing_is_answered_with_the_way_to_the_help() -> None:
    ran = mex("xyzzy", ok=False)
    assert ran.code == 1
    assert "mex --help" in ran.err
    assert "Did you mean" not in ran.err


def test_product_g8_the_last_line_of_the_bare_command_names_what_is_next() -> None:
    """Empty: setup. Then a model. With one: the profile, unless something waits for a person or went wrong."""

    def last(**environment: str) -> str:
        lines = mex(**environment).out.splitlines()
        assert len(lines) == 6
        return lines[-1]

    connected = {"MEX_LLM_BASE_URL": "http://127.0.0.1:9/v1", "MEX_LLM_MODEL": "m", "MEX_LLM_MAX_RETRIES": "0"}
    assert "mex setup" in last()
    assert "mex extract" in last(**connected)
    mex("add", "--content", "x")
    assert "mex config llm" in last()
    assert "mex profile" in last(**connected)
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "A", "--by", "user")
    memory = mex("list", "--topic", "work", "--json").json[0]
    mex("update", memory["id"], "--content", "B", "--by", "ai")
    assert "mex review" in last(**connected)
    mex("extract", "I live in Lisbon", ok=False, **connected)
    (job,) = mex("jobs", "list", "--json").json
    assert f"mex jobs show {job['job_id']}" in last(**connected)


REFUSALS = {
    "list --nonsense": ("No such option: --nonsense", "没有选项 '--nonsense'"),
    "list --limti 3": ("No such option: --limti (Possible options: --limit)", "没有选项 '--limti'（相近的有 --limit）"),
    "jobs -x": ("No such option: -x", "没有选项 '-x'"),
    "add": ("Missing option '--content'", "缺少选项 '--content'"),
    "get": ("Missing argument 'ID'", "缺少参数 'ID'"),
    "jobs": ("Missing command", "缺少子命令"),
    "add --content": ("Option '--content' requires an argument", "选项 '--content' 后面缺少值"),
    "list --all=yes": ("Option '--all' does not take a value", "选项 '--all' 不接受值"),
    "get a b c": ("Got unexpected extra argument(s) (b c)", "多余的参数：b c"),
    "list --limit many": (
        "Invalid value for '--limit': 'many' is not a valid integer", "'--limit' 的值无效：'many' 不是整数",
    ),
    "worker run --threads 99": (
        "Invalid value for '--threads': 99 is not in the range 1<=x<=64", "'--threads' 的值无效：99 不在 1 到 64 之间",
    ),
    "add --content x --by me": (
        "Invalid value for '--by': 'me' is not one of 'user', 'ai'", "'--by' 的值无效：'me' 不是 'user', 'ai' 之一",
    ),
    "export --output - --format=xml": (
        "Invalid value for '--format': 'xml' is not one of 'json', 'markdown'",
        "'--format' 的值无效：'xml' 不是 'json', 'markdown' 之一",
    ),
}  # fmt: skip
GROUPS = {"jobs", "worker"}


@pytest.mark.parametrize("call", REFUSALS)
def test_product_a4_what_the_option_parser_refuses_is_said_in_the_language_in_use(call: str) -> None:
    words = call.split()
    full = "mex " + " ".join(words[: 2 if words[0] in GROUPS and words[1:] and words[1][0] != "-" else 1])
    english, chinese = REFUSALS[call]
    assert mex(*words, ok=False).err == f"Error: {english}. {full} --help shows what it takes.\n"
    assert mex(*words, ok=False, MEX_LANG="zh").err == f"错误：{chinese}。用 {full} --help 查看用法。\n"
    error = json.loads(mex("--json", *words, ok=False).err)
    assert (error["code"], error["message"]) == ("usage", f"{english}.")


def test_a_dash_after_the_end_of_options_is_an_unknown_command() -> None:
    assert mex("--", "-x", ok=False).err.startswith("Error: There is no command '-x'.")


def test_a_refusal_that_is_not_known_keeps_the_parser_s_own_text() -> None:
    """Another version of the parser may refuse in ways of its own."""

    class Novel(UsageError):
        pass

    refused_by_parser: Any = Novel
    error = refused(refused_by_parser("Something new."), None)
    assert (error.code, error.params) == ("usage", {"detail": "Something new", "command": "mex"})
