"""Where things stand: counts, size, what the model has cost (seed 004 §5.1, §7.4; product G8)."""

from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.services import review
from mex_pipeline.services import workers as worker_service
from mex_pipeline.store import cursors, job_reports, stats, usage


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


def owed(app: App) -> dict[str, int]:
    """Return `{turns, sessions}` that only the rules have read: a model may read them again (product C9)."""
    return app.db.first(cursors.owed()) or {"turns": 0, "sessions": 0}


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
