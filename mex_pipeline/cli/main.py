"""The entry point of the process `mex` (seed 004 §5.2, product G8)."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main() -> NoReturn:
    """Run `mex` with the arguments of the process and exit: 0, 1 (the user's error), 2 (the outside's)."""
    # To look for garbage among the modules while they load, and again at exit, takes a tenth of a short command.
    gc.disable()
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code (cli/dispatch.py)."""
    from mex_pipeline.cli.dispatch import carry_out

    return carry_out(arguments)
