"""Faults that tests ask for in real processes: die at a named step, shorter spans, another clock (docs/testing.md).

Nothing here acts unless the variables named `MEX_TEST_*` are set; no setting, option or document for people names them.
"""

import os
from pathlib import Path

_KILL = os.environ.get("MEX_TEST_KILL_AT", "")
_CLOCK = os.environ.get("MEX_TEST_CLOCK", "")


def point(name: str) -> None:
    """Die as by `kill -9` when MEX_TEST_KILL_AT names this step."""
    if name != _KILL:
        return
    import signal  # noqa: PLC0415 - nobody but a test pays for it

    os.kill(os.getpid(), signal.SIGKILL)


def seconds(variable: str, default: float) -> float:
    """Return a span in seconds, another one when a test asks for it."""
    return float(os.environ.get(variable) or default)


def number(variable: str, default: int) -> int:
    """Return a limit, another one when a test asks for it."""
    return int(os.environ.get(variable) or default)


def clock_offset() -> float:
    """Return by how many seconds the wall clock is off: what the file named by MEX_TEST_CLOCK says."""
    if not _CLOCK:
        return 0.0
    try:
        return float(Path(_CLOCK).read_text(encoding="ascii") or 0)
    except (OSError, ValueError):
        return 0.0
