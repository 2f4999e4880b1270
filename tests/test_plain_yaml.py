"""The plain reader of config.yaml: it says what yaml says, or nothing."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mex_pipeline import plain_yaml, yaml_file
from mex_pipeline.errors import MexError
from mex_pipeline.resources import shipped
from tests.support.extent import tries
from tests.support.program import mex

KEYS = st.sampled_from(["llm", "model", "worker", "on", "null", "Model", "a-b", "1", '"llm"', "<<", "? x", "- x"])
VALUES = st.one_of(
    st.sampled_from(
        ["", '""', '"a b"', "'a'", "600", "0", "007", "0x1f", "1_000", "-1", "+1", "1.5", "0.5", "01.5", "1.", ".5", "1e3",
         "1:30", "2026-01-02", "true", "True", "yes", "on", "Off", "null", "~", "none", "15m", "2h", "3w", "1d2", "zh",
         "sk-abc_9", "https://example.com:8080/v1", "qwen2.5:7b", "a: b", "a:", "a#b", "a #b", "# c", '"a"#b', '"a" # b',
         '"a\\n"', "&x 1", "*x", "!!str 1", "[1]", "{a: 1}", "|", ">-", "%a", "@a", "`a`", "a,b", "模型", '"模型 ×"', "\t1",
         ".inf", "-.inf", ".nan", "=", "<<", "1__2", "0b1", "0o7", "y", "N", "12345678901234567890", "'it''s'", '"', "1.5.2"]
    ),
    st.text(st.sampled_from("abz019_-.:/#\"' \\~é模\u00a0\u2028\x85\x07"), max_size=6),
)  # fmt: skip
INDENTS, GAPS = st.sampled_from(["", "", "  ", " ", "    ", "\t"]), st.sampled_from([" ", "  ", ""])
LINES = st.one_of(
    st.builds("{}{}:{}{}".format, INDENTS, KEYS, GAPS, VALUES),
    st.sampled_from(["", "   ", "# words", "  # words", "---", "...", "%YAML 1.1", "- a", "words", "\ufeff"]),
)  # fmt: skip


def by_yaml(text: str) -> object:
    try:
        return yaml_file.parse(text, Path("config.yaml"))
    except MexError as error:
        return error.code


@settings(max_examples=tries(1500), deadline=None)
@given(lines=st.lists(LINES, max_size=5))
@example(lines=["llm:", "", "  model: a", "worker: # none", "llm: b"])
def test_what_it_reads_is_what_yaml_reads(lines: list[str]) -> None:
    text = "\n".join(lines)
    mine = plain_yaml.parse(text)
    if mine is not None:
        theirs = by_yaml(text)
        assert mine == theirs
        assert repr(mine) == repr(theirs), "1 is not 1.0, nor true"


@settings(max_examples=tries(600), deadline=None)
@given(value=VALUES)
def test_a_single_value_is_what_yaml_reads(value: str) -> None:
    text = f"llm:\n  model: {value}\n"
    mine = plain_yaml.parse(text)
    assert mine is None or repr(mine) == repr(by_yaml(text))


def test_the_shipped_file_is_plain_and_stays_so_when_commands_edit_it(home: Path) -> None:
    """Or every command would wait for the yaml package."""
    text = shipped("config.yaml").read_text(encoding="utf-8")
    assert plain_yaml.parse(text) == by_yaml(text)
    mex(
        "config",
        "llm",
        "--base-url",
        "https://example.com:8080/v1",
        "--api-key",
        "sk-Ab_9.c/d+e=",
        "--model",
        "qwen2.5:7b",
    )
    edited = (home / "config.yaml").read_text(encoding="utf-8")
    found = plain_yaml.parse(edited)
    assert found is not None
    assert found["llm"]["api_key"] == "sk-Ab_9.c/d+e="
    assert found == by_yaml(edited)


@pytest.mark.parametrize("text", ["", "# nothing", "a: 1\na: 2", "llm:\n\tmodel: x", "llm: {model: x}", "x" * 70_000])
def test_what_it_is_not_sure_of_is_left_to_yaml(text: str) -> None:
    assert plain_yaml.parse(text) is None
