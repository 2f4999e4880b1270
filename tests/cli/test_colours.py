"""Colours at a real terminal, and nowhere else (product E3)."""

import re
from pathlib import Path

import pytest

from tests.support.program import mex
from tests.support.terminal import Terminal

BOLD, FAINT, RED, GREEN, YELLOW = (f"\x1b[{number}m" for number in ("1", "2", "31", "32", "33"))
END = "\x1b[0m"
HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J end"
COLOURLESS = [{"NO_COLOR": "1"}, {"TERM": "dumb"}]


def seen(folder: Path, *arguments: str, **environment: str) -> str:
    """What a person at a terminal sees of a command."""
    with Terminal(folder, *arguments, **environment) as terminal:
        terminal.end()
        return terminal.seen


def written() -> str:
    """An inferred memory with evidence; returns its id."""
    added = mex("add", "--content", "lives in Porto", "--confidence", "uncertain", "--by", "ai", "--json").json
    return str(added["id"])


def test_the_head_of_a_memory_is_bold_its_id_faint_and_its_marks_yellow(tmp_path: Path) -> None:
    identifier = written()
    mex("forget", identifier)
    shown = seen(tmp_path, "list", "--include-forgotten")
    assert f"{BOLD}1. {END}{FAINT}{identifier}{END}{BOLD} · " in shown
    assert f"{YELLOW} [forgotten]" in shown
    assert "   lives in Porto\r\n" in shown, "a content has no colour"


def test_a_value_that_was_replaced_is_marked_yellow(tmp_path: Path) -> None:
    kept = mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--json").json["id"]
    mex("update", kept, "--content", "杭州")
    assert f"{YELLOW} [superseded, " in seen(tmp_path, "search", "上海", "--history")


def test_evidence_is_faint_and_a_job_s_state_has_its_colour(tmp_path: Path) -> None:
    mex("extract", "我在远光软件工作。")
    assert f"{FAINT}   evidence: " in seen(tmp_path, "list")
    assert f"{GREEN}done{END}" in seen(tmp_path, "jobs", "list")


def test_what_doctor_finds_has_the_colour_of_how_bad_it_is(tmp_path: Path, home: Path) -> None:
    mex("extract", "--async", "x", MEX_WORKER_AUTOSTART="false")
    home.chmod(0o755)
    shown = seen(tmp_path, "doctor", "--offline")
    for colour, status in ((GREEN, "ok"), (YELLOW, "warning"), (RED, "problem"), (FAINT, "skipped")):
        assert f"{colour}[{status}]{END} " in shown


@pytest.mark.parametrize(("language", "word"), [("en", "Error: "), ("zh", "错误：")])
def test_an_error_begins_red_on_a_terminal(language: str, word: str, tmp_path: Path) -> None:
    mex("init")
    assert seen(tmp_path, "get", "00000000", "--lang", language).startswith(f"{RED}{word}{END}")
    assert "\x1b" not in mex("get", "00000000", "--lang", language, ok=False).err


@pytest.mark.parametrize("environment", COLOURLESS, ids=str)
@pytest.mark.parametrize("words", [["list"], ["get", "00000000"], ["doctor", "--offline"]], ids=" ".join)
def test_who_wants_no_colours_gets_none(words: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    written()
    assert "\x1b" not in seen(tmp_path, *words, **environment)


def test_an_empty_no_color_turns_nothing_off(tmp_path: Path) -> None:
    written()
    assert BOLD in seen(tmp_path, "list", NO_COLOR="")


def test_what_is_meant_for_programs_has_no_colours_even_on_a_terminal(tmp_path: Path) -> None:
    identifier = written()
    for words in (
        ["list", "--json"], ["get", identifier], ["profile"], ["get", "00000000", "--json"], ["doctor", "--offline", "--json"],
        ["export", "--output", "-"], ["export", "--output", "-", "--format", "markdown"],
    ):  # fmt: skip
        shown = seen(tmp_path, *words)
        assert shown.strip()
        assert "\x1b" not in shown, words


def test_a_pipe_gets_the_same_words_without_colours(tmp_path: Path) -> None:
    written()
    shown = seen(tmp_path, "list").replace("\r\n", "\n")
    assert re.sub(r"\x1b\[\d+m", "", shown) == mex("list").out


def test_a_content_never_carries_a_code_to_the_terminal(tmp_path: Path) -> None:
    mex("add", "--content", HOSTILE, "--topic", "work", "--by", "user")
    shown = seen(tmp_path, "list")
    codes = set(re.findall(r"\x1b\[\d+m", shown))
    assert codes == {BOLD, FAINT, YELLOW, END} & codes
    assert BOLD in codes
    assert not {"\x1b", "\x07", "\x9b"} & set(re.sub(r"\x1b\[\d+m", "", shown))
    assert "\ufffd[31mred\ufffd[0m" in shown


def test_an_error_that_repeats_hostile_words_carries_no_code(tmp_path: Path) -> None:
    mex("init")
    shown = seen(tmp_path, "add", "--content", "x", "--topic", HOSTILE)
    assert shown.startswith(f"{RED}Error: {END}")
    assert not {"\x1b", "\x07", "\x9b"} & set(shown.removeprefix(f"{RED}Error: {END}"))
