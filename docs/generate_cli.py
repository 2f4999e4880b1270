"""Writes docs/cli.md from the commands themselves; `--check` only says whether it is stale (exit 1).

The help is in English: help texts are made when the commands are imported, before any language is activated.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mex_pipeline.cli.app import build

PAGE = Path(__file__).with_name("cli.md")
HEAD = """# Commands

Made from the commands by `docs/generate_cli.py`; do not edit. `mex COMMAND --help` says the same, with `--lang zh` in
Chinese. Every command takes `--lang zh|en`, and `--json` where it is listed, before the command or after it.

Exit codes: 0 done; 1 the request has to change; 2 the world outside failed, or a job did, or it waits for you. With
`--json` an error is one object on stderr: `{code, message, hint, retryable}`.
"""

_TYPES = {"str": "text", "int": "integer"}
"""What one version of Typer calls a type, as the others do."""


def page() -> str:
    """Return the whole page, one section for each command in the order of the help."""
    return HEAD + "".join(f"\n{_section(path, command)}" for path, command in commands("mex", build()))


def commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield (full name, command) of a command and of all below it; a group that only holds commands is left out."""
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield path, command
    for name, child in children.items():
        yield from commands(f"{path} {name}", child)


def _section(path: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "lang"]
    usage = " ".join([path, *(one.metavar for one in arguments), *(["[OPTIONS]"] if options else [])])
    rows = [(one.metavar.strip("[]"), one.help) for one in arguments]
    rows += [(_spelling(one), f"{one.help} Required." if one.required else one.help) for one in options]
    table = "".join(f"| `{left}` | {right} |\n" for left, right in rows)
    return f"## {path}\n\n{command.help}\n\n```text\n{usage}\n```\n" + (f"\n| | |\n|---|---|\n{table}" if table else "")


def _spelling(option: Any) -> str:
    """Return an option as it is typed: `--json`, `--limit INTEGER`, `--by user|ai`."""
    if option.is_flag:
        return str(option.opts[0])
    value = option.metavar or "|".join(str(one) for one in getattr(option.type, "choices", ()))
    return f"{option.opts[0]} {value or _TYPES.get(option.type.name, option.type.name).upper()}".replace("|", "\\|")


def main() -> int:
    """Write the page, or compare it; return the exit code."""
    if sys.argv[1:] == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        sys.stderr.write("" if is_current else "docs/cli.md is stale: run python docs/generate_cli.py\n")
        return 0 if is_current else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
