"""One command, from its words to its exit code: the language, the command, the errors (seed 004 §5.2, product G8)."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mex_pipeline import messages, settings
from mex_pipeline.cli import output
from mex_pipeline.errors import ExternalError, MexError, UserError
from mex_pipeline.paths import Home

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from mex_pipeline.domain.wording import Language

_INTERRUPTED = 130
"""What Typer returns when Ctrl-C ended a command."""


def carry_out(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    os.umask(0o077)
    _open_streams()
    wish = _wished(arguments)
    messages.activate(_language(wish))
    output.begin(as_json="--json" in arguments)
    if wish not in (None, "zh", "en"):
        return output.fail(UserError("unknown_language", value=wish))
    try:
        code = _command(arguments)
        output.end()
        sys.stdout.flush()
    except MexError as error:
        return output.fail(error)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader has seen enough (`mex list | head`): Typer leaves, or our own flush meets the closed pipe.
        _silence(sys.stdout)
        return 0
    except OSError as error:
        _silence(sys.stdout)
        detail = error.strerror or type(error).__name__
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return output.fail(ExternalError("system_refused", detail=detail + where))
    except Exception as error:  # a fault of ours, or a row that another program wrote: no traceback
        if os.environ.get("MEX_DEBUG"):
            raise
        return output.fail(ExternalError("internal", kind=type(error).__name__))
    if code == _INTERRUPTED:
        return output.fail(UserError("interrupted"))
    return code if isinstance(code, int) else 0


def _command(arguments: Sequence[str]) -> object:
    """Carry out the command and return what Typer returns: an exit code, or nothing."""
    if "extract" in arguments[:1] and "--async" in arguments:
        from mex_pipeline.cli import enqueue  # noqa: PLC0415 - what follows costs twice as much and is not needed

        if enqueue.carried_out(arguments):
            return 0
    else:
        from mex_pipeline.cli import quick  # noqa: PLC0415 - a request for a job does not need it

        if quick.carried_out(arguments):
            return 0
    # Help texts are made when the commands are imported, so the language has to be known before.
    from mex_pipeline.cli.app import call  # noqa: PLC0415

    return call(arguments)


def _open_streams() -> None:
    """Speak UTF-8 whatever the locale; a stream that was closed by the caller becomes an empty or silent one."""
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Keep the interpreter from flushing into what refuses the bytes once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _wished(arguments: Sequence[str]) -> str | None:
    """What `--lang` says, which has to be known before the parser is built."""
    wish = next((arguments[index + 1] for index, one in enumerate(arguments[:-1]) if one == "--lang"), None)
    return wish or next((one.removeprefix("--lang=") for one in arguments if one.startswith("--lang=")), None)


def _language(wish: str | None) -> Language:
    """`--lang` > `MEX_LANG` > `config.language` > locale (product A4)."""
    said = os.environ.get("MEX_LANG")
    configured: object = None
    if not {wish, said} & {"zh", "en"}:
        with suppress(MexError, OSError):  # the command that opens the home says what is wrong
            configured = settings.language_of(Home.from_environment().config)
    return messages.choose(wish, said, configured if isinstance(configured, str) else None)
