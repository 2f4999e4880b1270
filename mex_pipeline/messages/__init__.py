"""What the user reads: codes become words here, in the active language (product A4)."""

import locale
import os

from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import MexError
from mex_pipeline.messages import en, errors_en, errors_zh, help_en, help_zh, zh

CATALOGUES: dict[str, dict[str, str]] = {
    "zh": zh.TEXTS | errors_zh.TEXTS | help_zh.TEXTS,
    "en": en.TEXTS | errors_en.TEXTS | help_en.TEXTS,
}

_active: Language = "en"


def choose(*wishes: str | None) -> Language:
    """Return the first wish that is a language meX speaks, else the locale's, else English."""
    for wish in wishes:
        if wish in ("zh", "en"):
            return "zh" if wish == "zh" else "en"
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if (named or locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"


def activate(language: Language) -> None:
    """Make `language` the one that `text` and `render` speak."""
    global _active  # noqa: PLW0603 - one process speaks one language
    _active = language


def active() -> Language:
    """Return the language in use."""
    return _active


def text(name: str, /, **params: object) -> str:
    """Return the message of an id with its parameters filled in."""
    return CATALOGUES[_active][name].format(**params)


def render(error: MexError) -> tuple[str, str]:
    """Return (what happened, what to do) for an error."""
    return render_code(error.code, error.params)


def render_code(code: str, params: dict[str, object]) -> tuple[str, str]:
    """Return (what happened, what to do) for an error's code and facts; an unknown code is shown as it is.

    A job that failed elsewhere, or under a newer meX, may carry facts this catalogue does not know.
    """
    catalogue = CATALOGUES[_active]
    template = catalogue.get(f"error.{code}")
    if template is None:
        return f"{code} {params or ''}".strip(), ""
    facts = _Facts({key: _plain(value) for key, value in params.items()})
    return template.format_map(facts), catalogue.get(f"hint.{code}", "").format_map(facts)


class _Facts(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def _plain(value: object) -> str:
    return ", ".join(f"'{item}'" for item in value) if isinstance(value, list | tuple) else str(value)
