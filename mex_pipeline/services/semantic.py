"""`mex embed` as a request: the vectors that search by meaning lacks (product F6; docs/semantic.md)."""

from mex_pipeline.app import App
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.jobs import EMBED, Request


def request(app: App) -> Request:
    """Return the request for the vectors that are missing; raises InvalidInput("semantic_off")."""
    if not app.settings.semantic.enabled:
        raise InvalidInput("semantic_off")
    return Request(EMBED, {}, EMBED)
