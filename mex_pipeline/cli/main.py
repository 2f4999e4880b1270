"""The entry point: the language first, then the commands, then errors as exit codes (seed 004 §5.2, product G8)."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from mex_pipeline import messages, settings
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import InvalidInput, MexError, UserError
from mex_pipeline.paths import Home


def main() -> NoReturn:
    """Run `mex` with the arguments of the process and exit: 0, 1 (the user's error), 2 (the outside's)."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    messages.activate(_language(arguments))
    # Help texts are made when the commands are imported, so the language has to be known before.
    from mex_pipeline.cli import output
    from mex_pipeline.cli.app import UsageError, build

    output.begin(as_json="--json" in arguments)
    try:
        code = build()(args=list(arguments), prog_name="mex", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        return output.fail(UserError("usage", detail=error.format_message()))
    except MexError as error:
        return output.fail(error)
    except BrokenPipeError:
        # The reader has seen enough (`mex list | head`); the interpreter must not flush into the closed pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return output.fail(UserError("interrupted"))
    return code if isinstance(code, int) else 0


def _language(arguments: Sequence[str]) -> Language:
    """`--lang` > `MEX_LANG` > `config.language` > locale (product A4)."""
    wish = next((arguments[index + 1] for index, one in enumerate(arguments[:-1]) if one == "--lang"), None)
    wish = wish or next((one.removeprefix("--lang=") for one in arguments if one.startswith("--lang=")), None)
    try:
        configured = settings.load(Home.from_environment().config).language
    except InvalidInput:
        configured = None  # the command that opens the home says what is wrong
    return messages.choose(wish, os.environ.get("MEX_LANG"), configured)
