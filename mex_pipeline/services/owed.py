"""What only the built-in rules have read is owed to a model: how much, what reading it costs, asking for it (product C9)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mex_pipeline import settings
from mex_pipeline.adapters import registry
from mex_pipeline.app import App
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import MexError
from mex_pipeline.services import estimate, jobs
from mex_pipeline.services.estimate import Estimate
from mex_pipeline.services.files import source_key
from mex_pipeline.store import cursors, upkeep
from mex_pipeline.store.upkeep import Known


@dataclass(frozen=True, slots=True)
class Owed:
    """Turns and sessions that only the rules have read, and the requests for those whose source is still there."""

    turns: int
    sessions: int
    requests: tuple[jobs.Request, ...]
    cost: Estimate

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object; `readable` is how many sessions can still be read, and the costs are theirs."""
        return {
            "turns": self.turns,
            "sessions": self.sessions,
            "readable": len(self.requests),
            "tokens": self.cost.tokens,
            "calls": self.cost.calls,
            "input_tokens": self.cost.input_tokens,
        }


def with_settings_now(app: App) -> App:
    """Return the same home with the settings as config.yaml says them now."""
    return app._replace(settings=settings.load(app.home.config))


def sources(app: App) -> list[Known]:
    """Return the sources that the rules have read and no job works on; none without a model."""
    return app.db.all(upkeep.idle_sources("rules")) if app.settings.llm.is_configured else []


def owed(app: App, known: Iterable[Known]) -> Owed | None:
    """Return what of the sources is owed to the configured model; None when nothing is. Nothing is sent.

    A source that is gone, or cannot be read, is owed all the same and costs nothing.
    """
    whole = app.db.first(cursors.owed()) or {"turns": 0, "sessions": 0}
    if not (whole["turns"] and app.settings.llm.is_configured):
        return None
    requests: list[jobs.Request] = []
    cost = Estimate()
    counted: set[tuple[str, str]] = set()
    for one in known:
        try:
            key = source_key(one.source)
            part = estimate.of_source(app, key, registry.find(one.adapter), counted)
        except (MexError, ValueError):
            continue
        if part.user_turns:
            requests.append(jobs.extraction(one.adapter, key, one.subject or "user"))
            cost += part
    return Owed(whole["turns"], whole["sessions"], tuple(requests), cost)


def ask_for(app: App, found: Owed) -> str:
    """Queue the reading of what is owed in the background; returns the id of the batch."""
    batch, _ = jobs.submit_all(app, found.requests, trigger=Trigger.COMMAND)
    return batch
