"""How structured output has worked with an endpoint and model, remembered (product C12)."""

from typing import cast

from mex_pipeline.clock import Clock, millis
from mex_pipeline.llm.port import ResponseFormat
from mex_pipeline.store import usage
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement


class FormatMemory:
    """Remembers per endpoint and model how structured output has worked (product C12)."""

    def __init__(self, db: AsyncDatabase, clock: Clock, base_url: str, model: str) -> None:
        self._db = db
        self._clock = clock
        self._base_url = base_url
        self._model = model
        self._known: ResponseFormat | None = None

    async def recall(self) -> ResponseFormat | None:
        """Return what worked last time."""
        known = await self._db.first(usage.response_format(self._base_url, self._model))
        self._known = cast("ResponseFormat | None", known)
        return self._known

    def learn(self, worked: ResponseFormat) -> list[Statement]:
        """Return what remembers the format that worked now; nothing when it is no news."""
        if worked == self._known:
            return []
        self._known = worked
        return [usage.learn_format(self._base_url, self._model, worked, millis(self._clock.now()))]
