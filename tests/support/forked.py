"""Programs of ours in processes of their own, forked from one that has loaded what they import.

`python -m tests.support.forked FD` is that one: what comes in through the socket FD names a program, and is answered with
the id of its process and, when that has ended, with how. A worker that asks a model takes a second to load; this way it is
there at once, and lives, is signalled and dies as it would otherwise. What is read while a program loads does not reach a
forked one: shorter spans and limits (`MEX_TEST_*`), the locale, the options of Python, the language of the help. A program
with any of these has to be started (`is_plain`).
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, NoReturn

from mex_pipeline import cli, faults, messages
from mex_pipeline.domain.wording import Language

MEX, WORKER, MODEL = "mex_pipeline.cli.main", "mex_workers.__main__", "tests.support.model_server"
"""The modules that can be forked: each with a `main` that reads `sys.argv`."""
_LOADED = (MEX, WORKER, MODEL, "mex_pipeline.llm.client", "mex_pipeline.redaction.redact")
LANGUAGE: Language = "en"
"""What forked commands speak: they make their help when they are imported."""
_READ_WHILE_LOADING = ("MEX_TEST_", "PYTHON", "LC_", "LANG")
_READ_AGAIN = ("MEX_TEST_KILL_AT", "MEX_TEST_CLOCK")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""What the process that forks is started with, whichever test is the first to need it."""


def is_plain(environment: Mapping[str, str]) -> bool:
    """True when nothing in the environment needs a program that loads under it."""
    return _early(environment) == _early(_ENVIRONMENT) and environment.get("MEX_LANG") == LANGUAGE


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_WHILE_LOADING) and name not in _READ_AGAIN
    }


class Forked:
    """A forked process, in the words of `subprocess.Popen`."""

    def __init__(
        self, program: str, arguments: Sequence[str], environment: Mapping[str, str], out: BinaryIO, err: BinaryIO
    ) -> None:
        """Run `main` of a module with these arguments, environment and streams, and nothing to read."""
        self.returncode: int | None = None
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {
            "program": program,
            "arguments": list(arguments),
            "environment": dict(environment),
            "cwd": str(Path.cwd()),
        }
        with theirs:
            fds = [theirs.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(_forger(), [json.dumps(request).encode()], fds)
        self.pid = int(self._told.recv(32))

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, minus the signal that ended it; raises TimeoutExpired."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(32))
            except (BlockingIOError, TimeoutError) as error:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from error
            self._told.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code when there is one."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send a signal to the process unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


@cache
def _forger() -> socket.socket:
    """The socket to the process that forks, which ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            env=_ENVIRONMENT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def main() -> None:
    """Fork what is asked for until the socket is closed."""
    messages.activate(LANGUAGE)
    commands = (f"{cli.__name__}.{module.name}" for module in pkgutil.iter_modules(cli.__path__))
    for name in (*_LOADED, *commands):
        importlib.import_module(name)
    gc.freeze()
    channel = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, fds, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            return
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
        _bury()
    channel.close()
    _watch(*fds)
    _become(json.loads(message), *fds)


def _bury() -> None:
    """Take leave of those who have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _watch(told: int, out: int, err: int) -> None:
    """Fork once more and return in the child; the parent stays to tell its id and how it ended."""
    child = os.fork()
    if child == 0:
        os.close(told)
        return
    os.close(out)
    os.close(err)
    os.write(told, str(child).encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.write(told, str(code).encode())
    finally:
        os._exit(0)


def _become(request: dict[str, object], _: int, out: int, err: int) -> None:
    """Be the program: its streams, folder and environment are what a process that starts would find."""
    for given, stream in ((out, 1), (err, 2)):
        os.dup2(given, stream)
        os.close(given)
    program = importlib.import_module(str(request["program"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["cwd"]))
    importlib.reload(faults)
    time.tzset()
    random.seed()
    sys.argv = [str(program.__file__), *request["arguments"]]  # type: ignore[misc]
    try:
        program.main()
    except SystemExit as left:
        if isinstance(left.code, int):
            _leave(left.code)
        raise


def _leave(code: int) -> NoReturn:
    """End as the interpreter does, but for taking a thousand modules apart, which takes longer than a short command."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
