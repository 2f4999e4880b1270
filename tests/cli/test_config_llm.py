"""`mex config llm`: what is given is written, what was there stays, and no key goes where it does not belong."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, running
from tests.support.program import mex
from tests.support.terminal import CTRL_C, DOWN, ENTER, UP, Terminal

URL = "http://127.0.0.1:9/v1"


def configured(home: Path) -> str:
    return (home / "config.yaml").read_text(encoding="utf-8")


def test_product_g16_a_model_alone_is_enough_where_an_endpoint_is_configured() -> None:
    assert mex("config", "llm", "--model", "m", ok=False).code == 1
    mex("config", "llm", "--base-url", URL, "--api-key", "k", "--model", "m1")
    shown = mex("config", "llm", "--model", "m2", "--json").json
    assert (shown["base_url"], shown["model"], shown["api_key"]) == (URL, "m2", "*")


def test_product_g6_a_provider_without_a_key_is_configured() -> None:
    mex("config", "llm", "--provider", "ollama", "--model", "qwen3:8b")
    assert mex("config", "show").json["configured"] is True


def test_a_dash_reads_the_key_from_standard_input() -> None:
    """It stands in no shell history and in no list of processes."""
    mex("config", "llm", "--base-url", URL, "--model", "m", "--api-key", "-", stdin="sk-0123456789abcdef\n")
    assert mex("config", "show").json["api_key"] == "sk-********cdef"
    for nothing in ("", "\n"):
        refused = mex("config", "llm", "--model", "m", "--api-key", "-", "--json", stdin=nothing, ok=False)
        assert (refused.code, json.loads(refused.err)["code"]) == (1, "llm_key_blank")


def test_product_g6_the_named_variable_holds_the_key_and_it_is_not_copied(home: Path) -> None:
    key = "sk-from-the-environment"
    ran = mex(
        "config", "llm", "--base-url", URL, "--model", "m", "--api-key-env", "MY_KEY", "--json", MY_KEY=key
    )  # fmt: skip
    assert ran.json["api_key_env"] == "MY_KEY"
    assert key not in configured(home)
    assert mex("config", "show", MY_KEY=key).json["api_key"] == "sk-********ment"
    assert "MY_KEY is not set" in mex("config", "llm", "--model", "m2").err
    pasted = mex("config", "llm", "--api-key-env", "sk-0123-4567", ok=False)
    assert pasted.code == 1
    assert "sk-0123" not in pasted.err


def test_another_endpoint_gets_neither_key_nor_variable_of_the_first() -> None:
    mex("config", "llm", "--provider", "deepseek", "--model", "m", "--api-key-env", "DEEPSEEK_API_KEY")
    shown = mex("config", "llm", "--base-url", URL, "--model", "m", "--json").json
    assert (shown["api_key"], shown["api_key_env"]) == ("", "")


def test_what_the_environment_sets_is_not_copied_into_the_file(home: Path) -> None:
    secret = "sk-only-in-the-environment"
    mex("config", "llm", "--model", "m", MEX_LLM_BASE_URL=URL, MEX_LLM_API_KEY=secret)
    assert secret not in configured(home)
    assert mex("config", "show").json["base_url"] == URL


def test_original_fault_25_broken_yaml_is_an_error_and_is_never_overwritten(home: Path) -> None:
    mex("init")
    for broken in ("llm: [\n", "llm:\n  modle: x\n", "- a\n", "llm: &x {model: a}\nllm: {model: b}\nworker: [*x]\n"):
        (home / "config.yaml").write_text(broken, encoding="utf-8")
        refused = mex("config", "llm", "--base-url", URL, "--model", "m", ok=False)
        assert refused.code == 1, broken
        assert str(home / "config.yaml") in refused.err
        assert configured(home) == broken


def test_a_file_that_an_edit_in_place_cannot_change_is_told_and_not_half_changed(home: Path) -> None:
    """An alias stands for another place: an edit there would look done and do something else."""
    mex("init")
    aliased = f'llm:\n  model: &x "{URL}"\n  base_url: *x\n'
    (home / "config.yaml").write_text(aliased, encoding="utf-8")
    refused = mex("config", "llm", "--model", "m", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "config_not_editable")
    assert configured(home) == aliased


def test_a_missing_config_yaml_is_made_and_comments_are_kept(home: Path) -> None:
    mex("init")
    (home / "config.yaml").unlink()
    mex("config", "llm", "--base-url", URL, "--model", "m")
    assert "# meX settings" in configured(home)
    assert mex("config", "show").json["model"] == "m"


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    refused = mex("config", "llm", "--provider", "nobody", "--model", "m", ok=False)
    assert refused.code == 1
    assert "openai, deepseek, ollama, moonshot, qwen, custom" in refused.err


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[ModelServer]:
    with running(tmp_path / "model") as server:
        yield server


def test_at_a_terminal_the_model_is_picked_from_the_live_list_and_the_key_is_not_shown(
    endpoint: ModelServer, tmp_path: Path, home: Path
) -> None:
    endpoint.offer("model-a", "model-b", "model-c")
    with Terminal(tmp_path, "config", "llm") as terminal:
        terminal.answer("Provider", UP + ENTER)  # the last one: custom
        terminal.answer("Base URL", endpoint.url + ENTER)
        terminal.answer("API key", "sk-typed-0123456" + ENTER)
        terminal.answer("model-c", DOWN + ENTER)  # from a to b
        assert terminal.end() == 0, terminal.seen
    assert "sk-typed" not in terminal.seen
    shown = mex("config", "show").json
    assert (shown["base_url"], shown["model"], shown["api_key"]) == (endpoint.url, "model-b", "sk-********3456")


def test_at_a_terminal_without_a_list_any_name_can_be_typed(endpoint: ModelServer, tmp_path: Path) -> None:
    with Terminal(tmp_path, "config", "llm", "--base-url", endpoint.url) as terminal:
        terminal.answer("Model", "any name" + ENTER)
        assert terminal.end() == 0, terminal.seen
    assert mex("config", "show").json["model"] == "any name"


def test_at_a_terminal_a_provider_that_wants_a_key_asks_for_it(tmp_path: Path) -> None:
    with Terminal(tmp_path, "config", "llm", "--provider", "qwen", "--model", "m") as terminal:
        terminal.answer("API key", "sk-typed-0123456" + ENTER)
        assert terminal.end() == 0, terminal.seen
    assert mex("config", "show").json["api_key"] == "sk-********3456"


def test_ctrl_c_leaves_the_settings_as_they_were(tmp_path: Path, home: Path) -> None:
    mex("config", "llm", "--base-url", URL, "--model", "m")
    before = configured(home)
    with Terminal(tmp_path, "config", "llm") as terminal:
        terminal.answer("Provider", CTRL_C)
        assert terminal.end() == 1
    assert configured(home) == before
