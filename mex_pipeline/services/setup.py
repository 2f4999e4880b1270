"""A home's beginning, and its settings (product A3, A4, A6; seed 004 §9)."""

import os
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from mex_pipeline import yaml_file
from mex_pipeline.clock import SystemClock, millis
from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.llm.presets import PRESETS
from mex_pipeline.paths import Home, write_private
from mex_pipeline.resources import shipped
from mex_pipeline.settings import LLMSettings, Settings
from mex_pipeline.store import jobs, migrations, workers
from mex_pipeline.store.database import Database


def initialise(home: Home, language: str, *, may_make_parents: bool = False) -> tuple[Database, bool]:
    """Make whatever the home lacks (folders, config.yaml, schema.yaml, mex.db) and return (its database, it is new).

    Nothing that exists is changed, and a whole home that may only be read is left as it is and opened to be read
    (product P2). Raises InvalidInput when the folder above is missing (product A6), unless `may_make_parents`.
    """
    if not may_make_parents:
        home.require_parent()
    is_read_only = home.database.exists() and not os.access(home.root, os.W_OK)
    if not is_read_only:
        home.make()
    try:
        if not home.config.exists():
            text = shipped("config.yaml").read_text(encoding="utf-8")
            marker = 'language: ""'
            write_private(home.config, text.replace(marker, f'language: "{language}"'.ljust(len(marker)), 1))
        if not home.schema.exists():
            write_private(home.schema, shipped("schema", f"{language}.yaml").read_text(encoding="utf-8"))
    except OSError as error:
        raise ExternalError("home_unwritable", path=str(home.root), detail=error.strerror or "") from error
    database = Database.open_to_read(home.database) if is_read_only else Database.open(home.database)
    try:
        return database, migrations.ensure_current(database)
    except BaseException:
        database.close()
        raise


def configure_llm(
    home: Home,
    settings: Settings,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    model: str | None = None,
) -> LLMSettings:
    """Write the model's endpoint into config.yaml, comments and other keys kept, and return what is set now.

    What is not given keeps its value, key and model only for the same endpoint; a provider brings its base_url (seed 004
    §5.1, product G16). Waiting jobs that a
    wrong key or model had paused are let go. Raises InvalidInput for an unknown provider, a bad URL, or a missing part.
    """
    if provider is not None and provider not in PRESETS:
        raise InvalidInput("unknown_provider", value=provider, known=", ".join(PRESETS))
    preset_url = PRESETS[provider].base_url if provider else ""
    url = base_url or preset_url or settings.llm.base_url
    if not url:
        raise InvalidInput("llm_needs_base_url")
    url = _checked_url(url)
    # A key belongs to the endpoint it was made for, and so does a model's name.
    kept = settings.llm if url == settings.llm.base_url else replace(settings.llm, api_key="", model="")
    changed = replace(
        kept,
        base_url=url,
        model=kept.model if model is None else model.strip(),
        api_key=kept.api_key if api_key is None else api_key.strip(),
    )
    if not changed.model:
        raise InvalidInput("llm_needs_model")
    text = yaml_file.read_text(home.config)
    values = {"base_url": changed.base_url, "api_key": changed.api_key, "model": changed.model}
    write_private(home.config, yaml_file.with_values(text, "llm", values))
    _let_go(home)
    return changed


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
        tx.run(workers.resume("llm"), jobs.run_paused_now(millis(SystemClock().now())))


def masked(key: str) -> str:
    """Return a key as it may be shown: the first three and last four characters; short keys as stars only."""
    if len(key) <= 11:
        return "*" * len(key)
    return f"{key[:3]}{'*' * 8}{key[-4:]}"


def show_config(home: Home, settings: Settings, environment: dict[str, str]) -> dict[str, Any]:
    """Return the effective LLM settings and the home's paths; the key is masked (seed 004 §5.1)."""
    llm = settings.llm
    return {
        "base_url": llm.base_url,
        "api_key": masked(llm.key(environment)),
        "model": llm.model,
        "api_key_env": llm.api_key_env,
        "configured": llm.is_configured,
        "language": settings.language,
        "home": str(home.root),
        "config_path": str(home.config),
        "schema_path": str(home.schema),
        "db_path": str(home.database),
    }
