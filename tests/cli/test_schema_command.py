"""`mex schema`: the slots, for people and programs, and whether schema.yaml can be used (seed 004 §3.4, product G16)."""

import json
from pathlib import Path

import pytest

from tests.support.program import mex

TOPICS = [
    "basic_info", "work", "edu", "research", "finance", "family", "relationship", "leisure", "health", "values",
    "interaction", "goals",
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_product_a4_the_default_schema_has_the_seed_s_topics_under_the_same_keys(language: str) -> None:
    shown = mex("--lang", language, "schema", "--json").json
    assert [topic["name"] for topic in shown["topics"]] == TOPICS
    assert all(set(topic) == {"name", "description", "sensitive", "sub_topics"} for topic in shown["topics"])


def test_seed_3_4_slots_and_fields_are_shown_with_their_rules() -> None:
    mex("--lang", "zh", "init")
    shown = {topic["name"]: topic for topic in mex("schema", "--json").json["topics"]}
    slots = {slot["name"]: slot for slot in shown["work"]["sub_topics"]}
    assert slots["company"]["unique"] is True
    assert slots["company"]["fields"] == []
    assert slots["experience"]["unique"] is False
    fields = {field["name"]: field for field in slots["experience"]["fields"]}
    assert (fields["start"]["required"], fields["start"]["format"]) == (True, "time")
    assert (fields["summary"]["required"], fields["summary"]["format"]) == (False, None)
    text = mex("--lang", "zh", "schema").out
    assert "  company · 当前公司 · 唯一\n" in text
    assert "工作经历 · 可多条" in text
    assert "start · 开始时间 · 必填 · 时间" in text


def test_one_topic_alone_and_one_that_is_none(home: Path) -> None:
    only = mex("schema", "--topic", "edu", "--json").json["topics"]
    assert [topic["name"] for topic in only] == ["edu"]
    assert "work" not in mex("schema", "--topic", "edu").out
    refused = mex("schema", "--topic", "job", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "unknown_topic")


def test_check_says_ok_and_counts(home: Path) -> None:
    mex("init")
    assert mex("schema", "--check").out.startswith("ok")
    shown = mex("schema", "--check", "--json").json
    assert (shown["ok"], shown["path"], shown["topics"]) == (True, str(home / "schema.yaml"), 12)


FAULTS: dict[str, tuple[str | bytes, str, str]] = {
    "broken syntax": ("topics: [\n", "yaml_syntax", "line 2"),
    "not UTF-8": (b"topics:\n  work: \xff\n", "file_not_utf8", "line 2"),
    "an integer for a name": ("topics:\n  1: {description: x}\n", "schema_bad_name", "'1'"),
    "null for a topic": ("topics:\n  work:\n", "schema_not_mapping", "topics.work"),
    "null for all topics": ("topics:\n", "schema_no_topics", "schema.yaml"),
    "a list of topics": ("topics: [work]\n", "schema_not_mapping", "topics"),
    "a doubled topic": ("topics:\n  work: {}\n  edu: {}\n  work: {}\n", "yaml_duplicate_key", "line 4"),
    "a doubled slot": (
        "topics:\n  work:\n    sub_topics:\n      a: x\n      b: y\n      a: z\n",
        "yaml_duplicate_key",
        "line 6",
    ),
    "a tab": ("topics:\n\twork: {}\n", "yaml_tab", "line 2"),
    "endless nesting": ("topics: " + "[" * 3000, "yaml_syntax", "line 1"),
    "deep nesting": ("topics: " + "[" * 40 + "]" * 40, "yaml_too_complex", "line 1"),
    "an alias of itself": ("topics: &a {work: *a}\n", "yaml_too_complex", "line 1"),
    "an alias bomb": (
        "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30))]),
        "yaml_too_complex",
        "line",
    ),
    "nothing": ("", "schema_no_topics", "schema.yaml"),
    "only text": ("hello\n", "schema_no_topics", "schema.yaml"),
    "two documents": ("topics: {}\n---\ntopics: {}\n", "yaml_syntax", "line 2"),
    "a control character": ("topics: \x07\n", "yaml_syntax", "line 1"),
    "a date that is none": ("topics:\n  work: {description: 2026-99-99}\n", "yaml_syntax", "line 2"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_25_a_file_that_cannot_be_used_is_a_clear_error_and_stays_as_it_is(home: Path, name: str) -> None:
    text, code, place = FAULTS[name]
    mex("init")
    path = home / "schema.yaml"
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(raw)
    for command in (["schema", "--check"], ["schema"], ["profile"], ["add", "--content", "x"], ["list"]):
        refused = mex(*command, ok=False)
        assert refused.code == 1
        assert refused.out == ""
        assert str(path) in refused.err
        assert place in refused.err
        assert len(refused.err.splitlines()) == 1
    assert json.loads(mex("schema", "--check", "--json", ok=False).err)["code"] == code
    assert mex("init").code == 0
    assert path.read_bytes() == raw


@pytest.mark.parametrize("name", FAULTS)
def test_fault_25_the_error_is_a_chinese_sentence_for_chinese_readers(home: Path, name: str) -> None:
    text, code, _ = FAULTS[name]
    mex("init")
    (home / "schema.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused = mex("--lang", "zh", "schema", "--check", ok=False)
    assert refused.err.startswith("错误：")
    if code.startswith(("yaml", "file")):
        assert "第 " in refused.err
        assert " 行" in refused.err


CONFIG_FAULTS: dict[str, str | bytes] = {
    "broken syntax": "llm: [\n",
    "not UTF-8": b"llm: \xff\n",
    "a doubled section": 'language: "en"\nllm: {}\nllm: {}\n',
    "a doubled key": "llm:\n  model: a\n  model: b\n",
    "a tab": "llm:\n\tmodel: a\n",
    "an alias of itself": "llm: &a [*a]\n",
    "a list": "- llm\n",
    "a bad number": "llm:\n  max_retries: many\n",
    "an unknown key": "llm:\n  modle: x\n",
}


@pytest.mark.parametrize("name", CONFIG_FAULTS)
def test_fault_25_broken_settings_are_never_overwritten(home: Path, name: str) -> None:
    mex("init")
    path = home / "config.yaml"
    text = CONFIG_FAULTS[name]
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(raw)
    for command in (
        ["list"], ["add", "--content", "x"], ["config", "show"],
        ["config", "llm", "--provider", "ollama", "--model", "m"],
    ):  # fmt: skip
        refused = mex(*command, ok=False)
        assert refused.code == 1
        assert str(path) in refused.err
        assert refused.out == ""
    assert path.read_bytes() == raw


@pytest.mark.parametrize("file", ["config.yaml", "schema.yaml"])
def test_fault_25_a_folder_in_place_of_a_file_is_a_clear_error(home: Path, file: str) -> None:
    mex("init")
    (home / file).unlink()
    (home / file).mkdir()
    for command in (["list"], ["add", "--content", "x"], ["schema", "--check"]):
        refused = mex(*command, ok=False)
        assert refused.code == 1
        assert str(home / file) in refused.err
    assert list((home / file).iterdir()) == []
