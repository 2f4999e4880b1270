"""What the user reads: codes become words here, in the active language (product A4)."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from mex_pipeline.domain.wording import Language
    from mex_pipeline.errors import MexError

_active: Language = "en"


def choose(*wishes: str | None) -> Language:
    """Return the first wish that is a language meX speaks, else the locale's, else English."""
    for wish in wishes:
        if wish in ("zh", "en"):
            return "zh" if wish == "zh" else "en"
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if (named or _of_the_system()).lower().startswith(("zh", "chinese")) else "en"


def _of_the_system() -> str:
    """What macOS and Windows say when no variable does; the module costs 2 ms, which few pay."""
    return import_module("locale").getlocale()[0] or ""


def activate(language: Language) -> None:
    """Make `language` the one that `text` and `render` speak."""
    global _active  # noqa: PLW0603 - one process speaks one language
    _active = language


def active() -> Language:
    """Return the language in use."""
    return _active


def text(name: str, /, **params: object) -> str:
    """Return the message of an id with its parameters filled in."""
    return _texts(_file_of(name), _active)[name].format(**params)


def knows(name: str) -> bool:
    """True when the active language has a message of this id."""
    return name in _texts(_file_of(name), _active)


@cache
def _texts(file: str, language: Language) -> dict[str, str]:
    """The texts of one file; only what a command says is loaded."""
    return cast("dict[str, str]", import_module(f"{__name__}.{file}{language}").TEXTS)


_JOBS = frozenset((
    "state", "outcome", "skipped", "reason", "stage", "happened", "standing", "missed", "verify", "log", "stats", "conflict",
))  # fmt: skip
_TURNS = frozenset(("source", "turns"))
_AUDIT = frozenset(("audit", "audit_kind", "audit_reason", "audit_remedy", "audit_left"))
_ERRORS = {
    "llm_": "errors_llm_",
    "review_": "review_",
    "undo_": "undo_",
    "compact_": "compact_",
    "audit_": "audit_",
    "budget_": "budget_",
    "backfill_": "budget_",
    "semantic_": "semantic_",
    "explain_": "explain_",
    "turns_": "turns_",
}
"""Where the errors stand whose codes begin so."""
_FILES = (
    "", "jobs_", "turns_", "audit_", "review_", "undo_", "compact_", "budget_", "semantic_", "explain_", "errors_", "errors_llm_",
    "help_",
)  # fmt: skip


def _file_of(name: str) -> str:
    family, _, rest = name.partition(".")
    if family in ("error", "hint"):
        return next((file for start, file in _ERRORS.items() if rest.startswith(start)), "errors_")
    if family in _TURNS:
        return "turns_"
    if family in _AUDIT:
        return "audit_"
    if family in ("review", "undo", "budget", "compact", "semantic", "explain"):
        return f"{family}_"
    if family == "discard" and rest.startswith("summary_"):
        return "compact_"
    return "help_" if family == "help" else "jobs_" if family in _JOBS else ""


def catalogue(language: Language) -> dict[str, str]:
    """Return every message of a language by its id."""
    return {name: text for file in _FILES for name, text in _texts(file, language).items()}


def render(error: MexError) -> tuple[str, str]:
    """Return (what happened, what to do) for an error."""
    return render_code(error.code, error.params)


def render_code(code: str, params: dict[str, object]) -> tuple[str, str]:
    """Return (what happened, what to do) for an error's code and facts; an unknown code is shown as it is.

    A job that failed elsewhere, or under a newer meX, may carry facts this catalogue does not know.
    """
    known = _texts(_file_of(f"error.{code}"), _active)
    template = known.get(f"error.{code}")
    if template is None:
        return f"{code} {params or ''}".strip(), ""
    facts = _Facts({key: _plain(key, value) for key, value in params.items()})
    return template.format_map(facts), known.get(f"hint.{code}", "").format_map(facts)


class _Facts(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def _plain(name: str, value: object) -> str:
    if name == "state" and knows(f"state.{value}"):
        return text(f"state.{value}")
    return ", ".join(f"'{item}'" for item in value) if isinstance(value, list | tuple) else str(value)
