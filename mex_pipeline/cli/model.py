"""`mex config llm`, and the questions about a model that `mex setup` asks too."""

import os
import sys
from typing import Annotated, Any

import typer

from mex_pipeline import bootstrap, messages
from mex_pipeline.app import App
from mex_pipeline.cli import ask, backfill, output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.llm.presets import PRESETS, Preset
from mex_pipeline.services import setup, workers
from mex_pipeline.settings import LLMSettings

ProviderOption = Annotated[str | None, typer.Option("--provider", help=t("help.provider"), metavar="|".join(PRESETS))]
BaseUrlOption = Annotated[str | None, typer.Option("--base-url", help=t("help.base_url"))]
ApiKeyOption = Annotated[str | None, typer.Option("--api-key", help=t("help.api_key"))]
ApiKeyEnvOption = Annotated[str | None, typer.Option("--api-key-env", help=t("help.api_key_env"), metavar="NAME")]
ModelOption = Annotated[str | None, typer.Option("--model", help=t("help.model"))]

LIST_SECONDS = 10.0


def config_llm(
    provider: ProviderOption = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    api_key_env: ApiKeyEnvOption = None,
    model: ModelOption = None,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.owed_yes"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    is_bare = (provider, base_url, api_key, api_key_env, model) == (None,) * 5 and not yes
    is_asked = ask.is_possible() and not output.wants_json()
    if is_bare and not is_asked:
        raise InvalidInput("llm_needs_options")
    with session() as app:
        if is_bare:
            changed = _ask_endpoint(app)
        else:
            changed = setup.endpoint(
                app.home,
                app.settings,
                provider=provider,
                base_url=base_url,
                api_key=key_given(api_key),
                api_key_env=api_key_env,
                model=model,
            )
            if is_asked and provider and PRESETS[provider].needs_key and not changed.key(os.environ):
                changed = with_key(app, PRESETS[provider], changed.base_url)._replace(model=changed.model)
        if is_asked and (is_bare or not changed.model):
            changed = ask_model(changed)
        if not changed.model:
            raise InvalidInput("llm_needs_model")
        setup.write_llm(app.home, changed)
        owed = after_change(app, changed, yes=yes)
    output.emit(
        {
            "base_url": changed.base_url,
            "model": changed.model,
            "api_key": setup.masked(changed.api_key),
            "api_key_env": changed.api_key_env,
            "config_path": str(app.home.config),
            "owed": owed,
        },
        [t("done.llm", base_url=changed.base_url, model=changed.model), t("note.llm_next")],
    )


def key_given(api_key: str | None) -> str | None:
    """Return the key of `--api-key`; `-` reads it from standard input, so that it stands in no shell history."""
    if api_key != "-":
        return api_key
    key = ask.secret(t("ask.api_key")) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not key:
        raise InvalidInput("llm_key_blank")
    return key


def after_change(app: App, changed: LLMSettings, *, yes: bool = False) -> dict[str, Any] | None:
    """Say what the new endpoint means for the key, offer it what the rules have read, and let waiting jobs run.

    Returns the JSON object of what is owed (cli/backfill.py).
    """
    if changed.api_key_env:
        is_set = bool(os.environ.get(changed.api_key_env))
        output.note(t("note.key_from_env" if is_set else "note.key_variable_unset", name=changed.api_key_env))
    owed = backfill.offer_owed(app, yes=yes, may_ask=ask.is_possible() and not output.wants_json())
    if workers.status(app).jobs.get("queued"):
        workers.ensure_running(app)
    return owed


def _ask_endpoint(app: App) -> LLMSettings:
    current = app.settings.llm.base_url
    presets = list(PRESETS.values())
    known = next((number for number, one in enumerate(presets) if one.base_url == current), len(presets) - 1)
    preset = ask.choose(
        t("ask.provider"), [(f"{one.name}  {one.base_url}", one) for one in presets], known if current else 0
    )
    return with_key(app, preset, ask.line(t("ask.base_url"), preset.base_url or current))


def with_key(app: App, preset: Preset, base_url: str) -> LLMSettings:
    """Return the endpoint with a key: from the provider's variable when it is set, else typed unseen, else the kept one."""
    found = setup.endpoint(app.home, app.settings, base_url=base_url)
    if os.environ.get(preset.key_env) and ask.confirm(t("ask.use_variable", name=preset.key_env)):
        return found._replace(api_key="", api_key_env=preset.key_env)
    if preset.base_url and not preset.needs_key:
        return found
    key = ask.secret(t("ask.api_key"))
    return found._replace(api_key=key, api_key_env="") if key else found


def ask_model(found: LLMSettings) -> LLMSettings:
    """Return the endpoint with the model a person picks: of those it lists, else of the provider's, else any name."""
    suggested = preset_models(found.base_url)
    try:
        names = bootstrap.list_models(found, LIST_SECONDS)
    except MexError as error:
        output.note(output.joined(*messages.render(error)))
        names = list(suggested)
    if not names:
        return found._replace(model=ask.line(t("ask.model"), found.model))
    first = next((name for name in (found.model, *suggested) if name in names), names[0])
    choices = [*((name, name) for name in names), (t("ask.other_model"), "")]
    picked = ask.choose(t("ask.model"), choices, names.index(first))
    return found._replace(model=picked or ask.line(t("ask.model"), found.model))


def preset_models(base_url: str) -> tuple[str, ...]:
    """Return the models suggested for an endpoint: those of the preset with its address."""
    return next((one.models for one in PRESETS.values() if one.base_url and one.base_url == base_url), ())
