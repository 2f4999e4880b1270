"""Who may run beside whom in this process: a job that has cost a process its life runs alone (docs/jobs.md)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mex_pipeline import faults
from mex_pipeline.clock import monotonic
from mex_pipeline.domain.job import Job

LOOK_SECONDS = 0.1
DOUBT_SECONDS = 1.0
"""How often a suspect that waits for its turn is looked at again: it may have been cancelled, or run elsewhere."""
BLOCKED_SECONDS = faults.seconds("MEX_TEST_ZOMBIE", 300.0)
"""How long a thread may not come back from a run that is over."""


@dataclass(slots=True)
class _Slot:
    """What one thread does: which run, whether alone, and since when that run is over while the thread is not back."""

    alone: bool
    run: tuple[str, int] | None = None
    over_since: float | None = None


class Slots:
    """One slot for each thread with a job. A thread waits for its slot until it may run beside the others.

    Otherwise a job that kills its process would count as a crash for its neighbours too, three times. A suspect that waits
    holds up those that come after it, so it gets its turn however many jobs there are. A thread that does not come back
    from a run that is over, taken back because it was stuck, holds up nobody.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._slots: dict[int, _Slot] = {}
        self._suspects: list[int] = []
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, job: Job, still_waits: Callable[[], bool] = lambda: True) -> Iterator[bool]:
        """Hold a slot of this thread for a job that waits.

        Gives False when the process is to stop meanwhile, or a suspect does not wait any more: it holds up nobody then.
        """
        thread = threading.get_ident()
        admitted = self._enter_alone(thread, still_waits) if is_suspect(job) else self._enter(thread)
        try:
            yield admitted
        finally:
            with self._changed:
                self._slots.pop(thread, None)
                self._changed.notify_all()

    def _enter(self, thread: int) -> bool:
        while not self._stop.is_set():
            if self._try_enter(thread, alone=False):
                return True
        return False

    def _enter_alone(self, thread: int, still_waits: Callable[[], bool]) -> bool:
        with self._changed:
            self._suspects.append(thread)
        try:
            looked = monotonic()
            while not self._stop.is_set():
                if self._try_enter(thread, alone=True):
                    return True
                if monotonic() - looked >= DOUBT_SECONDS:
                    looked = monotonic()
                    if not still_waits():
                        return False
            return False
        finally:
            with self._changed:
                self._suspects.remove(thread)
                self._changed.notify_all()

    def _try_enter(self, thread: int, *, alone: bool) -> bool:
        """Take a slot, or wait a moment for a change."""
        with self._changed:
            if self._may_enter(thread):
                self._slots[thread] = _Slot(alone)
                return True
            self._changed.wait(LOOK_SECONDS)
            return False

    def _may_enter(self, thread: int) -> bool:
        busy = [slot for slot in self._slots.values() if slot.over_since is None]
        if self._suspects:
            return self._suspects[0] == thread and not busy
        return not any(slot.alone for slot in busy)

    def begin(self, job: Job) -> None:
        """Note that this thread works on a claim of the job; without a slot, as in the foreground, nothing is noted."""
        slot = self._slots.get(threading.get_ident())
        if slot is not None:
            slot.run = (job.id, job.fence)

    def end(self, job: Job) -> None:
        """Note that a run is over, whether its thread knows it or not."""
        with self._changed:
            for slot in self._slots.values():
                if slot.run == (job.id, job.fence) and slot.over_since is None:
                    slot.over_since = monotonic()
            self._changed.notify_all()

    def is_held(self) -> bool:
        """True in a thread that has a slot, false at a terminal."""
        return threading.get_ident() in self._slots

    def is_alone(self) -> bool:
        """True when this thread runs alone here, as a suspect must; also where there are no slots: in the foreground."""
        slot = self._slots.get(threading.get_ident())
        return slot is None or slot.alone

    def is_blocked(self) -> bool:
        """True when some thread has not come back for long from a run that is over: only a new process helps."""
        moment = monotonic()
        over = [slot.over_since for slot in list(self._slots.values()) if slot.over_since is not None]
        return any(moment - since > BLOCKED_SECONDS for since in over)


def is_suspect(job: Job) -> bool:
    """True for a job whose process died or fell silent while it ran."""
    return job.crashes > 0
