"""Options that several commands share."""

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.cli import opened, output
from mex_pipeline.domain.memory import Actor

t = messages.text
session = opened.session


def _json(value: bool) -> bool:
    if value:
        output.begin(as_json=True)
    return value


# Before the command and after it (product G7); --lang has been read before the commands were imported.
JsonOption = Annotated[bool, typer.Option("--json", help=t("help.json"), callback=_json)]
LangOption = Annotated[str | None, typer.Option("--lang", help=t("help.lang"), metavar="zh|en")]
TopicOption = Annotated[str | None, typer.Option("--topic", help=t("help.topic"))]
SubTopicOption = Annotated[str | None, typer.Option("--sub-topic", help=t("help.sub_topic"))]
ProjectOption = Annotated[str | None, typer.Option("--project", help=t("help.project"))]
ForgottenOption = Annotated[bool, typer.Option("--include-forgotten", help=t("help.include_forgotten"))]
AsOfOption = Annotated[str | None, typer.Option("--as-of", help=t("help.as_of"))]
KnownAtOption = Annotated[str | None, typer.Option("--known-at", help=t("help.known_at"))]

_AGENTS = ("CLAUDECODE", "OPENCODE", "GEMINI_CLI")


class By(StrEnum):
    """Who writes (product F4)."""

    user = "user"
    ai = "ai"


ByOption = Annotated[By | None, typer.Option("--by", help=t("help.by"))]


def writer(by: By | None) -> Actor:
    """Return who writes: an agent that runs `mex` has its variable set and no terminal on stdin (product F4)."""
    if by is not None:
        return Actor(by)
    agent = any(os.environ.get(name) for name in _AGENTS) or any(name.startswith("CODEX_") for name in os.environ)
    return Actor.AI if agent and not sys.stdin.isatty() else Actor.USER
