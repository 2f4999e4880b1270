"""What is paused: everything, all work with a model, or one endpoint (docs/jobs.md)."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mex_pipeline import settings
from mex_pipeline.app import OpenHome
from mex_pipeline.clock import millis
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.settings import LLMSettings
from mex_pipeline.store import jobs, workers
from mex_pipeline.store.sql import Statement

EVERYTHING, MODEL = "*", "llm"
"""The scopes a person may pause; the program itself pauses one endpoint, `llm:<profile>`, or everything."""

LONGEST_SECONDS = 365 * 86400


@dataclass(frozen=True, slots=True)
class Pause:
    """One pause in force. `until` is in milliseconds, None until a person lifts it.

    `reason` is `user`, or why the program paused: `llm_auth`, `llm_quota`, `llm_unknown_model`, `rate_limit`, `offline`,
    `circuit`, `disk_full`.
    """

    scope: str
    until: int | None
    reason: str
    by_person: bool

    @property
    def needs_person(self) -> bool:
        """True for a pause that is there until somebody does something, false for one that ends by itself."""
        return self.reason in workers.FOR_A_PERSON


def current(app: OpenHome) -> list[Pause]:
    """Return what holds jobs of the configured endpoint now: everything, all model work, or that endpoint alone."""
    rows = app.db.all(workers.paused(millis(app.clock.now())))
    here = (EVERYTHING, MODEL, endpoint_scope(app.settings.llm)) if rows else ()
    return [
        Pause(row["scope"], row["paused_until"], row["reason"] or "", row["reason"] == workers.USER)
        for row in rows
        if row["scope"] in here
    ]


def pause(app: OpenHome, scope: str, seconds: float | None) -> None:
    """Pause everything (`*`) or all work with a model (`llm`) for a while, or until it is resumed.

    Raises InvalidInput (`pause_out_of_range`: least, most) for no time at all, which would lift a pause instead, and for
    more than a year.
    """
    if seconds is not None and not 1 <= seconds <= LONGEST_SECONDS:
        raise InvalidInput("pause_out_of_range", least="1s", most="365d")
    now = millis(app.clock.now())
    until = None if seconds is None else now + int(1000 * seconds)
    with app.db.transaction() as tx:
        tx.run(workers.pause(scope, until, workers.USER, now))


def resume(app: OpenHome, scope: str | None = None) -> int:
    """Lift the pauses of a scope, a person's and the program's, and wake what they held; returns how many there were.

    `llm` takes the pauses of single endpoints with it, None every pause.
    """
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        scopes = (EVERYTHING, MODEL) if scope is None else (scope,)
        lifted = sum(tx.run(workers.lift(one, now)) for one in scopes)
        tx.run(*(workers.resume(one) for one in scopes), *_woken(now))
    return lifted


def go_again(now: int) -> list[Statement]:
    """Return what lets everything be tried again at once: the program's pauses go, a person's stay."""
    return [workers.forget_faults(), *_woken(now)]


def _woken(now: int) -> list[Statement]:
    """A wake-up that came to nothing while its job was held is sent again."""
    return [jobs.wake_held(now), jobs.forget_published()]


def endpoint_scope(llm: LLMSettings) -> str:
    """Return the scope of the configured endpoint: another address, model or key is another scope, not paused."""
    return f"{MODEL}:{llm.profile(os.environ)}"


class Configured:
    """The scope of the endpoint that config.yaml names now, read again only when the file has changed.

    So a pause for a wrong key ends with the key, however the file was edited.
    """

    def __init__(self, config: Path) -> None:
        self._config = config
        self._seen: tuple[int, int] | None = None
        self._scope = ""

    def scope(self) -> str:
        """Return the scope; the last readable one while the file cannot be read."""
        try:
            stat = self._config.stat()
            looked = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            looked = (0, 0)
        if looked != self._seen:
            self._seen = looked
            with suppress(MexError):  # the job itself says so
                self._scope = endpoint_scope(settings.load(self._config).llm)
        return self._scope
