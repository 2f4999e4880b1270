"""What a service is given: values and gateways, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from mex_pipeline.clock import Clock
    from mex_pipeline.domain.schema import Notice, Schema
    from mex_pipeline.domain.wording import Language
    from mex_pipeline.paths import Home
    from mex_pipeline.services.compactor import Compactor
    from mex_pipeline.services.embedder import Allowance, Embedder
    from mex_pipeline.services.extractor import Extractor
    from mex_pipeline.services.gate import Gate
    from mex_pipeline.settings import Settings
    from mex_pipeline.store.async_database import AsyncDatabase
    from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class OpenHome:
    """A home in use, without its schema: all that a request for a job needs, which every turn of an agent makes.

    `is_new` says that this command created it, `migrated` where copies of an older mex.db lie.
    """

    home: Home
    settings: Settings
    db: Database
    clock: Clock
    language: Language
    is_new: bool = False
    migrated: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class App(OpenHome):
    """One command's view of a home. `notices` say what schema.yaml should change."""

    schema: Schema = field(kw_only=True)
    notices: tuple[Notice, ...] = ()


class AsyncApp(NamedTuple):
    """The same for the extraction pipeline, with the extractor that serves (a model or the built-in rules) and the gate
    that its calls pass. `compactor` is there for a compaction alone, and None without a model; `embedder` for a job that
    makes vectors, and None while semantic search is off; `spending` beside it when an endpoint makes them."""

    home: Home
    settings: Settings
    schema: Schema
    db: AsyncDatabase
    clock: Clock
    language: Language
    extractor: Extractor
    calls: Gate
    compactor: Compactor | None = None
    embedder: Embedder | None = None
    spending: Allowance | None = None
