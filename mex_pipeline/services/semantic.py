"""`mex embed` as a request: the vectors that search by meaning lacks (product F6; docs/semantic.md)."""

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.embedder import model_name
from mex_pipeline.services.jobs import EMBED, Request
from mex_pipeline.store import embeddings


def request(app: App) -> Request:
    """Return the request for the vectors that are missing; raises InvalidInput("semantic_off")."""
    if not app.settings.semantic.enabled:
        raise InvalidInput("semantic_off")
    return Request(EMBED, {}, EMBED)


def forget_unlike(app: App, size: int) -> None:
    """Drop one vector that has not `size` components, as those of the model have now, if there is one.

    The job makes it anew, and lets the others go when it sees that the model's vectors have changed: what a single question
    was answered with is no reason to pay for all of them.
    """
    with app.db.transaction() as tx:
        now = iso(app.clock.now())
        tx.run(embeddings.drop_newest_unlike(model_name(app.settings.semantic), size, now))
