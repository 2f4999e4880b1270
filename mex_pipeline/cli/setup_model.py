"""The model's step of `mex setup`: choose, say where words will go, list models, try one, write the settings."""

import os
from typing import Literal

from mex_pipeline import bootstrap
from mex_pipeline.cli import ask, output
from mex_pipeline.cli.model import LIST_SECONDS, after_change, ask_model, preset_models, with_key
from mex_pipeline.cli.options import t
from mex_pipeline.cli.setup_run import Run
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.llm.presets import PRESETS, Preset
from mex_pipeline.services import onboarding
from mex_pipeline.services import setup as service
from mex_pipeline.settings import LLMSettings

_TRIAL_SECONDS = 60.0
_LOCAL_SECONDS = 1.0
_SHOWN_MODELS = 5

Choice = Preset | Literal["keep", "none"]


def connect(run: Run) -> None:
    """Connect a model, keep the present one, or leave extraction to the built-in rules."""
    if run.has_no_model:
        _disconnect(run)
    elif run.endpoint.is_given:
        found = _from_options(run)
        _write(run, found)
        error = _try(run, found)
        if error is not None:
            run.fail(error)
    elif run.is_asked:
        _ask(run)
    else:
        _report(run, run.app.settings.llm)


def _from_options(run: Run) -> LLMSettings:
    given = run.endpoint
    found = service.endpoint(
        run.app.home,
        run.app.settings,
        provider=given.provider,
        base_url=given.base_url,
        api_key=given.api_key,
        api_key_env=given.api_key_env,
        model=given.model,
    )
    variable = PRESETS[given.provider].key_env if given.provider else ""
    if os.environ.get(variable) and not (found.api_key or found.api_key_env):
        found = found._replace(api_key_env=variable)
    run.tell(_destination(found))
    return found if found.model else found._replace(model=_suggested(found))


def _suggested(found: LLMSettings) -> str:
    """Return the model when there is no choice to make: a suggested one the endpoint has, or its only one."""
    suggested = preset_models(found.base_url)
    try:
        names = bootstrap.list_models(found, LIST_SECONDS)
    except MexError:
        names = list(suggested[:1])
    likely = [one for one in suggested if one in names] or (names if len(names) == 1 else [])
    if not likely:
        raise InvalidInput("llm_choose_model", count=len(names), some=", ".join(names[:_SHOWN_MODELS]) or "-")
    return likely[0]


def _ask(run: Run) -> None:
    while True:
        choice = _choose(run)
        if choice == "keep":
            _report(run, run.app.settings.llm)
            return
        if choice == "none":
            _disconnect(run)
            return
        found = _ask_endpoint(run, choice)
        if found is not None and _settled(run, found):
            return


def _choose(run: Run) -> Choice:
    """Ask for the provider: what is there already or at hand comes first, then the others, then none."""
    llm = run.app.settings.llm
    at_hand = onboarding.keys_at_hand(os.environ)
    local = _local_models()
    choices: list[tuple[str, Choice]] = []
    if llm.is_configured:
        choices.append((t("ask.keep_model", model=llm.model, host=onboarding.host(llm.base_url)), "keep"))
    choices += [(t("ask.provider_with_variable", provider=one.name, name=one.key_env), one) for one in at_hand]
    if local:
        choices.append((t("ask.provider_local", provider="ollama", count=local), PRESETS["ollama"]))
    is_ready = bool(choices)
    taken = [choice for _, choice in choices]
    choices += [(f"{one.name}  {one.base_url}", one) for one in PRESETS.values() if one not in taken]
    choices.append((t("ask.no_model"), "none"))
    return ask.choose(t("ask.setup_model"), choices, 0 if is_ready else len(choices) - 1)


def _local_models() -> int:
    """Return how many models an ollama on this machine has; 0 when none answers."""
    try:
        return len(bootstrap.list_models(LLMSettings(base_url=PRESETS["ollama"].base_url), _LOCAL_SECONDS))
    except MexError:
        return 0


def _ask_endpoint(run: Run, preset: Preset) -> LLMSettings | None:
    """Return the endpoint with key and model as a person gives them; None to choose anew after a mistake."""
    try:
        url = preset.base_url or ask.line(t("ask.base_url"), run.app.settings.llm.base_url)
        found = with_key(run.app, preset, url)
        run.tell(_destination(found))
        found = ask_model(found)
        if not found.model:
            raise InvalidInput("llm_needs_model")
    except InvalidInput as error:
        run.complain(error)
        return None
    return found


def _settled(run: Run, found: LLMSettings) -> bool:
    """Try the endpoint and write it; on failure the person decides. False to choose anew."""
    while (error := _try(run, found)) is not None:
        run.complain(error)
        what = ask.choose(
            t("ask.trial_failed"),
            [(t(f"ask.trial_{one}"), one) for one in ("again", "other", "keep", "without")],
        )
        if what == "other":
            return False
        if what == "without":
            _report(run, run.app.settings.llm)
            return True
        if what == "keep":
            break
    _write(run, found)
    return True


def _try(run: Run, found: LLMSettings) -> MexError | None:
    """Make one tiny call, say what it cost, and count it; return what went wrong."""
    run.tell(t("note.trial", model=found.model))
    try:
        trial = bootstrap.try_model(found, min(_TRIAL_SECONDS, found.timeout_seconds))
    except MexError as error:
        return error
    onboarding.count(run.app, trial.usage)
    tokens = trial.usage.prompt_tokens, trial.usage.completion_tokens
    run.done["trial"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "reasons": trial.reasons}
    run.tell(t("done.trial", prompt_tokens=tokens[0], completion_tokens=tokens[1]))
    if trial.reasons:
        output.note(t("note.model_reasons", model=found.model, tokens=trial.reasoning_tokens or tokens[1]))
    return None


def _destination(found: LLMSettings) -> str:
    """Where the user's words will go, said before anything is sent."""
    name = "note.words_stay" if onboarding.is_this_machine(found.base_url) else "note.words_go_to"
    return t(name, host=onboarding.host(found.base_url))


def _write(run: Run, found: LLMSettings) -> None:
    service.write_llm(run.app.home, found)
    after_change(run.app, found)
    _report(run, found)


def _disconnect(run: Run) -> None:
    nothing = run.app.settings.llm._replace(base_url="", api_key="", api_key_env="", model="")
    service.write_llm(run.app.home, nothing)
    _report(run, nothing)


def _report(run: Run, llm: LLMSettings) -> None:
    """Say what extracts from now on."""
    run.done["model"] = {"base_url": llm.base_url, "model": llm.model} if llm.is_configured else None
    run.tell(t("stand.model", model=llm.model) if llm.is_configured else t("stand.rules"))
