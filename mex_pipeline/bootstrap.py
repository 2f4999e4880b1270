"""The composition root: the one place that names concrete classes and opens the heavy doors."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from mex_pipeline import messages, settings
from mex_pipeline.app import App, AsyncApp, OpenHome
from mex_pipeline.clock import SystemClock, millis
from mex_pipeline.errors import MexError
from mex_pipeline.paths import Home
from mex_pipeline.services import opening
from mex_pipeline.store.database import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from mex_pipeline.domain.job import Job
    from mex_pipeline.domain.schema import Notice, Schema
    from mex_pipeline.domain.vector import Vector
    from mex_pipeline.domain.wording import Language
    from mex_pipeline.llm.probe import Trial
    from mex_pipeline.services.asking import Asker
    from mex_pipeline.services.compactor import Compactor
    from mex_pipeline.services.embedder import Embedder
    from mex_pipeline.services.extractor import Extractor
    from mex_pipeline.services.gate import Gate
    from mex_pipeline.services.heartbeat import Runs
    from mex_pipeline.services.spending import Spending, UnderWay
    from mex_pipeline.settings import LLMSettings, QueueSettings, Settings
    from mex_pipeline.store.async_database import AsyncDatabase


@contextmanager
def open_home(language: Language) -> Iterator[OpenHome]:
    """Open the home, made first when it does not exist (product A3); its schema is not looked at."""
    home = Home.from_environment()
    copies: list[Path] = []
    database, is_new = opening.initialise(home, language, migrated=copies.append)
    with closing(database):
        facts = (home, settings.load(home.config), database, SystemClock(), language)
        yield OpenHome(*facts, is_new=is_new, migrated=tuple(copies))


@contextmanager
def open_app(language: Language) -> Iterator[App]:
    """Open the home for one command, made first when it does not exist (product A3)."""
    with open_home(language) as it:
        schema, notices = load_schema(it.home)
        yield App(**vars(it), schema=schema, notices=notices)


def load_schema(home: Home) -> tuple[Schema, tuple[Notice, ...]]:
    """Return the home's schema and its notices; raises InvalidInput naming the file and the place that is wrong."""
    from mex_pipeline import yaml_cache
    from mex_pipeline.domain.schema import parse

    try:
        return yaml_cache.load(home.schema, home.kept_schema, parse)
    except MexError as error:
        error.params.setdefault("file", str(home.schema))
        raise


def worker_settings() -> tuple[Home, Settings]:
    """Return the home a worker serves, made when it does not exist, and its settings."""
    home = Home.from_environment()
    language = messages.choose(os.environ.get("MEX_LANG"))
    opening.initialise(home, language)[0].close()
    found = settings.load(home.config)
    messages.activate(messages.choose(os.environ.get("MEX_LANG"), found.language))
    return home, found


def describe(error: MexError) -> str:
    """Return an error in the active language: what happened and what to do."""
    return say("label.error", text=" ".join(part for part in messages.render(error) if part))


def say(name: str, **params: object) -> str:
    """Return a message in the active language, for the worker process."""
    return messages.text(name, **params)


def list_models(llm: LLMSettings, timeout: float) -> list[str]:
    """Return the names of the models an endpoint has; raises the errors of a call (llm/probe.py)."""
    import asyncio

    from mex_pipeline.llm.probe import list_models as ask

    return asyncio.run(ask(llm.base_url, llm.key(os.environ), timeout))


def ask_queue(home: Home, queue: QueueSettings) -> None:
    """Ask the server that carries the wake-ups whether it can be used; raises as jobqueue.try_redis."""
    from mex_pipeline.jobqueue import try_redis

    try_redis(home.queue, queue.url, queue.address)


def try_model(llm: LLMSettings, timeout: float) -> Trial:
    """Return what one tiny call cost; raises the errors of a call (llm/probe.py)."""
    import asyncio

    from mex_pipeline.llm.probe import try_model as ask

    return asyncio.run(ask(llm.base_url, llm.key(os.environ), llm.model, timeout))


@asynccontextmanager
async def open_async_app(home: Home, job_id: str) -> AsyncIterator[AsyncApp]:
    """Open the home for one job, with the extractor that its kind and the settings ask for."""
    from mex_pipeline.services.jobs import COMPACT, EMBED, RESTORE
    from mex_pipeline.store import jobs
    from mex_pipeline.store.async_database import AsyncDatabase

    found = settings.load(home.config)
    schema, _ = load_schema(home)
    language = messages.choose(os.environ.get("MEX_LANG"), found.language)
    database = await AsyncDatabase.open(home.database)
    try:
        job = await database.first(jobs.one(job_id))
        found = _asked_of(found, job)
        needs_model = job is not None and job.kind not in (RESTORE, COMPACT, EMBED)
        extractor = await _extractor(found, schema, language, database) if needs_model else _rules(schema)
        condenses = job is not None and job.kind == COMPACT
        compactor = await _compactor(found, language, database) if condenses else None
        embedder = open_embedder(found) if job is not None and job.kind == EMBED else None
        spending = _spending(found, database) if embedder is not None and found.semantic.is_remote else None
        facts = (home, found, schema, database, SystemClock(), language, extractor, _calls(found.llm))
        try:
            yield AsyncApp(*facts, compactor=compactor, embedder=embedder, spending=spending)
        finally:
            await extractor.aclose()
            if compactor is not None:
                await compactor.aclose()
    finally:
        await database.close()


def open_embedder(found: Settings) -> Embedder | None:
    """Return what makes vectors, by the settings; None while semantic search is off. Nothing is loaded or asked yet.

    Raises InvalidInput for an address or key that no request can be made with.
    """
    semantic = found.semantic
    if not semantic.enabled:
        return None
    if not semantic.is_remote:
        from mex_pipeline.embedding.local import LocalModel

        return LocalModel()
    from mex_pipeline.llm.embeddings import RemoteModel

    return RemoteModel(
        base_url=semantic.base_url,
        api_key=semantic.key(os.environ),
        model=semantic.model,
        query_prefix=semantic.query_prefix,
        passage_prefix=semantic.passage_prefix,
        max_retries=found.llm.max_retries,
        retry_base_seconds=found.llm.retry_base_seconds,
    )


def likeness(question: Sequence[float], vectors: Sequence[Vector]) -> list[float]:
    """Return how much like a question each vector is (embedding/likeness.py)."""
    from mex_pipeline.embedding.likeness import likeness as compared

    return compared(question, vectors)


def _asked_of(found: Settings, job: Job | None) -> Settings:
    """The settings with the model that a job names, if it names one (`mex extract --again --model`)."""
    model = job.payload.get("model") if job is not None else None
    return found if model is None else found._replace(llm=found.llm._replace(model=model))


async def _extractor(found: Settings, schema: Schema, language: Language, database: AsyncDatabase) -> Extractor:
    """The configured model, or the built-in rules when none is configured at all (product C9)."""
    found.llm.require_whole()
    if not found.llm.is_configured:
        return _rules(schema)
    from mex_pipeline.domain.schema import slot_lines
    from mex_pipeline.llm.prompts import Prompts
    from mex_pipeline.resources import prompt_texts
    from mex_pipeline.services.model_extractor import ModelExtractor

    prompts = Prompts(*prompt_texts(language), language)
    asker = await _asker(found, database)
    return ModelExtractor(asker, prompts, schema, slot_lines(schema, language))


async def _compactor(found: Settings, language: Language, database: AsyncDatabase) -> Compactor | None:
    """What condenses records with the configured model; None when none is configured."""
    found.llm.require_whole()
    if not found.llm.is_configured:
        return None
    from mex_pipeline.llm.summaries import SUMMARIES_SCHEMA, CompactPrompts
    from mex_pipeline.resources import compact_texts
    from mex_pipeline.services.compactor import Compactor

    asker = await _asker(found, database, ("summaries", SUMMARIES_SCHEMA))
    return Compactor(asker, CompactPrompts(*compact_texts(language)))


async def _asker(found: Settings, database: AsyncDatabase, reply: tuple[str, dict[str, Any]] | None = None) -> Asker:
    """What asks the configured model; `reply` is the name and the JSON Schema of what it answers, if no memories."""
    from mex_pipeline.llm.client import MEMORIES, OpenAICompatible
    from mex_pipeline.services.asking import Asker
    from mex_pipeline.services.formats import FormatMemory
    from mex_pipeline.services.pauses import endpoint_scope

    formats = FormatMemory(database, SystemClock(), found.llm.base_url, found.llm.model)
    llm = OpenAICompatible(
        base_url=found.llm.base_url,
        api_key=found.llm.key(os.environ),
        model=found.llm.model,
        timeout_seconds=found.llm.timeout_seconds,
        max_retries=found.llm.max_retries,
        retry_base_seconds=found.llm.retry_base_seconds,
        response_format=await formats.recall(),
        reply=reply or MEMORIES,
    )
    return Asker(llm, database, SystemClock(), formats, endpoint_scope(found), _spending(found, database))


def _spending(found: Settings, database: AsyncDatabase) -> Spending:
    from mex_pipeline.services.spending import Spending

    return Spending(database, SystemClock(), found.budget, _under_way())


def _rules(schema: Schema) -> Extractor:
    """The built-in rules; they stand there for a restore as well, which reads no conversation."""
    from mex_pipeline.services.rule_extractor import RuleExtractor

    return RuleExtractor(schema)


@cache
def _gate() -> Gate:
    from mex_pipeline.services.gate import Gate

    return Gate(1)


@cache
def _under_way() -> UnderWay:
    """What the calls of this process are about to cost; one for all of its jobs."""
    from mex_pipeline.services.spending import UnderWay

    return UnderWay()


def _calls(llm: LLMSettings) -> Gate:
    """The one gate of this process, as wide as the settings are now."""
    gate = _gate()
    gate.resize(llm.concurrency)
    return gate


async def run_job(home: Home, job_id: str, runs: Runs) -> bool:
    """Run one job in this process; False when it could not be claimed now.

    Settings or a schema that cannot be used are written on the job and raised.
    """
    from mex_pipeline.services import endings
    from mex_pipeline.services.extraction import execute

    async with AsyncExitStack() as stack:
        try:
            app = await stack.enter_async_context(open_async_app(home, job_id))
        except MexError as error:
            with closing(Database.open(home.database)) as database:
                endings.hold(database, job_id, error, millis(SystemClock().now()))
            raise
        return await execute(app, job_id, runs)


def run_job_here(app: App, job_id: str) -> None:
    """Run a job in the foreground, without Huey, until it has ended or must wait (product C1, H2).

    When a worker was faster, its end is waited for.
    """
    import asyncio

    from mex_pipeline import lease
    from mex_pipeline.services.foreground import drive
    from mex_pipeline.services.heartbeat import Runs
    from mex_pipeline.services.jobs import give_up

    owner = lease.Owner(app.home.run)
    try:
        with Runs(owner.name, app.home.database) as runs:
            asyncio.run(drive(app, job_id, lambda: run_job(app.home, job_id, runs)))
    except BaseException as error:
        give_up(app, job_id, error.code if isinstance(error, MexError) else "user")
        if isinstance(error, asyncio.CancelledError):
            raise KeyboardInterrupt from error
        raise
    finally:
        owner.close()
