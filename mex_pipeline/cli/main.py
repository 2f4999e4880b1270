"""The entry point: the language first, then the commands, then errors as exit codes (seed 004 §5.2, product G8)."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

from mex_pipeline import messages, settings
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import ExternalError, MexError, UserError
from mex_pipeline.paths import Home

_INTERRUPTED = 130
"""What Typer returns when Ctrl-C ended a command."""


def main() -> NoReturn:
    """Run `mex` with the arguments of the process and exit: 0, 1 (the user's error), 2 (the outside's)."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    os.umask(0o077)
    _open_streams()
    wish = _wished(arguments)
    messages.activate(_language(wish))
    # Help texts are made when the commands are imported, so the language has to be known before.
    from mex_pipeline.cli import output
    from mex_pipeline.cli.app import build
    from mex_pipeline.cli.usage import UsageError, refused

    output.begin(as_json="--json" in arguments)
    if wish not in (None, "zh", "en"):
        return output.fail(UserError("unknown_language", value=wish))
    try:
        code = build(arguments)(args=list(arguments), prog_name="mex", standalone_mode=False)
        output.end()
        sys.stdout.flush()
    except UsageError as error:
        return output.fail(refused(error, error.ctx))
    except MexError as error:
        return output.fail(error)
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
    try:
        configured = settings.load(Home.from_environment().config).language
    except (MexError, OSError):
        configured = None  # the command that opens the home says what is wrong
    return messages.choose(wish, os.environ.get("MEX_LANG"), configured)
