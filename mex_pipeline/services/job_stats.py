"""`mex jobs stats`: how the jobs of a span went; counts and times, never content (product D3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso, millis
from mex_pipeline.store import job_reports


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle and the slow end of some times in seconds; None where nothing was measured."""

    p50: float | None
    p95: float | None

    @classmethod
    def of(cls, measured: Sequence[int]) -> "Spread":
        """Return the spread of milliseconds, each the value that this share of them does not exceed."""
        ordered = sorted(max(0, one) for one in measured)
        if not ordered:
            return cls(None, None)

        def within(percent: int) -> float:
            return ordered[-(-len(ordered) * percent // 100) - 1] / 1000

        return cls(within(50), within(95))

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{p50, p95}`."""
        return {"p50": self.p50, "p95": self.p95}


@dataclass(frozen=True, slots=True)
class JobStats:
    """The jobs asked for since a moment; `usage` is `{calls, prompt_tokens, completion_tokens, reused}`."""

    since: str
    states: dict[str, int]
    outcomes: dict[str, int]
    wait: Spread
    run: Spread
    attempts_per_success: float | None
    crashes: int
    rescues: int
    merges: int
    retries: int
    busy_waits: int
    usage: dict[str, int]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "since": self.since,
            "jobs": sum(self.states.values()),
            "states": self.states,
            "outcomes": self.outcomes,
            "wait_seconds": self.wait.to_plain(),
            "run_seconds": self.run.to_plain(),
            "attempts_per_success": self.attempts_per_success,
            "crashes": self.crashes,
            "rescues": self.rescues,
            "merges": self.merges,
            "retries": self.retries,
            "busy_waits": self.busy_waits,
            "usage": self.usage,
        }


def since(app: App, moment: datetime) -> JobStats:
    """Return how the jobs went that were asked for since `moment`, and what was spent on jobs since."""
    at = millis(moment)
    with app.db.snapshot() as view:
        rows = view.all(job_reports.counts(at))
        wait, run = Spread.of(view.all(job_reports.waits(at))), Spread.of(view.all(job_reports.runs(at)))
        happened = view.first(job_reports.happenings(at)) or {}
        spent = view.first(job_reports.spent(iso(moment))) or {}
    well = [row for row in rows if row["state"] == "succeeded"]
    succeeded = sum(row["jobs"] for row in well)
    return JobStats(
        since=iso(moment),
        states=_by(rows, "state"),
        outcomes=_by(rows, "outcome"),
        wait=wait,
        run=run,
        attempts_per_success=round(sum(row["attempts"] for row in well) / succeeded, 2) if succeeded else None,
        crashes=sum(row["crashes"] for row in rows),
        rescues=happened["rescues"],
        merges=sum(row["merges"] for row in rows),
        retries=happened["retries"],
        busy_waits=happened["busy_waits"],
        usage=spent | {"reused": sum(row["reused"] for row in rows)},
    )


def _by(rows: list[dict[str, Any]], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if row[name] is not None:
            found[row[name]] = found.get(row[name], 0) + row["jobs"]
    return found
