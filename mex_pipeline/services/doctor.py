"""`mex doctor`: what is wrong with a home, and the command that puts it right (seed 004 §3.6).

It reports whatever state the home is in and never changes a memory. A fault of one part is a line of the report; the
other parts are looked at all the same.
"""

import shlex
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from mex_pipeline import settings as settings_module
from mex_pipeline import yaml_file
from mex_pipeline.app import App
from mex_pipeline.clock import SystemClock, iso
from mex_pipeline.domain.schema import Schema, idle_policies, parse
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import ExternalError, MexError, UserError
from mex_pipeline.paths import Home
from mex_pipeline.services import doctor_data, doctor_home
from mex_pipeline.services.embedder import model_name
from mex_pipeline.services.findings import FIX, Check, Item, LLMState, Report, Status, found
from mex_pipeline.services.opening import initialise
from mex_pipeline.settings import LLMSettings, QueueSettings, Settings
from mex_pipeline.store import embeddings

AskModels = Callable[[LLMSettings], list[str]]
"""Asks an endpoint for the names of its models; raises the errors of a call."""

AskQueue = Callable[[Home, QueueSettings], None]
"""Asks the server that carries the wake-ups; raises NotConfigured or ExternalError when it cannot be used."""

_NO_ANSWER = frozenset({"llm_unreachable", "llm_timeout", "llm_connection_lost"})


def examine(
    home: Home,
    language: Language,
    *,
    ask_models: AskModels | None = None,
    ask_queue: AskQueue | None = None,
    fix: bool = False,
) -> Report:
    """Return the report. The network is asked only with `ask_models` and `ask_queue`, and only `fix` changes anything.

    `fix` repairs modes, the full-text index, and jobs whose process is gone. Raises InvalidInput where there can be no
    home at all (`home_parent_missing`, `home_is_file`).
    """
    copies: list[Path] = []
    with ExitStack() as stack:
        try:
            database, is_new = initialise(home, language, migrated=copies.append)
            stack.enter_context(closing(database))
        except UserError:
            raise
        except MexError as error:
            database, is_new, fault = None, False, error
        settings, config_check = _config(home)
        schema, schema_check = _schema(home)
        config_check = _views(home, settings, schema) or config_check
        fixed = {"permissions": doctor_home.tighten(home.root)} if fix else {}
        if database is None:
            stored = tuple(doctor_data.unopened(fault))
        else:
            opened = (home, settings or Settings(), database, SystemClock(), language)
            app = App(*opened, schema=schema or Schema({}))
            fixed |= doctor_data.repair(app) if fix else {}
            stored = tuple(doctor_data.checks(app, schema_is_known=schema is not None))
            stored += _semantic(app)
    queue = _queue(home, settings, ask_queue)
    llm, llm_check = _llm(settings, ask_models)
    checks = (_place(home), _permissions(home), config_check, schema_check, *stored, *queue, llm_check)
    return Report(checks, llm, {name: count for name, count in fixed.items() if count}, is_new, tuple(copies))


def _place(home: Home) -> Check:
    """A program that copies mex.db between machines, or a disk of another machine, breaks what SQLite relies on."""
    root = home.root.resolve()
    items = []
    synced, network = doctor_home.synced_by(root), doctor_home.network_of(root)
    if synced is not None:
        items.append(Item("home_synced", {"path": synced}))
    if network is not None:
        items.append(Item("home_on_network", {"kind": network}))
    return found("home", items, Status.WARNING, code="path", path=str(home.root))


def _permissions(home: Home) -> Check:
    items = [
        Item(
            "open_to_others",
            {"path": str(path), "mode": f"{mode:04o}", "wanted": f"{wanted:04o}"},
            (FIX, f"chmod {wanted:o} {shlex.quote(str(path))}"),
        )
        for path, mode, wanted in doctor_home.loose(home.root)
    ]
    return found("permissions", items, Status.PROBLEM)


def _config(home: Home) -> tuple[Settings | None, Check]:
    try:
        settings = settings_module.load(home.config)
    except MexError as error:
        return None, Check("config", Status.PROBLEM, error=error)
    try:
        settings.llm.require_whole()
    except MexError as error:
        return settings, Check("config", Status.PROBLEM, error=error)
    return settings, Check("config", Status.OK)


def _views(home: Home, settings: Settings | None, schema: Schema | None) -> Check | None:
    """What is wrong with the views: they name topics, so they can be looked at only beside the schema."""
    if settings is None or schema is None:
        return None
    try:
        for name, view in settings.views.items():
            settings_module.require_topics(home.config, name, view, schema.topics)
    except MexError as error:
        return Check("config", Status.PROBLEM, error=error)
    return None


def _schema(home: Home) -> tuple[Schema | None, Check]:
    try:
        schema, notices = parse(yaml_file.load(home.schema))
    except MexError as error:
        error.params.setdefault("file", str(home.schema))
        return None, Check("schema", Status.PROBLEM, error=error)
    items = [Item(notice.code, {"path": notice.path}) for notice in (*notices, *idle_policies(schema))]
    counts = {"topics": len(schema.topics), "slots": sum(1 for _ in schema.slots())}
    return schema, found("schema", items, Status.WARNING, code="schema_counts", **counts)


def _queue(home: Home, settings: Settings | None, ask_queue: AskQueue | None) -> list[Check]:
    """A server that carries the wake-ups; queue.db needs no check, for a worker makes it anew."""
    if settings is None or not settings.queue.url:
        return []
    if ask_queue is None:
        return [Check("queue", Status.SKIPPED, code="queue_not_asked")]
    try:
        ask_queue(home, settings.queue)
    except MexError as error:
        return [Check("queue", Status.PROBLEM, error=error)]
    return [Check("queue", Status.OK, code="queue_reached", facts={"address": settings.queue.address})]


def _semantic(app: App) -> tuple[Check, ...]:
    """How many memories have a vector, while semantic search is on; nobody is asked, and no package is loaded."""
    semantic = app.settings.semantic
    if not semantic.enabled:
        return ()
    model = model_name(semantic)
    try:
        with app.db.snapshot() as view:
            kept = view.first(embeddings.count(model)) or 0
            missing = view.first(embeddings.count_missing(model, iso(app.clock.now()))) or 0
    except MexError as error:
        return (Check("semantic", Status.PROBLEM, error=error),)
    items = [Item("semantic_missing", {"count": missing}, ("mex embed",))] if missing else []
    return (found("semantic", items, Status.WARNING, code="semantic_kept", model=model, count=kept),)


def _llm(settings: Settings | None, ask_models: AskModels | None) -> tuple[LLMState, Check]:
    llm = settings.llm if settings else LLMSettings()
    if settings is None:
        return LLMState(), Check("llm", Status.SKIPPED, code="no_settings")
    if not llm.is_configured:
        return LLMState(), Check("llm", Status.SKIPPED, code="llm_none")
    if ask_models is None:
        return LLMState(configured=True), Check("llm", Status.SKIPPED, code="llm_not_asked")
    try:
        names = ask_models(llm)
    except MexError as error:
        answered = isinstance(error, ExternalError) and error.code not in _NO_ANSWER
        # Some servers answer chats and have no list.
        status = Status.WARNING if error.code == "llm_not_an_api" else Status.PROBLEM
        return LLMState(configured=True, reachable=answered), Check("llm", status, error=error)
    is_known = not names or llm.model in names or f"{llm.model}:latest" in names
    items = [] if is_known else [Item("llm_model_not_listed", {"model": llm.model}, ("mex config llm",))]
    state = LLMState(configured=True, reachable=True, models=len(names))
    return state, found("llm", items, Status.WARNING, code="llm_reached", model=llm.model, count=len(names))
