"""`mex search --semantic`: the hits, and what is said when only words could be compared (product F6; docs/semantic.md)."""

from importlib import import_module
from typing import Any

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.bootstrap import likeness, open_embedder
from mex_pipeline.cli import output
from mex_pipeline.cli.options import t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import ExternalError, InvalidInput, MexError
from mex_pipeline.services import search, semantic_search
from mex_pipeline.services.search import Found


def find(app: App, asked: Selection, *, limit: int, offset: int, is_explained: bool = False) -> Found:
    """Return one page of hits by words and meaning; by words alone, and a note says why, when meaning cannot be asked for.

    Memories without a vector are counted in a note, and a job makes them. Raises InvalidInput as services/search.py.
    """
    search.check_page(limit, offset)
    if not semantic_search.question(asked):
        return search.ranked(app, asked, limit=limit, offset=offset, is_explained=is_explained)
    try:
        found, missing, size = _found(app, asked, limit=limit, offset=offset, is_explained=is_explained)
    except MexError as error:
        what, hint = messages.render(error)
        hint = t("semantic.endpoint") if error.code.startswith("llm_") else hint
        output.note(output.joined(t("semantic.unavailable"), what, hint))
        return search.ranked(app, asked, limit=limit, offset=offset, is_explained=is_explained)
    if missing:
        output.note(output.joined(t("semantic.missing", count=missing), _being_made(app, size)))
    return found


def _found(
    app: App, asked: Selection, *, limit: int, offset: int, is_explained: bool = False
) -> tuple[Found, int, int]:
    embedder = open_embedder(app.settings)
    if embedder is None:
        raise InvalidInput("semantic_off")
    return semantic_search.find(app, asked, embedder, likeness, limit=limit, offset=offset, is_explained=is_explained)


def _being_made(app: App, size: int) -> str:
    """Queue the vectors that are missing; says which job makes them, and nothing where none can be queued."""
    jobs, semantic, workers = map(_service, ("jobs", "semantic", "workers"))
    try:
        semantic.forget_unlike(app, size)
        job, _ = jobs.submit(app, semantic.request(app), trigger=Trigger.COMMAND)
        workers.ensure_running(app)
    except ExternalError:
        return ""
    return t("semantic.queued", id=job.id)


def _service(name: str) -> Any:
    """A service of jobs, imported only when one is needed: most searches find every vector made."""
    return import_module(f"mex_pipeline.services.{name}")
