"""Views: named choices of topics with limits of their own, read strictly and used by `mex profile --view`."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline import plain_yaml, settings, yaml_file
from mex_pipeline.errors import InvalidInput
from mex_pipeline.settings import Settings, ViewSettings
from tests.support.program import mex

BLOCK = """
views:
  work:
    topics:
      - work
      - interaction
    max_tokens: 1200
    recent_limit: 0
  all: {include_sensitive: true, recent_days: 30}
"""


def load(text: str, folder: Path) -> Settings:
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return settings.load(file, {})


def fault(text: str, folder: Path) -> dict[str, Any]:
    with pytest.raises(InvalidInput) as caught:
        load(text, folder)
    return {"code": caught.value.code, **caught.value.params}


def test_views_are_read_in_either_style(tmp_path: Path) -> None:
    work = ViewSettings(("work", "interaction"), max_tokens=1200, recent_limit=0)
    assert load(BLOCK, tmp_path).views == {"work": work, "all": ViewSettings(recent_days=30, include_sensitive=True)}
    flow = "views: {work: {topics: [work, interaction], max_tokens: 1200, recent_limit: 0}}\n"
    assert load(flow, tmp_path).views == {"work": work}


@pytest.mark.parametrize("text", ["", "views:\n", "views: {}\n", "views:\n  # work: {topics: [work]}\n"])
def test_no_views_are_no_error(tmp_path: Path, text: str) -> None:
    assert load(f"language: en\n{text}", tmp_path).views == {}


@pytest.mark.parametrize("text", [BLOCK, "views:\n  work: {max_tokens: 5}\n", "views:\n", "views:\n  work:\n"])
def test_the_plain_reader_says_what_yaml_says_or_leaves_it_to_yaml(tmp_path: Path, text: str) -> None:
    assert plain_yaml.parse(text) in (None, yaml_file.parse(text, tmp_path / "config.yaml"))


@pytest.mark.parametrize(
    ("text", "code", "line", "key"),
    [
        ("views: work\n", "config_not_a_section", 1, "views"),
        ("views: [work]\n", "config_not_a_section", 1, "views"),
        ("views:\n  work:\n", "config_not_a_section", 2, "views.work"),
        ("views:\n  work: [work]\n", "config_not_a_section", 2, "views.work"),
        ("views:\n  Work: {}\n", "config_bad_value", 2, "views.Work"),
        ("views:\n  1: {}\n", "config_bad_value", 2, "views.1"),
        ("views:\n  work:\n    topic: [work]\n", "config_unknown_key", 3, "views.work.topic"),
        ("views:\n  工作: {}\n", "config_bad_value", 2, "views.工作"),
        ("views:\n  work:\n    topics: work\n", "config_bad_value", 3, "views.work.topics"),
        ("views:\n  work:\n    topics: []\n", "config_bad_value", 3, "views.work.topics"),
        ("views:\n  work:\n    topics:\n", "config_bad_value", 3, "views.work.topics"),
        ("views:\n  work:\n    topics: [1]\n", "config_bad_value", 3, "views.work.topics"),
        ("views:\n  work:\n    max_tokens: 0\n", "config_bad_value", 3, "views.work.max_tokens"),
        ("views:\n  work:\n    max_tokens: many\n", "config_bad_value", 3, "views.work.max_tokens"),
        ("views:\n  work:\n    recent_limit: -1\n", "config_bad_value", 3, "views.work.recent_limit"),
        ("views:\n  work:\n    recent_days: true\n", "config_bad_value", 3, "views.work.recent_days"),
        ("views:\n  work:\n    include_sensitive: 1\n", "config_bad_value", 3, "views.work.include_sensitive"),
    ],
)
def test_a5_a_fault_in_a_view_names_file_line_and_key(
    tmp_path: Path, text: str, code: str, line: int, key: str
) -> None:
    found = fault(text, tmp_path)
    assert (found["code"], found["line"], found["key"]) == (code, line, key)
    assert found["path"] == str(tmp_path / "config.yaml")


@pytest.fixture
def viewed(home: Path) -> Path:
    """A home with three views, and something to see in each."""
    mex("init")
    text = (home / "config.yaml").read_text(encoding="utf-8")
    views = (
        "views:\n"
        "  work: {topics: [work], max_tokens: 1200, recent_limit: 1}\n"
        "  family: {topics: [family], include_sensitive: true}\n"
        "  wrong:\n"
        "    topics: [work, job]\n"
    )
    shipped = next(line for line in text.splitlines(keepends=True) if line.startswith("views:"))
    (home / "config.yaml").write_text(text.replace(shipped, views), encoding="utf-8")
    schema = (home / "schema.yaml").read_text(encoding="utf-8")
    (home / "schema.yaml").write_text(
        schema.replace("    description: Family\n", "    description: Family\n    sensitive: true\n"), encoding="utf-8"
    )
    for slot, content in (("work.company", "远光"), ("family.status", "has two sisters"), ("leisure.hobbies", "爬山")):
        topic, sub_topic = slot.split(".")
        mex("add", "--topic", topic, "--sub-topic", sub_topic, "--content", content)
    for content in ("写周报", "review the code"):
        mex("add", "--topic", "work", "--content", content)
    return home / "config.yaml"


def profile(*options: str) -> dict[str, Any]:
    return dict(mex("profile", *options, "--json").json)


def test_a_view_chooses_topics_and_limits(viewed: Path) -> None:
    whole, work, family = profile(), profile("--view", "work"), profile("--view", "family")
    assert [one["view"] for one in (whole, work, family)] == [None, "work", "family"]
    assert "爬山" in whole["profile"]
    assert "sisters" not in whole["profile"]
    assert work["profile"] == profile("--topics", "work", "--max-tokens", "1200", "--recent-limit", "1")["profile"]
    assert "写周报" not in work["profile"]
    assert "has two sisters" in family["profile"]
    assert (whole["withheld"], family["withheld"]) == ([{"topic": "family", "sub_topic": "status", "count": 1}], [])


def test_what_is_given_wins_over_the_view_and_the_view_over_the_settings(viewed: Path) -> None:
    told = mex("profile", "--view", "work", "--explain", "--json", MEX_PROFILE_MAX_TOKENS="777").json
    assert told["max_tokens"] == 1200
    assert profile("--view", "work", "--explain", "--max-tokens", "500")["max_tokens"] == 500
    assert (
        mex("profile", "--view", "family", "--explain", "--json", MEX_PROFILE_MAX_TOKENS="777").json["max_tokens"]
        == 777
    )
    given = profile("--view", "work", "--topics", "leisure", "--recent-limit", "0")["profile"]
    assert "爬山" in given
    assert "远光" not in given
    assert "sisters" in profile("--view", "work", "--topics", "family", "--include-sensitive")["profile"]


@pytest.mark.parametrize(("lang", "words"), [("en", "View: work"), ("zh", "视图：work")])
def test_e1_the_explanation_names_the_view_and_the_text_stays_the_same(viewed: Path, lang: str, words: str) -> None:
    plain = mex("--lang", lang, "profile", "--view", "work").out
    told = mex("--lang", lang, "profile", "--view", "work", "--explain").out
    assert told.startswith(plain)
    assert words in told.removeprefix(plain)
    assert mex("--lang", lang, "profile", "--view", "work").out == plain
    assert words not in mex("--lang", lang, "profile", "--explain").out


@pytest.mark.parametrize(
    ("lang", "words"), [("en", "There are: 'work', 'family'"), ("zh", "已有的视图：'work', 'family'")]
)
def test_an_unknown_view_is_refused_and_the_known_ones_named(viewed: Path, lang: str, words: str) -> None:
    refused = mex("--lang", lang, "profile", "--view", "wrok", ok=False)
    assert (refused.code, refused.out) == (1, "")
    assert words in refused.err
    assert json.loads(mex("profile", "--view", "", "--json", ok=False).err)["code"] == "unknown_view"


def test_where_there_are_no_views_the_error_says_where_they_go(home: Path) -> None:
    mex("init")
    refused = mex("profile", "--view", "work", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "no_views")


@pytest.mark.parametrize(("lang", "words"), [("en", "names 'job'"), ("zh", "里的 'job' 不是")])
def test_a5_a_view_of_an_unknown_topic_names_file_line_and_key(viewed: Path, lang: str, words: str) -> None:
    line = viewed.read_text(encoding="utf-8").splitlines().index("    topics: [work, job]") + 1
    refused = mex("--lang", lang, "profile", "--view", "wrong", ok=False)
    assert (refused.code, refused.out) == (1, "")
    assert words in refused.err
    assert str(viewed) in refused.err
    assert f"line {line}" in refused.err or f"第 {line} 行" in refused.err
    assert "views.wrong.topics" in refused.err
    assert profile("--view", "work")["view"] == "work", "one wrong view does not close the others"
    found = {one["name"]: one for one in mex("doctor", "--json").json["checks"]}
    assert found["config"]["status"] == "problem"


def test_config_llm_leaves_the_views_as_they_are(viewed: Path) -> None:
    before = settings.load(viewed, {}).views
    mex("config", "llm", "--provider", "ollama", "--model", "m")
    assert settings.load(viewed, {}).views == before
    assert "work: {topics: [work], max_tokens: 1200, recent_limit: 1}" in viewed.read_text(encoding="utf-8")
