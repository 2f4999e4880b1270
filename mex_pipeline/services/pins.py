"""Pinning: what a person wants first, in the profile and among the hits of a search."""

from collections.abc import Sequence

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.memory import Actor, Event, Memory
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services.lookup import find
from mex_pipeline.store import changes, history, memories


def pin(app: App, identifiers: Sequence[str], *, is_pinned: bool, actor: Actor = Actor.USER) -> list[Memory]:
    """Pin memories, or take their pins off, all or none; return them as they are now.

    One that is so already stays as it is, and `updated_at` does: nothing that a memory says was changed or checked by it.
    What a person wants first is not for an agent to say (product P7, F4): raises UserError("agent_cannot_pin") for one.
    Raises NotFound, InvalidInput("memory_forgotten").
    """
    if actor is Actor.AI:
        raise UserError("agent_cannot_pin")
    now = iso(app.clock.now())
    with app.db.transaction() as tx:
        found = {memory.id: memory for memory in (find(app, one) for one in identifiers)}
        gone = next((one for one in found.values() if one.forgotten_at is not None), None)
        if gone is not None:
            raise InvalidInput("memory_forgotten", id=gone.id)
        for before in found.values():
            if before.is_pinned is is_pinned:
                continue
            after = found[before.id] = before._replace(is_pinned=is_pinned)
            line = changes.entry(Event.UPDATE, before, after, actor=actor, now=now)
            tx.run(memories.replace_row(after), history.append(line))
    return list(found.values())
