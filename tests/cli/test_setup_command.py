"""`mex setup --yes`: everything by options, nothing asked, nothing lost when it is run again."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, running
from tests.support.program import contents, memories, mex

SAID = [
    "--name",
    "林晓舟",
    "--location",
    "成都",
    "--work",
    "数据工程师",
    "--style",
    "先给结论",
    "--allergies",
    "芒果、花生",
]
VALUES = sorted(["林晓舟", "成都", "数据工程师", "先给结论", "芒果", "花生"])


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[ModelServer]:
    with running(tmp_path / "model") as server:
        server.offer("m1")
        yield server


@pytest.fixture(autouse=True)
def no_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the programs nor the keys of whoever runs the tests."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


def config(home: Path) -> str:
    return (home / "config.yaml").read_text(encoding="utf-8")


def test_without_a_terminal_and_without_yes_it_says_what_to_do(home: Path) -> None:
    refused = mex("setup", ok=False)
    assert refused.code == 1
    assert "--yes" in refused.err
    assert not home.exists()


def test_the_answers_become_confirmed_memories_and_the_first_profile_is_printed() -> None:
    ran = mex("setup", "--yes", "--lang", "zh", *SAID)
    assert contents() == VALUES
    assert {(one["confidence"], one["is_ai_inferred"]) for one in memories()} == {("confirmed", False)}
    assert "# 用户画像\n## 基础信息\n- 姓名：林晓舟" in ran.out
    places = {(one["topic"], one["sub_topic"]) for one in memories()}
    assert places == {
        ("basic_info", "name"), ("basic_info", "location"), ("work", "position"), ("interaction", "communication_style"),
        ("health", "allergy"),
    }  # fmt: skip


def test_the_language_is_written_and_the_schema_of_a_new_home_speaks_it(home: Path) -> None:
    mex("setup", "--yes", "--lang", "zh")
    assert 'language: "zh"' in config(home)
    assert "姓名" in (home / "schema.yaml").read_text(encoding="utf-8")
    mex("setup", "--yes", "--lang", "en")
    assert 'language: "en"' in config(home)
    assert "# zh | en" in config(home), "the comment stays"
    mex("setup", "--yes", MEX_LANG="zh")
    assert 'language: "en"' in config(home), "what is not said stays"


def test_running_it_again_changes_nothing_and_another_answer_changes_its_slot(home: Path) -> None:
    mex("setup", "--yes", *SAID)
    before = config(home), memories()
    assert mex("setup", "--yes", *SAID, "--json").json["memories"] == []
    mex("setup", "--yes")
    assert (config(home), memories()) == before
    mex("setup", "--yes", "--location", "Lisbon", "--allergies", "花生, kiwi")
    assert contents() == sorted([*(one for one in VALUES if one != "成都"), "Lisbon", "kiwi"])


def test_an_answer_confirms_what_was_only_inferred() -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "Ada", "--confidence", "inferred")
    mex("setup", "--yes", "--name", "Ada")
    assert [(one["content"], one["confidence"]) for one in memories()] == [("Ada", "confirmed")]


def test_product_f4_what_an_agent_answers_is_the_agent_s() -> None:
    mex("setup", "--yes", "--name", "Ada", CLAUDECODE="1")
    assert [one["confidence"] for one in memories()] == ["explicit"]


def test_none_is_no_answer() -> None:
    mex("setup", "--yes", "--allergies", "none", "--name", " ")
    assert contents() == []


def test_a_question_without_its_slot_is_left_out(home: Path) -> None:
    """The user's schema decides: no slot, no question; another slot of the same question serves."""
    mex("init")
    schema = "topics:\n  work:\n    sub_topics:\n      company: Company\n  health:\n    sub_topics: {}\n"
    (home / "schema.yaml").write_text(schema, encoding="utf-8")
    ran = mex("setup", "--yes", "--work", "Acme", "--allergies", "kiwi", "--json")
    assert [(one["sub_topic"], one["content"]) for one in ran.json["memories"]] == [("company", "Acme")]
    assert "--allergies is left out" in ran.err


def test_a_model_is_connected_tried_and_its_cost_told_and_counted(endpoint: ModelServer, home: Path) -> None:
    ran = mex("setup", "--yes", "--base-url", endpoint.url, "--api-key", "sk-0123456789abcdef", "--model", "m1")
    assert "100 + 20 tokens" in ran.out
    assert "127.0.0.1" in ran.out.split("Trying")[0], "where words go is said before anything is sent"
    (request,) = endpoint.requests()
    assert request["model"] == "m1"
    assert len(str(request)) < 200, "a tiny one, without anything of the user's"
    assert mex("config", "show").json["configured"] is True
    usage = mex("stats", "--json").json["llm_usage"]
    assert (usage["calls"], usage["prompt_tokens"]) == (1, 100)


def test_a_key_comes_from_standard_input_or_stays_in_its_variable(endpoint: ModelServer, home: Path) -> None:
    given = ["--base-url", endpoint.url, "--model", "m1"]
    mex("setup", "--yes", *given, "--api-key", "-", stdin="sk-0123456789abcdef\n")
    assert mex("config", "show").json["api_key"] == "sk-********cdef"
    mex("setup", "--yes", "--provider", "deepseek", *given, DEEPSEEK_API_KEY="sk-elsewhere-0000", ok=False)
    assert "sk-elsewhere" not in config(home)


def test_the_usual_variable_of_a_provider_is_named_not_copied(home: Path) -> None:
    """No request can be made here: the settings are written all the same, and the exit code tells."""
    refusing = {"HTTPS_PROXY": "http://127.0.0.1:9", "DEEPSEEK_API_KEY": "sk-of-the-shell-0123"}
    ran = mex("setup", "--yes", "--provider", "deepseek", "--json", ok=False, **refusing)
    assert ran.code == 2
    assert 'api_key_env: "DEEPSEEK_API_KEY"' in config(home)
    assert "sk-of-the-shell" not in config(home) + ran.out + ran.err
    assert ran.json["model"] == {"base_url": "https://api.deepseek.com/v1", "model": "deepseek-chat"}


def test_a_failing_test_call_ends_in_2_after_everything_else_is_done(endpoint: ModelServer, tmp_path: Path) -> None:
    endpoint.script({"status": 401, "body": '{"error": {"message": "bad key"}}'})
    ran = mex(
        "setup", "--yes", "--base-url", endpoint.url, "--model", "m1", "--name", "Ada", "--integrate", "claude", "--json",
        ok=False,
    )  # fmt: skip
    assert (ran.code, json.loads(ran.err.splitlines()[-1])["code"]) == (2, "llm_auth")
    assert contents() == ["Ada"]
    assert (tmp_path / ".claude" / "skills" / "mex" / "SKILL.md").is_file()
    assert mex("config", "show").json["model"] == "m1"


def test_without_a_name_the_only_model_is_taken_and_of_several_one_must_be_named(endpoint: ModelServer) -> None:
    assert mex("setup", "--yes", "--base-url", endpoint.url, "--json").json["model"]["model"] == "m1"
    mex("setup", "--yes", "--no-model")
    endpoint.offer("m1", "m2")
    refused = mex("setup", "--yes", "--base-url", endpoint.url, ok=False)
    assert refused.code == 1
    assert "m1, m2" in refused.err


@pytest.mark.parametrize(
    "message",
    [
        '"content": "ok", "reasoning_content": "hm"',
        '"content": "<think>hm</think>ok"',
        '"content": "", "reasoning": "hm"',
    ],
)
def test_a_model_that_thinks_first_is_told(endpoint: ModelServer, message: str) -> None:
    usage = '"usage": {"prompt_tokens": 9, "completion_tokens": 300}'
    endpoint.script({"body": f'{{"choices": [{{"finish_reason": "stop", "message": {{{message}}}}}], {usage}}}'})
    ran = mex("setup", "--yes", "--base-url", endpoint.url, "--model", "m1")
    assert "thinks before it answers (here: 300 tokens)" in ran.err


def test_the_tokens_of_reasoning_are_told_where_the_endpoint_does(endpoint: ModelServer) -> None:
    usage = '{"prompt_tokens": 9, "completion_tokens": 80, "completion_tokens_details": {"reasoning_tokens": 64}}'
    endpoint.script({"body": f'{{"choices": [{{"message": {{"content": "ok"}}}}], "usage": {usage}}}'})
    ran = mex("setup", "--yes", "--base-url", endpoint.url, "--model", "m1", "--json")
    assert ran.json["trial"] == {"prompt_tokens": 9, "completion_tokens": 80, "reasons": True}
    assert "(here: 64 tokens)" in ran.err


def test_no_model_goes_back_to_the_rules_and_takes_the_key_out(endpoint: ModelServer, home: Path) -> None:
    mex("setup", "--yes", "--base-url", endpoint.url, "--api-key", "sk-0123456789abcdef", "--model", "m1")
    mex("setup", "--yes", "--no-model")
    assert mex("config", "show").json["configured"] is False
    assert "sk-0123" not in config(home)
    assert mex("setup", "--yes", "--no-model", "--model", "m1", ok=False).code == 1


def test_agents_get_the_skill_only_when_named(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    assert "mex integrate claude" in mex("setup", "--yes").out
    assert list((tmp_path / ".claude").iterdir()) == []
    done = mex("setup", "--yes", "--integrate", "claude,opencode", "--json").json["integrated"]
    assert [one["agent"] for one in done] == ["claude", "opencode"]
    assert mex("setup", "--yes", "--integrate", "none", "--json").json["integrated"] == []
    assert mex("setup", "--yes", "--integrate", "vim", ok=False).code == 1


def test_a_skill_changed_by_hand_is_told_by_the_exit_code(tmp_path: Path) -> None:
    mex("setup", "--yes", "--integrate", "claude")
    path = tmp_path / ".claude" / "skills" / "mex" / "SKILL.md"
    path.write_text("mine", encoding="utf-8")
    refused = mex("setup", "--yes", "--integrate", "claude", "--name", "Ada", ok=False)
    assert refused.code == 1
    assert (path.read_text(encoding="utf-8"), contents()) == ("mine", ["Ada"])


def test_broken_settings_are_told_and_left_alone(home: Path) -> None:
    mex("init")
    (home / "config.yaml").write_text("llm: [\n", encoding="utf-8")
    assert mex("setup", "--yes", "--lang", "zh", ok=False).code == 1
    assert config(home) == "llm: [\n"
