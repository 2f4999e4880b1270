"""The providers that `mex config llm` offers."""

import httpx

from mex_pipeline.llm.client import OpenAICompatible
from mex_pipeline.llm.presets import PRESETS


def test_seed_5_1_the_six_providers_are_offered_in_order() -> None:
    assert list(PRESETS) == ["openai", "deepseek", "ollama", "moonshot", "qwen", "custom"]


def test_every_preset_endpoint_is_one_the_client_takes() -> None:
    for preset in PRESETS.values():
        if preset.base_url:
            OpenAICompatible(base_url=preset.base_url, api_key="", model="m")
            assert httpx.URL(preset.base_url).path.endswith("/v1")


def test_only_a_provider_on_this_machine_and_a_custom_one_need_no_key() -> None:
    """product G6"""
    assert {name for name, preset in PRESETS.items() if not preset.needs_key} == {"ollama", "custom"}


def test_all_but_the_custom_provider_suggest_a_model() -> None:
    assert [name for name, preset in PRESETS.items() if not preset.models] == ["custom"]


def test_whoever_wants_a_key_names_the_variable_people_keep_it_in() -> None:
    assert {name: bool(preset.key_env) for name, preset in PRESETS.items()} == {
        name: preset.needs_key for name, preset in PRESETS.items()
    }
