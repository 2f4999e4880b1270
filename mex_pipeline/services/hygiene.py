"""What of a memory that somebody types is stored: nothing private, and no secret from an agent (product F2)."""

from collections import Counter

from mex_pipeline.adapters.cleaning import left_out, user_text
from mex_pipeline.app import App
from mex_pipeline.domain.memory import Actor
from mex_pipeline.errors import InvalidContent
from mex_pipeline.redaction.redact import kinds, redacted


def to_store(app: App, content: str, actor: Actor) -> str:
    """Return the content as it may be stored; a person's is what was typed but for private and injected blocks.

    Raises InvalidContent("content_private") when nothing is left.
    """
    if left_out(content):
        content = user_text(content)
        if not content:
            raise InvalidContent("content_private")
    is_agents = actor is Actor.AI and app.settings.privacy.redact_secrets
    return redacted(content) if is_agents else content


def is_partly_private(content: str) -> bool:
    """True when `to_store` leaves a block out."""
    return bool(left_out(content))


def secrets_in(content: str) -> tuple[str, ...]:
    """Return the kinds of the secrets in a content, as far as they are known at once: a person's `mex add` waits for it."""
    return _new_kinds(content, redacted(content, is_quick=True))


def replaced_in(typed: str, stored: str) -> tuple[str, ...]:
    """Return the kinds of the secrets that were replaced before a typed content was stored."""
    return _new_kinds(typed, stored)


def _new_kinds(before: str, after: str) -> tuple[str, ...]:
    return tuple(Counter(kinds([after])) - Counter(kinds([before])))
