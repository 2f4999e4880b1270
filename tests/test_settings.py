"""Settings: environment > config.yaml > defaults, and faults by file, line and key (product A5, C9, G6)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mex_pipeline import settings
from mex_pipeline.errors import InvalidInput, NotConfigured, as_written
from mex_pipeline.settings import LLMSettings, Settings

SECTIONS = {name: type(section) for name, section in Settings()._asdict().items() if name not in ("language", "views")}
OTHER: dict[type, Any] = {bool: False, int: 777, float: 7.5, str: "7m"}
"""A value of each type that is no default and fits every setting of the type, but for those that are looked at closely."""
OTHER_URL = "redis://other:1/2"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def load(file: Path, text: str | None = None, **environment: str) -> Settings:
    if text is not None:
        file.write_text(text, encoding="utf-8")
    return settings.load(file, environment)


def fails(file: Path, text: str, **environment: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        load(file, text, **environment)
    return caught.value


def every_setting() -> list[tuple[str, str]]:
    return [(section, name) for section, kind in SECTIONS.items() for name in kind._fields]


@pytest.mark.parametrize(
    "text", [None, "", "# only\n", "llm:\n", "llm: {}\nprofile:\n  max_tokens:\n", "language: ''\n"]
)
def test_what_is_not_said_is_the_default(file: Path, text: str | None) -> None:
    assert load(file, text) == Settings()


@pytest.mark.parametrize(("section", "name"), every_setting())
def test_product_a5_the_environment_wins_over_the_file_and_the_file_over_the_default(
    file: Path, section: str, name: str
) -> None:
    default = getattr(SECTIONS[section](), name)
    value = {"url": OTHER_URL, "turns": "user"}.get(name, OTHER[type(default)])
    text = yaml.safe_dump({section: {name: value}})
    assert getattr(getattr(load(file, text), section), name) == value
    variable = {f"MEX_{section}_{name}".upper(): str(default).lower()}
    found = getattr(getattr(load(file, text, **variable), section), name)
    assert (found, type(found)) == (default, type(default))


@pytest.mark.parametrize(
    ("language", "expected"), [("zh", "zh"), ("en", "en"), ("null", None), ('""', None), ("no", None)]
)
def test_product_a4_the_language_is_one_of_two_or_unset(file: Path, language: str, expected: str | None) -> None:
    assert load(file, f"language: {language}\n").language == expected


@pytest.mark.parametrize(
    ("text", "code", "line", "key"),
    [
        ("\nlanguages: zh\n", "config_unknown_key", 2, "languages"),
        ("1: zh\n", "config_unknown_key", 1, "1"),
        ("llm:\n  model: m\n  modell: m\n", "config_unknown_key", 3, "llm.modell"),
        ("worker:\n  language: zh\n", "config_unknown_key", 2, "worker.language"),
        ("profile: 3000\n", "config_not_a_section", 1, "profile"),
        ("llm: []\n", "config_not_a_section", 1, "llm"),
        ("\n\nlanguage: fr\n", "config_bad_value", 3, "language"),
        ("language: [zh]\n", "config_bad_value", 1, "language"),
        ("worker:\n  autostart: 1\n", "config_bad_value", 2, "worker.autostart"),
        ("worker:\n  autostart: ja\n", "config_bad_value", 2, "worker.autostart"),
        ("worker:\n  threads: true\n", "config_bad_value", 2, "worker.threads"),
        ("worker:\n  threads: 0\n", "config_bad_value", 2, "worker.threads"),
        ("worker:\n  threads: 1.5\n", "config_bad_value", 2, "worker.threads"),
        ("worker:\n  threads: '2'\n", "config_bad_value", 2, "worker.threads"),
        ("worker:\n  threads: 99999999999\n", "config_bad_value", 2, "worker.threads"),
        ("worker:\n  idle_exit: soon\n", "config_bad_value", 2, "worker.idle_exit"),
        ("worker:\n  idle_exit: 15\n", "config_bad_value", 2, "worker.idle_exit"),
        ("llm:\n  timeout_seconds: .nan\n", "config_bad_value", 2, "llm.timeout_seconds"),
        ("llm:\n  timeout_seconds: .inf\n", "config_bad_value", 2, "llm.timeout_seconds"),
        ("llm:\n  timeout_seconds: -1\n", "config_bad_value", 2, "llm.timeout_seconds"),
        ("llm:\n  timeout_seconds: [600]\n", "config_bad_value", 2, "llm.timeout_seconds"),
        ("llm:\n  model: [m]\n", "config_bad_value", 2, "llm.model"),
        ("llm:\n  model: true\n", "config_bad_value", 2, "llm.model"),
        ("llm:\n  model: 2026-08-06\n", "config_bad_value", 2, "llm.model"),
        ("llm: {model: m, max_retries: -1}\n", "config_bad_value", 1, "llm.max_retries"),
    ],
)
def test_product_a5_a_fault_names_file_line_and_key(file: Path, text: str, code: str, line: int, key: str) -> None:
    error = fails(file, text)
    assert error.code == code
    assert {name: error.params[name] for name in ("path", "line", "key")} == {
        "path": str(file),
        "line": line,
        "key": key,
    }


def test_product_a5_a_fault_tells_what_would_fit(file: Path) -> None:
    assert fails(file, "langauge: zh\n").params["known"] == (
        "language, llm, semantic, budget, extraction, keep, privacy, profile, worker, queue, views"
    )
    assert "max_tokens, recent_days, recent_limit" in fails(file, "profile:\n  days: 1\n").params["known"]
    assert fails(file, "worker:\n  threads: 0\n").params["expected"] == "int ≥ 1"
    assert fails(file, "worker:\n  autostart: x\n").params["expected"] == "true, false"
    assert fails(file, "keep:\n  turns: x\n").params["expected"] == "evidence, user, all, none"
    assert fails(file, "worker:\n  idle_exit: x\n").params["expected"] == "15m, 2h, 0"
    assert fails(file, "llm:\n  model: []\n").params["expected"] == "text"


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "3\n"])
def test_a_file_that_is_no_mapping_is_a_fault(file: Path, text: str) -> None:
    assert fails(file, text).code == "config_not_a_mapping"


def test_a_file_that_is_no_yaml_or_no_text_is_a_fault(file: Path) -> None:
    assert fails(file, "llm: [\n").code == "yaml_syntax"
    file.write_bytes(b"llm: \xff")
    with pytest.raises(InvalidInput) as caught:
        settings.load(file, {})
    assert caught.value.code == "file_not_utf8"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEX_WORKER_THREADS", "zwei"), ("MEX_WORKER_THREADS", "0"), ("MEX_WORKER_THREADS", ""), ("MEX_WORKER_THREADS", "1.5"),
        ("MEX_WORKER_AUTOSTART", "maybe"), ("MEX_WORKER_IDLE_EXIT", "soon"), ("MEX_LLM_TIMEOUT_SECONDS", "nan"),
        ("MEX_LLM_TIMEOUT_SECONDS", "inf"), ("MEX_LLM_CONCURRENCY", "-1"),
    ],
)  # fmt: skip
def test_product_a5_a_fault_in_the_environment_names_the_variable(file: Path, name: str, value: str) -> None:
    error = fails(file, "", **{name: value})
    assert (error.code, error.params["name"], error.params["value"]) == ("env_bad_value", name, value)
    assert error.params["expected"]


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("1", True), ("false", False), ("False", False), ("0", False)]
)
def test_flags_of_the_environment(file: Path, text: str, value: bool) -> None:
    assert load(file, MEX_WORKER_AUTOSTART=text).worker.autostart is value


def test_other_variables_are_none_of_ours(file: Path) -> None:
    assert load(file, MEX_HOME="/x", MEX_LANG="zh", MEX_LLM="x", MEX_LLM_UNKNOWN="x", LLM_MODEL="x") == Settings()


def test_the_real_environment_is_the_default(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEX_LLM_MODEL", "from the environment")
    assert settings.load(file).llm.model == "from the environment"


@pytest.mark.parametrize(("text", "value"), [("12345", "12345"), ("'01'", "01"), ("4.5", "4.5"), ("密钥", "密钥")])
def test_a_number_may_stand_where_text_is_wanted(file: Path, text: str, value: str) -> None:
    assert load(file, f"llm:\n  model: {text}\n").llm.model == value


def test_a_whole_number_may_be_written_with_a_point(file: Path) -> None:
    found = load(file, "llm:\n  timeout_seconds: 30\nworker:\n  threads: 3.0\n")
    assert (found.llm.timeout_seconds, type(found.llm.timeout_seconds)) == (30.0, float)
    assert (found.worker.threads, type(found.worker.threads)) == (3, int)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15m", 900.0), ("2s", 2.0), ("0", None), (" 0 ", None), ("1h", 3_600.0)]
)
def test_an_idle_exit_is_a_span_or_never(file: Path, text: str, seconds: float | None) -> None:
    assert settings.idle_seconds(text) == seconds
    assert load(file, f"worker:\n  idle_exit: {text}\n").worker.idle_seconds == seconds


@pytest.mark.parametrize(
    ("base_url", "model", "configured"), [("", "", False), ("u", "", False), ("", "m", False), ("u", "m", True)]
)
def test_product_g6_an_endpoint_and_a_model_are_configured_with_or_without_a_key(
    base_url: str, model: str, configured: bool
) -> None:
    assert LLMSettings(base_url=base_url, model=model).is_configured is configured
    assert LLMSettings(base_url=base_url, model=model, api_key="k").is_configured is configured


@pytest.mark.parametrize(("base_url", "model", "missing"), [("u", "", "model"), ("", "m", "base_url")])
def test_product_c9_half_configured_is_never_taken_for_no_model(base_url: str, model: str, missing: str) -> None:
    with pytest.raises(NotConfigured) as caught:
        LLMSettings(base_url=base_url, model=model).require_whole()
    assert (caught.value.code, caught.value.params) == ("llm_half_configured", {"missing": missing})
    LLMSettings().require_whole()
    LLMSettings(base_url="u", model="m").require_whole()


def test_product_g6_the_named_variable_wins_over_the_key_in_the_file() -> None:
    named = LLMSettings(api_key="file", api_key_env="MY_KEY")
    assert named.key({"MY_KEY": "env"}) == "env"
    assert named.key({"MY_KEY": ""}) == named.key({}) == "file"
    assert LLMSettings(api_key="file").key({"": "x"}) == "file"
    assert LLMSettings().key({}) == ""


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost", "redis://localhost"),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://:geheim@host.example:1/2", "redis://host.example:1/2"),
        ("redis://me:p%40ss:w%2Fort@host/", "redis://host/"),
        ("redis://[::1]:6379?db=3", "redis://[::1]:6379"),
        ("rediss://:geheim@host?ssl_cert_reqs=none&db=1", "rediss://host"),
        ("rediss://host?ssl_ca_certs=/etc/ca.pem", "rediss://host"),
        ("unix:///run/redis/redis.sock?db=1", "unix:///run/redis/redis.sock"),
        ("unix://me:geheim@/run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_a_queue_url_is_taken_and_shown_without_what_is_secret(file: Path, url: str, address: str) -> None:
    found = load(file, yaml.safe_dump({"queue": {"url": url}})).queue
    assert (found.url, found.address) == (url, address)
    assert load(file, "", MEX_QUEUE_URL=url).queue == found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://:geheim@h", "http://…"),
        ("geheim", "…"),
        ("REDIS://:geheim@h", "…"),
        ("redis:/:geheim@h", "…"),
        ("redis://:gehe/im@h", "redis://…"),
        ("redis://:gehe@im@h", "redis://…"),
        ("redis://:gehe?im@h", "redis://…"),
        ("redis://:gehe im@h", "redis://…"),
        ("redis://:geheim", "redis://…"),
        ("redis://", "redis://…"),
        ("redis://:geheim@h:99999", "redis://h:99999"),
        ("redis://h?password=geheim", "redis://h"),
        ("redis://h?decode_responses=true", "redis://h"),
        ("redis://h?ssl_cert_reqs=none", "redis://h"),
        ("redis://h/abc", "redis://…"),
        ("unix://run/redis.sock", "unix://…"),
        (["redis://:geheim@h"], "…"),
    ],
)
def test_a_queue_url_that_cannot_be_used_is_told_without_what_may_be_secret(file: Path, url: Any, shown: str) -> None:
    error = fails(file, "\n" + yaml.safe_dump({"queue": {"url": url}}, default_flow_style=True))
    assert (error.code, error.params["key"], error.params["line"]) == ("config_bad_value", "queue.url", 2)
    assert error.params["value"] == shown
    assert "redis://" in error.params["expected"]
    if isinstance(url, str):
        error = fails(file, "", MEX_QUEUE_URL=url)
        assert (error.code, error.params["name"], error.params["value"]) == ("env_bad_value", "MEX_QUEUE_URL", shown)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("worker:\n  threads: true\n", "true"),
        ("views:\n  work:\n    topics:\n", "null"),
        ("language: [zh, 3]\n", "[zh, 3]"),
    ],
)
def test_a_value_that_does_not_fit_is_told_as_it_stands_in_the_file(file: Path, text: str, value: str) -> None:
    assert fails(file, text).params["value"] == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (["工作", 3, None], "[工作, 3, null]"), ("90 天", "90 天"), (1.5, "1.5")],
)
def test_a_value_of_a_settings_file_is_told_as_it_stands_there(value: object, text: str) -> None:
    assert as_written(value) == text
