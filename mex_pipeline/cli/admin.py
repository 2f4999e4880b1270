"""`mex init`, `mex config`, `mex stats`, and the bare command."""

import os
import sys
from typing import Annotated

import typer

from mex_pipeline import messages, settings
from mex_pipeline.cli import output
from mex_pipeline.cli.jobs import pause_text
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.errors import InvalidInput
from mex_pipeline.llm.presets import PRESETS
from mex_pipeline.paths import Home
from mex_pipeline.services import setup, workers
from mex_pipeline.services import stats as stats_service


def init(as_json: JsonOption = False, lang: LangOption = None) -> None:
    home = Home.from_environment()
    setup.initialise(home, messages.active(), may_make_parents=True)[0].close()
    paths = {
        "mex_home": str(home.root), "db_path": str(home.database), "schema_path": str(home.schema),
        "config_path": str(home.config),
    }  # fmt: skip
    output.emit(paths, [t("done.init", path=home.root), *(f"  {path}" for path in list(paths.values())[1:])])


def where_things_stand() -> None:
    """Where things stand in six lines, and the next step (product G8)."""
    with session() as app:
        found = stats_service.overview(app)
        home, llm = app.home.root, app.settings.llm
        pauses = workers.status(app).paused
    paused = [pause_text(row["reason"], row["until"]) for row in pauses]
    active = sum(n for state, n in found.jobs.items() if state in ("queued", "running", "retrying"))
    next_step = "empty" if not found.profile + found.outside else "llm" if not llm.is_configured else "profile"
    output.emit(
        found.to_plain() | {"home": str(home)},
        [
            t("stand.home", path=home),
            t("stand.memories", profile=found.profile, outside=found.outside),
            t("stand.review", count=found.pending_review),
            t("stand.jobs", active=active, failed=found.jobs.get("failed", 0), worker=_yes(found.worker_running)),
            t("stand.model", model=llm.model) if llm.is_configured else t("stand.rules"),
            paused[0] if paused else t(f"stand.next_{next_step}"),
        ],
    )


def _yes(value: bool) -> str:
    return t("label.yes" if value else "label.no")


def stats(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        found = stats_service.overview(app)
    plain = found.to_plain()
    lines = [
        t("stand.memories", profile=found.profile, outside=found.outside),
        t("stand.review", count=found.pending_review),
        t("stats.size", kib=found.db_size_bytes // 1024),
        t("stats.usage", **{key: plain["llm_usage"][key] for key in ("calls", "prompt_tokens", "completion_tokens")}),
    ]
    lines += [
        t(
            "stats.usage_row",
            **{key: row[key] for key in ("purpose", "model", "calls", "prompt_tokens", "completion_tokens")},
        )
        for row in found.usage
    ]
    output.emit(plain, lines)


def config_show(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        output.json_value(setup.show_config(app.home, app.settings, dict(os.environ)))


def config_llm(
    provider: Annotated[
        str | None, typer.Option("--provider", help=t("help.provider"), metavar="|".join(PRESETS))
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help=t("help.base_url"))] = None,
    api_key: Annotated[str | None, typer.Option("--api-key", help=t("help.api_key"))] = None,
    model: Annotated[str | None, typer.Option("--model", help=t("help.model"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        if provider is None and base_url is None and api_key is None and model is None:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise InvalidInput("llm_needs_options")
            provider, base_url, api_key, model = _ask(app.settings.llm)
        changed = setup.configure_llm(
            app.home, app.settings, provider=provider, base_url=base_url, api_key=api_key, model=model
        )
        if app.settings.llm.api_key_env:
            output.note(t("note.key_from_env", name=app.settings.llm.api_key_env))
        owed = stats_service.owed(app)
        if owed["turns"]:
            output.note(t("note.owed", **owed))
        if workers.status(app).jobs.get("queued"):
            workers.ensure_running(app)
    output.emit(
        {
            "base_url": changed.base_url,
            "model": changed.model,
            "api_key": setup.masked(changed.api_key),
            "config_path": str(app.home.config),
        },
        [t("done.llm", base_url=changed.base_url, model=changed.model), t("note.llm_next")],
    )


def _ask(current: settings.LLMSettings) -> tuple[str, str | None, str, str]:
    """Ask a person at a terminal; an empty answer keeps what is shown."""
    names = list(PRESETS)
    for number, name in enumerate(names, 1):
        output.line(f"{number}. {name}  {PRESETS[name].base_url}")
    chosen = typer.prompt(t("ask.provider"), type=typer.IntRange(1, len(names)) if hasattr(typer, "IntRange") else int)
    if not 1 <= chosen <= len(names):
        raise InvalidInput("unknown_provider", value=chosen, known=", ".join(names))
    preset = PRESETS[names[chosen - 1]]
    url = typer.prompt(t("ask.base_url"), default=preset.base_url or current.base_url or None)
    key = typer.prompt(t("ask.api_key"), default=current.api_key, hide_input=True, show_default=False)
    model = typer.prompt(t("ask.model"), default=current.model or next(iter(preset.models), None))
    return preset.name, url, key, model
