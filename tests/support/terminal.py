"""`mex` at a real pseudo terminal: what a person reads, and what a person types."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect

ENTER, UP, DOWN, CTRL_C = "\r", "\x1b[A", "\x1b[B", "\x03"


class Terminal:
    """One run of `mex`, 200 columns wide; PATH holds the system's programs only, so that no agent is found by chance."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        keys = {name for name in os.environ if name.endswith("_API_KEY")}
        base = {name: value for name, value in os.environ.items() if name not in keys}
        self._shown: list[str] = []
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "mex_pipeline", *arguments],
            env=base | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "PATH": str(folder / "bin")} | environment,
            encoding="utf-8",
            dimensions=(60, 200),
            timeout=30,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.close(force=True)

    @property
    def seen(self) -> str:
        """Everything that was shown so far."""
        return "".join(self._shown)

    def wait_for(self, text: str) -> None:
        """Return when `text` has been shown; fails when it is not in time."""
        self._child.expect_exact(text)
        self._shown += [str(self._child.before), str(self._child.after)]

    def answer(self, question: str, keys: str) -> None:
        """Wait for a question and type."""
        self.wait_for(question)
        self._child.send(keys)

    def end(self) -> int:
        """Wait for the program to end and return its exit code."""
        self._child.expect(pexpect.EOF)
        self._shown.append(str(self._child.before))
        self._child.close()
        return int(self._child.exitstatus)
