"""`mex setup`: the guided start, at a terminal or by options with `--yes`.

A run is a table of steps, `_STEPS`: functions of the `Run` that ask (what an option says already is not asked), do their
part at once, and leave what they did in `run.done`. A later step is one more function in that table; what may fail
without stopping the rest goes through `Run.fail` and becomes the exit code.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.cli import ask, memory_text, output
from mex_pipeline.cli.integrate import file_lines, next_lines, require_no_conflict
from mex_pipeline.cli.model import ApiKeyEnvOption, ApiKeyOption, BaseUrlOption, ModelOption, ProviderOption, key_given
from mex_pipeline.cli.options import JsonOption, LangOption, session, t, writer
from mex_pipeline.cli.setup_model import connect
from mex_pipeline.cli.setup_run import Endpoint, Run
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.services import integrate as skills
from mex_pipeline.services import onboarding, profile
from mex_pipeline.services import setup as service
from mex_pipeline.services.results import memory_plain

_NO_AGENTS = "none"


def setup(
    yes: Annotated[bool, typer.Option("--yes", help=t("help.yes"))] = False,
    provider: ProviderOption = None,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    api_key_env: ApiKeyEnvOption = None,
    model: ModelOption = None,
    no_model: Annotated[bool, typer.Option("--no-model", help=t("help.no_model"))] = False,
    agents: Annotated[str | None, typer.Option("--integrate", help=t("help.integrate_agents"))] = None,
    name: Annotated[str | None, typer.Option("--name", help=t("help.my_name"))] = None,
    location: Annotated[str | None, typer.Option("--location", help=t("help.my_location"))] = None,
    work: Annotated[str | None, typer.Option("--work", help=t("help.my_work"))] = None,
    style: Annotated[str | None, typer.Option("--style", help=t("help.my_style"))] = None,
    allergies: Annotated[str | None, typer.Option("--allergies", help=t("help.my_allergies"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    is_asked = ask.is_possible() and not yes and not output.wants_json()
    if not (yes or is_asked):
        raise InvalidInput("setup_needs_yes")
    endpoint = Endpoint(provider, base_url, key_given(api_key), api_key_env, model)
    if no_model and endpoint.is_given:
        raise InvalidInput("model_and_no_model")
    chosen = None if agents is None else _agent_names(agents)
    answers = {"name": name, "location": location, "work": work, "style": style, "allergies": allergies}
    if is_asked and lang is None:
        messages.activate(_ask_language())
    with session() as app:
        if is_asked or lang is not None:
            service.set_language(app.home, messages.active())
        run = Run(app, is_asked, endpoint, no_model, chosen, answers, writer(None))
        for step in _STEPS:
            step(run)
    if output.wants_json():
        output.json_value(run.done)
    if run.failure is not None:
        raise run.failure


def _agent_names(text: str) -> list[str]:
    names = [one.strip() for one in text.split(",") if one.strip() not in ("", _NO_AGENTS)]
    for one in names:
        skills.require_agent(one)
    return names


def _ask_language() -> Language:
    languages: list[tuple[str, Language]] = [("English", "en"), ("中文", "zh")]
    return ask.choose("Language · 语言", languages, int(messages.active() == "zh"))


def _agents(run: Run) -> None:
    """Offer the skill for each agent on this machine; without a person only the named ones get it."""
    found = skills.found_agents()
    names = run.agents
    if names is None and run.is_asked:
        names = [one for one in found if ask.confirm(t("ask.integrate", agent=skills.AGENTS[one]))]
    next_steps: dict[str, None] = {}
    run.done["integrated"] = []
    for one in names or ():
        try:
            done = skills.install(one, "global", messages.active())
        except MexError as error:
            run.fail(error)
            continue
        run.done["integrated"].append(done.to_plain())
        run.tell(*file_lines(done))
        next_steps |= dict.fromkeys(next_lines(done))
        if not run.is_asked:
            try:
                require_no_conflict(done)
            except InvalidInput as error:
                run.fail(error)
    run.tell(*next_steps)
    if names is None and found:
        run.tell(t("note.agents_found", agents=", ".join(skills.AGENTS[one] for one in found), first=found[0]))


def _about_you(run: Run) -> None:
    """Five questions, each skipped with Enter; the answers become memories."""
    written = []
    questions = list(onboarding.questions(run.app.schema))
    if run.is_asked and questions:
        run.tell("", t("note.about_you"))
    for one in questions:
        text = run.answers[one.name] or (_ask_about(run, one) if run.is_asked else "")
        try:
            written += onboarding.answer(run.app, one.slot, text or "", run.actor)
        except MexError as error:
            if not run.is_asked:
                raise
            run.complain(error)
    asked = {one.name for one in questions}
    for name, given in run.answers.items():
        if given and name not in asked:
            output.note(t("note.question_left_out", option=f"--{name}"))
    run.done["memories"] = [memory_plain(memory) for memory in written]
    run.tell(*(t("done.added", id=one.id, content=memory_text.content_text(one, run.app.schema)) for one in written))


def _ask_about(run: Run, question: onboarding.Question) -> str:
    held = ", ".join(memory_text.content_text(one, run.app.schema) for one in onboarding.held(run.app, question.slot))
    text = t(f"ask.about_{question.slot.name}")
    return ask.line(f"{text} {t('ask.now', content=output.visible(held))}" if held else text)


def _outlook(run: Run) -> None:
    """The profile as it is now, and what to do next."""
    shown = profile.show(run.app)
    run.done["profile"] = shown.text
    run.tell("", shown.text, "", t("note.setup_next"))


_STEPS: tuple[Callable[[Run], None], ...] = (connect, _agents, _about_you, _outlook)
