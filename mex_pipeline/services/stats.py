"""Where things stand: counts, size, what the model has cost (seed 004 §5.1, §7.4; product G8)."""

from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.services import review
from mex_pipeline.services import workers as worker_service
from mex_pipeline.services.pauses import Today, today
from mex_pipeline.store import job_reports, stats, usage

MOST_EXPENSIVE = 3
"""How many of the dearest jobs are named."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of active memories, jobs per state, bytes on disk, and tokens by purpose and model."""

    profile: int
    outside: int
    pending_review: int
    db_size_bytes: int
    jobs: dict[str, int]
    usage: tuple[dict[str, Any], ...]
    worker_running: bool

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object, with the totals the original had and ours beside them."""
        totals = {
            "prompt_tokens": sum(row["prompt_tokens"] for row in self.usage),
            "completion_tokens": sum(row["completion_tokens"] for row in self.usage),
            "calls": sum(row["calls"] for row in self.usage),
        }
        return {
            "profile": {"profile": self.profile, "outside": self.outside},
            "pending_review": self.pending_review,
            "db_size_bytes": self.db_size_bytes,
            "llm_usage": totals | {"by_purpose_and_model": list(self.usage)},
            "jobs": self.jobs,
            "worker_running": self.worker_running,
        }


@dataclass(frozen=True, slots=True)
class Spending:
    """Where the tokens went (product C10); a job is one that has asked a model, `tokens` are prompt and completion.

    `by_agent` has rows `{agent, calls, prompt_tokens, completion_tokens}`, `most_expensive` `{job_id, agent, purpose,
    calls, tokens}`; `memories` are the active ones that such a job has written.
    """

    today: Today
    by_agent: tuple[dict[str, Any], ...]
    jobs: int
    tokens: int
    most_expensive: tuple[dict[str, Any], ...]
    memories: int

    @property
    def tokens_per_job(self) -> int | None:
        """Tokens of a job on average; None without any."""
        return round(self.tokens / self.jobs) if self.jobs else None

    @property
    def tokens_per_memory(self) -> int | None:
        """Tokens of all extraction for each memory that is still there; None without any."""
        return round(self.tokens / self.memories) if self.memories else None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "today": self.today.to_plain(),
            "by_agent": list(self.by_agent),
            "jobs": self.jobs,
            "tokens": self.tokens,
            "tokens_per_job": self.tokens_per_job,
            "most_expensive": list(self.most_expensive),
            "memories": self.memories,
            "tokens_per_memory": self.tokens_per_memory,
        }


def spending(app: App) -> Spending:
    """Return where the tokens went."""
    with app.db.snapshot() as view:
        whole = view.first(usage.of_extraction()) or {"jobs": 0, "tokens": 0}
        by_agent, by_job = view.all(usage.by_agent()), view.all(usage.by_job(MOST_EXPENSIVE))
        memories = view.first(stats.extracted(iso(app.clock.now()))) or 0
        day = today(app)
    return Spending(day, tuple(by_agent), whole["jobs"], whole["tokens"], tuple(by_job), memories)


def overview(app: App) -> Overview:
    """Return where things stand."""
    with app.db.snapshot() as view:
        counts = view.first(stats.counts(iso(app.clock.now()))) or {}
        waiting = review.count(app, view)
        by_state = dict(view.all(job_reports.jobs_by_state()))
        spent = tuple(view.all(usage.totals()))
    return Overview(
        profile=counts["profile"],
        outside=counts["outside"],
        pending_review=waiting,
        db_size_bytes=app.home.database.stat().st_size,
        jobs=by_state,
        usage=spent,
        worker_running=worker_service.is_running(app.home),
    )
