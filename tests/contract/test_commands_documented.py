"""Every command explains itself in both languages, speaks JSON, and exits as promised (product G7, G8, A4)."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import mex

TREE = """
import json, sys
import typer
from mex_pipeline import messages
messages.activate(sys.argv[1])
from mex_pipeline.cli.app import build

def shown(command):
    context = typer.Context(command)
    params = command.get_params(context)
    return {
        "help": command.help or "",
        "params": {
            "/".join([*one.opts, *one.secondary_opts]): [one.name, getattr(one, "help", None) or ""]
            for one in command.params
        },
        "shown": [
            *command.collect_usage_pieces(context),
            *(one.get_help_record(context)[0] for one in params),
            *(one.help or "" for one in params),
            *(str(getattr(one.default, "value", one.default)) for one in params if one.default),
            "-h, --help", "no-backup", "backup", "1<=x<=64",
        ],
        "commands": {name: shown(child) for name, child in getattr(command, "commands", {}).items()},
    }

print(json.dumps(shown(build())))
"""
HAN = re.compile(r"[\u4e00-\u9fff]")
SEED_5_1 = {"init", "add", "search", "list", "get", "profile", "extract", "stats", "config llm", "config show"}
PRODUCT_D = {"jobs list", "jobs show", "jobs wait", "jobs cancel", "jobs retry"} | {
    f"worker {verb}" for verb in ("run", "start", "stop", "status")
}
WITHOUT_JSON = {"worker run"}
"""It becomes the worker and prints nothing."""


@cache
def tree(language: str) -> dict[str, Any]:
    """The commands as a fresh process sees them: help is made when they are imported."""
    command = [sys.executable, "-c", TREE, language]
    return json.loads(subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout)


def leaves(node: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every command that does something, by its full name."""
    for verb, child in node["commands"].items():
        full = f"{name} {verb}".strip()
        if child["commands"]:
            yield from leaves(child, full)
        else:
            yield full, child


def every(node: dict[str, Any], name: str = "mex") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node, groups included."""
    yield name, node
    for verb, child in node["commands"].items():
        yield from every(child, f"{name} {verb}")


def test_the_commands_of_the_design_are_there() -> None:
    assert {name for name, _ in leaves(tree("en"))} >= SEED_5_1 | PRODUCT_D


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_and_option_has_help_in_its_language(language: str) -> None:
    for name, node in every(tree(language)):
        own = {key: text for key, (_, text) in node["params"].items() if "--help" not in key}
        for key, text in {"": node["help"], **own}.items():
            assert text.strip(), f"{name} {key}"
            assert bool(HAN.search(text)) is (language == "zh"), f"{name} {key}: {text}"


def test_both_languages_have_the_same_commands_and_options() -> None:
    def shape(language: str) -> list[tuple[str, list[str]]]:
        return [(name, sorted(node["params"])) for name, node in every(tree(language))]

    assert shape("zh") == shape("en")


def test_product_g7_every_command_takes_json_before_and_after() -> None:
    assert "--json" in tree("en")["params"]
    assert {name for name, node in leaves(tree("en")) if "--json" not in node["params"]} == WITHOUT_JSON


def test_every_command_takes_the_language() -> None:
    assert [name for name, node in leaves(tree("en")) if "--lang" not in node["params"]] == []


def test_an_option_means_the_same_everywhere() -> None:
    """One name, one variable; one variable, one name."""
    names: dict[str, set[str]] = {}
    for _, node in every(tree("en")):
        for key, (variable, _) in node["params"].items():
            if key.startswith("--"):
                names.setdefault(key, set()).add(variable)
    assert {key: found for key, found in names.items() if len(found) > 1} == {}


def test_product_a4_help_speaks_chinese_when_asked() -> None:
    for ran in (mex("--help", MEX_LANG="zh"), mex("--lang", "zh", "--help"), mex("--lang=zh", "add", "--help")):
        assert HAN.search(ran.out)
    assert "本地优先的个人记忆" in mex("--help", MEX_LANG="zh").out
    assert not HAN.search(mex("--help").out)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["add", "--help"], ["jobs", "wait", "-h"]])
def test_product_g8_help_and_version_exit_0_and_make_no_home(arguments: list[str], home: Path) -> None:
    ran = mex(*arguments)
    assert ran.out.strip()
    assert ran.err == ""
    assert not home.exists()


def helps(language: str) -> dict[str, str]:
    """What every command answers to `--help`, by its full name."""
    script = (
        "import contextlib, io, json, sys\n"
        "from mex_pipeline import messages\n"
        "messages.activate(sys.argv[2])\n"
        "from mex_pipeline.cli.main import run\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out):\n"
        "        code = run([*words, '--help', '--lang', sys.argv[2]])\n"
        "    print(json.dumps([code, out.getvalue()]))\n"
    )
    names = [name for name, _ in every(tree("en"))]
    words = json.dumps([name.split()[1:] for name in names])
    command = [sys.executable, "-c", script, words, language]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {code for code, _ in answers} == {0}
    return dict(zip(names, (text for _, text in answers), strict=True))


def test_every_command_answers_help(home: Path) -> None:
    for language, start in (("en", "Usage: "), ("zh", "用法：")):
        for name, text in helps(language).items():
            assert text.startswith(start + name)
    assert not home.exists()


def test_english_help_says_what_the_parser_s_own_would() -> None:
    shown = helps("en")
    listed = " ".join(shown["mex search"].split())
    for part in ("Arguments: [QUERY]", "Options: --keyword", "How many at most. [default: 50]", "[default: 0]"):
        assert part in listed
    assert "[required]" in shown["mex get"]
    assert "[default: backup]" in " ".join(shown["mex clear"].split())
    assert "Jobs at once.  [1<=x<=64]" in shown["mex worker run"]
    assert "\nCommands:\n  list    The newest jobs.\n" in shown["mex jobs"]


def test_product_a4_no_word_of_the_parser_s_own_is_left_in_chinese_help() -> None:
    """Latin letters stand only in names, metavars, values and in our own texts."""
    shown, nodes = helps("zh"), dict(every(tree("zh")))
    assert "[必填]" in shown["mex get"]
    assert "[默认：50]" in shown["mex search"]
    assert "命令：\n  list" in shown["mex jobs"]
    for name, text in shown.items():
        node = nodes[name]
        own = [
            name,
            node["help"],
            *node["shown"],
            *node["commands"],
            *(one["help"] for one in node["commands"].values()),
        ]
        rest = "".join(text.split())
        for known in sorted(("".join(one.split()) for one in own), key=len, reverse=True):
            rest = rest.replace(known, "")
        if name != "mex":
            assert not re.search("[A-Za-z]", rest), f"{name}: {rest}"


FAULTS = [
    ["nonsense"], ["--nonsense"], ["list", "--nonsense"], ["add"], ["get"], ["get", "a", "b"], ["add", "--content"],
    ["list", "--limit", "many"], ["add", "--content", "x", "--confidence", "sure"], ["add", "--content", "x", "--by", "me"],
    ["jobs"], ["jobs", "nonsense"], ["jobs", "wait"], ["config"], ["worker"], ["transcript"], ["profile", "--max-tokens", "1.5"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", FAULTS, ids=" ".join)
def test_product_g8_faults_of_the_option_parser_exit_1(arguments: list[str], home: Path) -> None:
    ran = mex(*arguments, ok=False)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("Error: ")
    assert " --help shows " in ran.err
    assert not home.exists()


@pytest.mark.parametrize("arguments", [["--json", "nonsense"], ["list", "--json", "--nonsense"], ["add", "--json"]])
def test_product_e4_with_json_a_fault_is_one_object(arguments: list[str]) -> None:
    ran = mex(*arguments, ok=False)
    assert ran.code == 1
    assert ran.out == ""
    error = json.loads(ran.err)
    assert set(error) == {"code", "message", "hint", "retryable"}
    code = "unknown_command" if "nonsense" in arguments else "usage"
    assert (error["code"], error["retryable"]) == (code, False)


def test_product_g7_json_before_and_after_print_the_same(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("我在远光软件工作。", encoding="utf-8")
    added = mex("--json", "add", "--topic", "work", "--sub-topic", "company", "--content", "远光软件").json
    assert added.items() <= mex("get", added["id"], "--json").json.items()
    for words in (
        ["init"], ["list"], ["search", "远光"], ["profile"], ["stats"], ["config", "show"], ["jobs", "list"],
        ["worker", "status"], ["worker", "stop"], ["transcript", str(file)], ["extract", "--dry-run", "hello"],
        ["get", added["id"]],
    ):  # fmt: skip
        before, after = mex("--json", *words), mex(*words, "--json")
        assert before.json == after.json, words
        assert before.out == after.out
        assert "远光软件" in before.out or not HAN.search(before.out), "non-ASCII stands as it is"


def test_the_bare_command_takes_json_too() -> None:
    assert set(mex("--json").json) >= {"home", "profile", "pending_review", "jobs"}


def test_product_g8_the_bare_command_says_where_things_stand_in_six_lines() -> None:
    mex("init")
    ran = mex()
    assert len(ran.out.splitlines()) == 6
    assert "Next: " in ran.out.splitlines()[-1]


def test_product_a3_a_home_that_had_to_be_made_is_told_once_on_stderr(home: Path) -> None:
    first, second = mex("list"), mex("list")
    assert str(home) in first.err
    assert second.err == ""
    assert first.out == second.out
