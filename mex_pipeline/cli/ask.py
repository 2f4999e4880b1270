"""Questions to a person at a terminal: the one door to questionary, opened only when something is asked."""

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_SEARCHED = 12
"""A list longer than this is narrowed by typing."""


def is_possible() -> bool:
    """True when a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def choose(message: str, choices: Sequence[tuple[str, T]], default: int = 0) -> T:
    """Return the value of the (title, value) pair a person chooses; `default` is the one the cursor begins on."""
    library = _library()
    options = [library.Choice(title, value=number) for number, (title, _) in enumerate(choices)]
    is_long = len(options) > _SEARCHED
    question = library.select(
        message, options, default=options[default], instruction=" ", use_search_filter=is_long, use_jk_keys=False
    )
    question.application.key_bindings.add("c-d", eager=True)(_leave)  # a list has no end of input of its own
    picked: int = _answered(question)
    return choices[picked][1]


def line(message: str, default: str = "") -> str:
    """Return one line a person types, without blanks around it; Enter alone gives `default`."""
    return str(_answered(_library().text(message, default=default))).strip()


def secret(message: str) -> str:
    """Return what a person types unseen."""
    return str(_answered(_library().password(message))).strip()


def confirm(message: str) -> bool:
    """Return a yes or no; Enter alone is yes."""
    return bool(_answered(_library().confirm(message, default=True)))


def _library() -> Any:
    import questionary  # noqa: PLC0415 - 200 ms that only a person who is asked pays

    return questionary


def _leave(event: Any) -> None:
    event.app.exit(exception=EOFError, style="class:aborting")


def _answered(question: Any) -> Any:
    try:
        return question.unsafe_ask()
    except EOFError as end:  # Ctrl-D leaves as Ctrl-C does
        raise KeyboardInterrupt from end
