"""What a service is given: values and gateways, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mex_pipeline.clock import Clock
    from mex_pipeline.domain.schema import Notice, Schema
    from mex_pipeline.domain.wording import Language
    from mex_pipeline.paths import Home
    from mex_pipeline.services.extractor import Extractor
    from mex_pipeline.settings import Settings
    from mex_pipeline.store.async_database import AsyncDatabase
    from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class App:
    """One command's view of a home. `is_new` says that this command created it, `notices` what schema.yaml should change."""

    home: Home
    settings: Settings
    schema: Schema
    db: Database
    clock: Clock
    language: Language
    is_new: bool = False
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class AsyncApp:
    """The same for the extraction pipeline, with the extractor that serves: a model or the built-in rules."""

    home: Home
    settings: Settings
    schema: Schema
    db: AsyncDatabase
    clock: Clock
    language: Language
    extractor: Extractor
