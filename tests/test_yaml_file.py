"""Reading YAML with file, line and reason, and editing one section without touching the rest (product A5, G16)."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline import yaml_file
from mex_pipeline.errors import InvalidInput

COMMENTED = """\
# 设置
language: "zh"   # which

llm:  # the endpoint
  base_url: ""        # empty = none
  api_key: 'old'      # secret
  model: plain        # name
  max_retries: 3

profile:
  max_tokens: 3000
"""


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def fails(path: Path) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        yaml_file.load(path)
    assert caught.value.params["path"] == str(path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "data"), [("", None), ("# only\n", None), ("a: [1, 二]\n", {"a": [1, "二"]}), ("\ufeffa: 1", {"a": 1})]
)
def test_a_file_is_parsed(tmp_path: Path, text: str, data: object) -> None:
    assert yaml_file.load(written(tmp_path, text)) == data


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [\n", 3),
        ("a: 1\nb: c: d\n", 2),
        ("a: *missing\n", 1),
        ("a: !!python/name:os.system x\n", 1),
        ("a: 1\nb: \x00\n", 2),
        ("a: 1\nb:\n  c: 2026-99-99\n", 3),
        ("? [a]\n: 1\n", 1),
        ("a: 1\n---\nb: 2\n", 2),
    ],
)
def test_product_a5_a_fault_names_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    error = fails(written(tmp_path, text))
    assert (error.code, error.params["line"]) == ("yaml_syntax", line)
    assert error.params["detail"]
    assert error.params["column"] >= 1


@pytest.mark.parametrize("text", ["a: 1\n\tb: 2\n", "a:\n\tb: 2\n", "a:\n  \tb: 2\n", "#\n\ta: 1\n"])
def test_a_tab_that_indents_is_named_as_such(tmp_path: Path, text: str) -> None:
    error = fails(written(tmp_path, text))
    assert (error.code, error.params["line"]) == ("yaml_tab", 2)


@pytest.mark.parametrize(
    ("text", "key", "line", "first"),
    [
        ("a: 1\nb: 2\na: 3\n", "a", 3, 1),
        ("topics:\n  work: {description: x}\n  edu:\n    description: y\n  work:\n", "work", 5, 2),
        ('a:\n  - {b: 1, "b": 2}\n', "b", 2, 2),
        ("1: x\n1: y\n", "1", 2, 1),
    ],
)
def test_fault_25_a_key_that_stands_twice_is_a_fault_and_never_the_last_one(
    tmp_path: Path, text: str, key: str, line: int, first: int
) -> None:
    error = fails(written(tmp_path, text))
    assert error.code == "yaml_duplicate_key"
    assert (error.params["key"], error.params["line"], error.params["first"]) == (key, line, first)


def test_equal_keys_of_different_mappings_and_of_a_merge_are_no_duplicates(tmp_path: Path) -> None:
    text = "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n1: one\n'1': text\n"
    assert yaml_file.load(written(tmp_path, text)) == {
        "a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}, 1: "one", "1": "text",
    }  # fmt: skip


BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])
DEEP = "\n".join(f"{'  ' * depth}k:" for depth in range(40))


@pytest.mark.parametrize("text", [BOMB, DEEP, "a: &a [*a]\n", "a: &a {b: *a}\n", "[" * 31 + "]" * 31])
def test_what_would_unfold_without_end_is_refused_at_once(tmp_path: Path, text: str) -> None:
    assert fails(written(tmp_path, text)).code == "yaml_too_complex"


def test_an_alias_is_no_fault_in_itself(tmp_path: Path) -> None:
    text = "f: &f {start: s, end: e}\nslots:\n  a: {fields: *f}\n  b: {fields: *f}\n"
    assert yaml_file.load(written(tmp_path, text))["slots"]["b"] == {"fields": {"start": "s", "end": "e"}}


@pytest.mark.parametrize("text", ["a: 2026-99-99\n", "a: " + "9" * 5_000 + "\n", "[" * 5_000])
def test_what_breaks_the_parser_is_a_fault_too(tmp_path: Path, text: str) -> None:
    assert fails(written(tmp_path, text)).code == "yaml_syntax"


def test_a_file_that_is_no_text_is_unreadable(tmp_path: Path) -> None:
    bad = fails(written(tmp_path, b"a: 1\nb: \xff\xfe\n"))
    assert (bad.code, bad.params["line"]) == ("file_not_utf8", 2)
    assert fails(tmp_path / "missing.yaml").params["detail"] == "No such file or directory"
    assert fails(tmp_path).params["detail"] == "Is a directory"


def test_nothing_is_executed(tmp_path: Path) -> None:
    target = tmp_path / "made"
    error = fails(written(tmp_path, f"!!python/object/apply:os.mkdir ['{target}']\n"))
    assert error.code == "yaml_syntax"
    assert not target.exists()


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), 1),
        (("language",), 2),
        (("llm",), 4),
        (("llm", "model"), 7),
        (("llm", "nothing"), 4),
        (("profile", "max_tokens"), 11),
        (("nothing",), 1),
        (("language", "deeper"), 2),
    ],
)
def test_product_a5_a_nested_key_has_a_line(tmp_path: Path, keys: tuple[str, ...], line: int) -> None:
    assert yaml_file.line_of(written(tmp_path, COMMENTED), *keys) == line


def changed(text: str, **values: str) -> str:
    return yaml_file.with_values(text, "llm", values)


def test_product_g16_values_change_and_everything_else_stays() -> None:
    assert changed(COMMENTED, base_url="http://127.0.0.1:11434/v1", api_key="new", model="m") == (
        COMMENTED.replace('base_url: ""  ', 'base_url: "http://127.0.0.1:11434/v1"  ')
        .replace("'old'", '"new"')
        .replace("plain", '"m"')
    )


def test_a_missing_key_is_added_to_its_section() -> None:
    text = changed("llm:\n    model: m  # name\nprofile:\n    max_tokens: 1\n", api_key="k")
    assert text == 'llm:\n    api_key: "k"\n    model: m  # name\nprofile:\n    max_tokens: 1\n'


@pytest.mark.parametrize(
    "text", ["", "# only a comment\n", "profile:\n  max_tokens: 1", "llm:\n", "llm: {}\n", "llm: null\nprofile: {}\n"]
)
def test_a_missing_or_empty_section_is_made(text: str) -> None:
    before = yaml.safe_load(text) or {}
    after = yaml.safe_load(changed(text, model="m", api_key="k"))
    assert after == before | {"llm": {"model": "m", "api_key": "k"}}


@pytest.mark.parametrize("empty", ["api_key:", "api_key: ", "api_key: ~", "api_key:  # none", "api_key: null"])
def test_a_key_without_a_value_takes_one(empty: str) -> None:
    text = changed(f"llm:\n  model: m\n  {empty}\n  max_retries: 3\n", api_key="k")
    assert yaml.safe_load(text) == {"llm": {"model": "m", "api_key": "k", "max_retries": 3}}


@pytest.mark.parametrize(
    "text",
    [
        "llm: {model: old, max_retries: 3}\n",
        "llm: {max_retries: 3}\n",
        "llm: {\n  model: old,\n  max_retries: 3 # three\n}\n",
    ],
)
def test_a_section_in_braces_keeps_its_other_keys(text: str) -> None:
    assert yaml.safe_load(changed(text, model="new")) == {"llm": {"model": "new", "max_retries": 3}}


@pytest.mark.parametrize(
    "old",
    ["|\n    two\n    lines\n", ">-\n    folded\n    text\n", '"a\n    b"\n', "plain\n    over two\n", "&anchor x\n"],
)
def test_an_old_value_over_several_lines_is_replaced_whole(old: str) -> None:
    text = changed(f"llm:\n  model: {old}  max_retries: 3\n", model="m")
    assert yaml.safe_load(text) == {"llm": {"model": "m", "max_retries": 3}}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_can_be_a_value(value: str) -> None:
    text = changed(COMMENTED, api_key=value, model=value)
    expected = yaml.safe_load(COMMENTED)
    expected["llm"] |= {"api_key": value, "model": value}
    assert yaml.safe_load(text) == expected
    assert text.count("#") >= COMMENTED.count("#")


def test_writing_the_same_values_again_changes_nothing() -> None:
    once = changed(COMMENTED, api_key="a b # c: 'd' \"e\" 钥匙", model="m")
    assert changed(once, api_key="a b # c: 'd' \"e\" 钥匙", model="m") == once
