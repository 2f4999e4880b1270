"""The settings of a home: its endpoint and its language (product A4; seed 004 §9)."""

import re
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from mex_pipeline import yaml_file
from mex_pipeline.clock import SystemClock, millis
from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.llm.presets import PRESETS
from mex_pipeline.paths import Home, read_text, write_private
from mex_pipeline.services.pauses import go_again
from mex_pipeline.settings import LLMSettings, Settings, load
from mex_pipeline.store.database import Database


def configure_llm(
    home: Home,
    settings: Settings,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    api_key_env: str | None = None,
    model: str | None = None,
) -> LLMSettings:
    """Write the model's endpoint into config.yaml, comments and other keys kept, and return what is set now.

    What is given is taken as `endpoint` does; a missing model is an error too. Waiting jobs that a wrong key or model
    had paused are let go.
    """
    changed = endpoint(
        home, settings, provider=provider, base_url=base_url, api_key=api_key, api_key_env=api_key_env, model=model
    )
    if not changed.model:
        raise InvalidInput("llm_needs_model")
    write_llm(home, changed)
    return changed


def endpoint(
    home: Home,
    settings: Settings,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    api_key_env: str | None = None,
    model: str | None = None,
) -> LLMSettings:
    """Return the endpoint as it would be with what is given; nothing is written.

    What is not given stays as config.yaml has it, key and model only for the same endpoint; a provider brings its
    base_url (seed 004 §5.1, product G16). What the environment sets is not copied into the file, but for the address.
    Raises InvalidInput for an unknown provider, a bad URL or variable, or when there is no address at all.
    """
    if provider is not None and provider not in PRESETS:
        raise InvalidInput("unknown_provider", value=provider, known=", ".join(PRESETS))
    stored = load(home.config, {}).llm
    preset_url = PRESETS[provider].base_url if provider else ""
    url = base_url or preset_url or settings.llm.base_url or stored.base_url
    if not url:
        raise InvalidInput("llm_needs_base_url")
    url = _checked_url(url)
    # A key belongs to the endpoint it was made for, and so does a model's name.
    kept = stored if url == stored.base_url else stored._replace(api_key="", api_key_env="", model="")
    if api_key_env and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", api_key_env.strip()) is None:
        raise InvalidInput("llm_bad_key_variable")  # most likely the key itself: not repeated
    return kept._replace(
        base_url=url,
        model=kept.model if model is None else model.strip(),
        api_key=kept.api_key if api_key is None else api_key.strip(),
        api_key_env=kept.api_key_env if api_key_env is None else api_key_env.strip(),
    )


def write_llm(home: Home, changed: LLMSettings) -> None:
    """Write an endpoint into config.yaml (an empty one: the built-in rules), and let paused jobs go.

    Raises as `_write_settings`.
    """
    stored = load(home.config, {}).llm
    values = {
        name: str(getattr(changed, name))
        for name in ("base_url", "api_key", "api_key_env", "model")
        if getattr(changed, name) != getattr(stored, name)
    }
    if values:
        text = yaml_file.with_values(read_text(home.config), "llm", values)
        _write_settings(home, text, {"llm": values})
    _let_go(home)


def set_language(home: Home, language: str) -> None:
    """Write the language of messages into config.yaml (product A4); raises as `_write_settings`."""
    if load(home.config, {}).language != language:
        text = yaml_file.with_scalar(read_text(home.config), "language", language)
        _write_settings(home, text, {"language": language})


def _write_settings(home: Home, text: str, meant: dict[str, Any]) -> None:
    """Write config.yaml, but only when it then reads as meant: doubled keys and aliases can defeat an edit in place.

    Raises InvalidInput("config_not_editable"), the file untouched, or ExternalError when it cannot be written.
    """
    try:
        is_right = _holds(yaml_file.parse(text, home.config), meant)
    except InvalidInput:
        is_right = False
    if not is_right:
        raise InvalidInput("config_not_editable", path=str(home.config), keys=", ".join(meant))
    try:
        write_private(home.config, text)
    except OSError as error:
        raise ExternalError("home_unwritable", path=str(home.root), detail=error.strerror or "") from error


def _holds(found: Any, meant: Any) -> bool:
    if not isinstance(meant, dict):
        return bool(found == meant)
    return isinstance(found, dict) and all(_holds(found.get(key), value) for key, value in meant.items())


def _checked_url(url: str) -> str:
    """Return an endpoint's address without a last slash; raises InvalidInput for one without host or with a password."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username or parts.query or len(url.split()) != 1:
        raise InvalidInput("llm_bad_base_url")
    return url.strip().rstrip("/")


def _let_go(home: Home) -> None:
    with closing(Database.open(home.database)) as database, database.transaction() as tx:
        tx.run(*go_again(millis(SystemClock().now())))


def masked(key: str) -> str:
    """Return a key as it may be shown: the first three and last four characters; short keys as stars only."""
    if len(key) <= 11:
        return "*" * len(key)
    return f"{key[:3]}{'*' * 8}{key[-4:]}"


def show_config(home: Home, settings: Settings, environment: dict[str, str]) -> dict[str, Any]:
    """Return the effective settings of both models and the home's paths; keys are masked (seed 004 §5.1)."""
    llm, semantic = settings.llm, settings.semantic
    return {
        "base_url": llm.base_url,
        "api_key": masked(llm.key(environment)),
        "model": llm.model,
        "api_key_env": llm.api_key_env,
        "configured": llm.is_configured,
        "semantic": semantic._asdict() | {"api_key": masked(semantic.key(environment))},
        "language": settings.language,
        "home": str(home.root),
        "config_path": str(home.config),
        "schema_path": str(home.schema),
        "db_path": str(home.database),
    }
