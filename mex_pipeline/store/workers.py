"""SQL of `workers` and `queue_control`: who works, and what is paused or asked to stop."""

from typing import Any

from mex_pipeline.domain.job import BUDGET_DAILY, BUDGET_INPUT, BUDGET_JOB, OVER_BUDGET
from mex_pipeline.store.sql import Query, Statement, value

USER = "user"
FOR_A_PERSON = ("llm_auth", "llm_quota", "llm_unknown_model", BUDGET_JOB, BUDGET_INPUT, USER)
"""Reasons of pauses that last until somebody does something; every other pause ends by itself."""
BUDGETS = tuple(sorted(OVER_BUDGET))
IN_FORCE = "(paused_until > :now OR (paused_until IS NULL AND scope <> 'worker:stop'))"
"""NULL is a pause until it is resumed; the row of a request to stop pauses nothing."""
_TOO_LONG = f"paused_until > :latest + (reason = '{BUDGET_DAILY}') * 86400000 AND reason <> '{USER}'"
"""A pause of the program that a clock which was set back has stretched; one for the day's budget may last a day longer."""
_WITHIN = "(scope = :scope OR scope GLOB :below)"


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


def pause(scope: str, until: int | None, reason: str, now: int) -> Statement:
    """Pause a scope (`*`, `llm`) until a moment, or (None) until it is resumed; what was said before no longer counts."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:scope, :until, :reason, :now) "
        "ON CONFLICT (scope) DO UPDATE SET paused_until = :until, reason = :reason, at = :now",
        {"scope": scope, "until": until, "reason": reason, "now": now},
    )


def pause_at_least(scope: str, until: int, reason: str, now: int) -> Statement:
    """Pause a scope for a fault that was met; a pause that lasts longer already stays as it is."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:scope, :until, :reason, :now) "
        "ON CONFLICT (scope) DO UPDATE SET paused_until = :until, reason = :reason, at = :now "
        "WHERE paused_until < :until",
        {"scope": scope, "until": until, "reason": reason, "now": now},
    )


def clamp_pauses(now: int, latest: int) -> Statement:
    """Keep a clock that was set back from stretching the program's pauses; a person's is as long as they said."""
    return Statement(f"UPDATE queue_control SET paused_until = :now WHERE {_TOO_LONG}", {"now": now, "latest": latest})


def lift(scope: str, now: int) -> Statement:
    """Lift the pauses in force of a scope and, of `llm`, of every endpoint; the rows changed are how many there were."""
    return Statement(
        f"DELETE FROM queue_control WHERE {_WITHIN} AND {IN_FORCE}", {"scope": scope, "below": f"{scope}:*", "now": now}
    )


def resume(scope: str) -> Statement:
    """Forget everything about a scope and, of `llm`, about every endpoint."""
    return Statement(f"DELETE FROM queue_control WHERE {_WITHIN}", {"scope": scope, "below": f"{scope}:*"})


def forget_faults() -> Statement:
    """Forget pauses and failures of every endpoint and of the disk; what a person or a budget has paused stays."""
    return Statement(
        f"DELETE FROM queue_control WHERE (scope GLOB 'llm:*' OR scope = '*') AND reason NOT IN {(*BUDGETS, USER)}"
    )


def paused(now: int) -> Query[dict[str, Any]]:
    """The scopes that are paused at `now`; `paused_until` is None for one that a person has to resume."""
    return Query(
        f"SELECT scope, paused_until, reason FROM queue_control WHERE {IN_FORCE} ORDER BY scope", {"now": now}, dict
    )


def overdue(latest: int) -> Query[int]:
    """1 when some pause of the program lasts beyond `latest`."""
    return Query(
        f"SELECT 1 AS n FROM queue_control WHERE {_TOO_LONG} LIMIT 1",
        {"latest": latest},
        value("n"),
    )


def control(scope: str) -> Query[dict[str, Any]]:
    """What is known of a scope: `{paused_until, reason, at, failures}`."""
    return Query(
        "SELECT coalesce(paused_until, 0) AS paused_until, reason, at, failures FROM queue_control WHERE scope = :scope",
        {"scope": scope},
        dict,
    )


def count_failure(scope: str, now: int) -> Statement:
    """Count one more failure of an endpoint in a row; by itself this pauses nothing."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at, failures) VALUES (:scope, 0, 'circuit', :now, 1) "
        "ON CONFLICT (scope) DO UPDATE SET failures = failures + 1",
        {"scope": scope, "now": now},
    )


def answered(scope: str) -> Statement:
    """Note that an endpoint has answered: its failures count from 0, and a pause for them is over."""
    return Statement(
        "UPDATE queue_control SET failures = 0, "
        "paused_until = CASE WHEN reason IN ('circuit', 'offline') THEN 0 ELSE paused_until END "
        "WHERE scope = :scope AND (failures > 0 OR (reason IN ('circuit', 'offline') AND paused_until > 0))",
        {"scope": scope},
    )


STOP = "worker:stop"


def ask_stop(now: int, newer: str | None = None) -> Statement:
    """Ask every worker that runs now to finish and leave, or only those of a version older than `newer`.

    They see that the mark has changed, whatever the clock says.
    """
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:scope, NULL, :newer, :now) "
        "ON CONFLICT (scope) DO UPDATE SET at = max(at + 1, :now), reason = :newer",
        {"scope": STOP, "now": now, "newer": newer},
    )


def stop_request() -> Query[tuple[int, str | None]]:
    """A number that changes with every request to stop, and the version whose older workers the last one asked."""
    return Query(
        "SELECT at, reason FROM queue_control WHERE scope = :scope",
        {"scope": STOP},
        lambda row: (row["at"], row["reason"]),
    )
