"""What a service is given: values and gateways, no behaviour."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

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


class OpenHome:
    """A home in use, without its schema: all that a request for a job needs, which every turn of an agent makes.

    `is_new` says that this command created it, `migrated` where copies of an older mex.db lie. A plain class, and not a
    dataclass: what those load takes longer than a query (docs/adr/0025-queries-are-read-quickly.md).
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        db: Database,
        clock: Clock,
        language: Language,
        *,
        is_new: bool = False,
        migrated: tuple[Path, ...] = (),
    ) -> None:
        self.home = home
        self.settings = settings
        self.db = db
        self.clock = clock
        self.language = language
        self.is_new = is_new
        self.migrated = migrated

    def _replace(self, **changes: Any) -> Self:
        """Return the same home with some of this changed, as a NamedTuple does."""
        other = copy(self)
        vars(other).update(changes)
        return other


class App(OpenHome):
    """One command's view of a home. `notices` say what schema.yaml should change."""

    def __init__(self, *facts: Any, schema: Schema, notices: tuple[Notice, ...] = (), **more: Any) -> None:
        super().__init__(*facts, **more)
        self.schema = schema
        self.notices = notices


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
