"""Writing by hand what was never to be known again: a person takes that back by it, an agent may not (product B6, F4)."""

from mex_pipeline.app import App
from mex_pipeline.domain.memory import Actor, Memory
from mex_pipeline.domain.refusal import RefusalKind, met, place
from mex_pipeline.errors import UserError
from mex_pipeline.store import refusals
from mex_pipeline.store.database import Database


def standing(app: App) -> dict[str, int]:
    """Return how many values of each place are never to be known again; a record without a topic is at ""."""
    return dict(app.db.all(refusals.by_slot(RefusalKind.NEVER_AGAIN)))


def admit(tx: Database, memory: Memory, actor: Actor) -> None:
    """Lift what refuses a memory that is about to be written, inside its transaction.

    Raises UserError("never_again") when an agent writes it.
    """
    banned = tx.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN))
    found = met(banned, place(memory.topic, memory.sub_topic), memory.content)
    if found and actor is Actor.AI:
        raise UserError("never_again")
    if found:
        tx.run(refusals.lift(found))
