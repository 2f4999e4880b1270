"""SQL of `workers` and `queue_control`: who works, and what is paused or asked to stop."""

from typing import Any

from mex_pipeline.store.sql import Query, Statement, value


def hello(owner: str, host: str, pid: int, version: str, now: int) -> Statement:
    """Write down a worker process that starts."""
    return Statement(
        "INSERT INTO workers (owner, host, pid, version, started_at, seen_at, state) "
        "VALUES (:owner, :host, :pid, :version, :now, :now, 'running')",
        {"owner": owner, "host": host, "pid": pid, "version": version, "now": now},
    )


def gone(owner: str) -> Statement:
    """Remove a worker that ended."""
    return Statement("DELETE FROM workers WHERE owner = :owner", {"owner": owner})


def all_rows() -> Query[dict[str, Any]]:
    """Every worker row; whether its process lives is asked of the kernel, not of this table."""
    return Query("SELECT * FROM workers ORDER BY started_at", {}, dict)


def pause(scope: str, until: int, reason: str, now: int) -> Statement:
    """Pause a scope (`*`, `llm`) until a moment."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:scope, :until, :reason, :now) "
        "ON CONFLICT (scope) DO UPDATE SET paused_until = :until, reason = :reason, at = :now",
        {"scope": scope, "until": until, "reason": reason, "now": now},
    )


def clamp_pauses(now: int, latest: int) -> Statement:
    """Keep a clock that was set back from stretching a pause."""
    return Statement(
        "UPDATE queue_control SET paused_until = :now WHERE paused_until > :latest", {"now": now, "latest": latest}
    )


def resume(scope: str) -> Statement:
    """Lift a pause."""
    return Statement("DELETE FROM queue_control WHERE scope = :scope", {"scope": scope})


def paused(now: int) -> Query[dict[str, Any]]:
    """The scopes that are paused at `now`."""
    return Query(
        "SELECT scope, paused_until, reason FROM queue_control WHERE paused_until > :now ORDER BY scope",
        {"now": now},
        dict,
    )


STOP = "worker:stop"


def ask_stop(now: int) -> Statement:
    """Ask every worker that runs now to finish and leave: they see that the mark has changed, whatever the clock says."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:scope, NULL, NULL, :now) "
        "ON CONFLICT (scope) DO UPDATE SET at = max(at + 1, :now)",
        {"scope": STOP, "now": now},
    )


def stop_mark() -> Query[int]:
    """A number that changes with every request to stop."""
    return Query("SELECT at FROM queue_control WHERE scope = :scope", {"scope": STOP}, value("at"))
