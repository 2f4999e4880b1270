"""`mex audit --fix`: the one thing that is done about the suspects of a kind, in one transaction (product P7, F5)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.audit import REMEDIES, Kind, Remedy, Suspect, in_review
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Actor, Event, Memory
from mex_pipeline.domain.proposal import merge
from mex_pipeline.domain.rules import is_guarded
from mex_pipeline.errors import UserError
from mex_pipeline.services import audit_secrets
from mex_pipeline.services.audit import examine, suspect_plain
from mex_pipeline.store import audit, changes, history, memories, proposals
from mex_pipeline.store.database import Database

Left = tuple[Suspect, str]
"""A suspect that stays as it is, and why: `confirmed`, `doubt`, `changed`."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was done about a kind, or would be: `done` are the suspects, `left` those that stay as they are.

    `is_clean` is False when the bytes of a replaced secret may still stand in a page that another process holds.
    """

    kind: Kind
    done: tuple[Suspect, ...]
    left: tuple[Left, ...]
    is_clean: bool = True

    @property
    def remedy(self) -> Remedy:
        """What is done about the kind."""
        return REMEDIES[self.kind]

    @property
    def ids(self) -> list[str]:
        """The ids of the memories that were changed, or of which a person is asked."""
        return list(dict.fromkeys(one.memory.id for one in self.done if one.memory))

    @property
    def undo(self) -> str | None:
        """The command that takes it back; what is in review is taken back there, a replaced secret not at all."""
        return f"mex restore {' '.join(self.ids)}" if self.remedy is Remedy.FORGET and self.ids else None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{kind, remedy, done, left, undo, clean}`."""
        return {
            "kind": self.kind,
            "remedy": self.remedy,
            "done": [suspect_plain(one) for one in self.done],
            "left": [suspect_plain(one) | {"why": why} for one, why in self.left],
            "undo": self.undo,
            "clean": self.is_clean,
        }


def planned(
    app: App, kind: Kind, *, topic: str | None = None, limit: int | None = None, actor: Actor = Actor.USER
) -> Fixed:
    """Return what would be done about the suspects of a kind, the first `limit` of them; nothing is written.

    A memory that a person confirmed, or a doubt about one, stays as it is, except that a secret is replaced there too.
    Raises UserError("agent_cannot_fix") unless a person acts (product P7), and as `examine`.
    """
    if actor is not Actor.USER:
        raise UserError("agent_cannot_fix")
    meant, left = _sorted_out(kind, examine(app, [kind], topic=topic).found[kind][:limit])
    return Fixed(kind, tuple(meant), tuple(left))


def act(app: App, meant: Fixed) -> Fixed:
    """Do what was planned, in one transaction, and return what was done: nothing is confirmed or deleted.

    A memory that has changed since it was looked at is left.
    """
    now = iso(app.clock.now())
    is_redacting = meant.remedy is Remedy.REDACT
    if is_redacting:
        app.db.script("PRAGMA secure_delete = ON;")
    with app.db.transaction() as tx:
        ids = [one.memory.id for one in meant.done if one.memory]
        standing = {memory.id: memory for memory in tx.all(memories.by_ids(ids))}
        fresh = [one for one in meant.done if one.memory is None or standing.get(one.memory.id) == one.memory]
        _ACTIONS[meant.remedy](tx, fresh, now)
    gone = [(one, "changed") for one in meant.done if one not in fresh]
    is_clean = audit_secrets.settle(app) if is_redacting else True
    return Fixed(meant.kind, tuple(fresh), (*meant.left, *gone), is_clean)


def _sorted_out(kind: Kind, found: Iterable[Suspect]) -> tuple[list[Suspect], list[Left]]:
    """What may be acted on, and what a person has decided, or must: nobody puts that away in passing (product C6)."""
    meant: list[Suspect] = []
    left: list[Left] = []
    for one in found:
        is_safe = REMEDIES[kind] in (Remedy.REDACT, Remedy.MERGE) or one.memory is None or not is_guarded(one.memory)
        if is_safe:
            meant.append(one)
        else:
            left.append((one, "doubt" if one.memory and one.memory.is_ai_inferred else "confirmed"))
    return meant, left


def _review(tx: Database, meant: Sequence[Suspect], now: str) -> None:
    _rewrite(tx, Event.UPDATE, [(one.memory, in_review(one.memory)) for one in meant if one.memory], now)


def _forget(tx: Database, meant: Sequence[Suspect], now: str) -> None:
    gone = [
        (one.memory, one.memory._replace(forgotten_at=now, forgotten_reason=f"audit: {one.kind}"))
        for one in meant
        if one.memory
    ]
    _rewrite(tx, Event.FORGET, gone, now)


def _rewrite(tx: Database, event: Event, changed: Sequence[tuple[Memory, Memory]], now: str) -> None:
    pairs = [(before, after._replace(updated_at=now)) for before, after in changed]
    lines = [changes.entry(event, before, after, actor=Actor.USER, now=now) for before, after in pairs]
    tx.run(*(memories.replace_row(after) for _, after in pairs), *(history.append(line) for line in lines))


def _redact(tx: Database, meant: Sequence[Suspect], now: str) -> None:
    keys = {(one.facts["agent"], one.facts["session"], one.facts["key"]) for one in meant if one.memory is None}
    turns = [
        turn
        for turn in tx.all(audit.turns_of({(agent, session) for agent, session, _ in keys}))
        if (turn.agent, turn.session, turn.key) in keys
    ]
    audit_secrets.replace_all(tx, [one.memory for one in meant if one.memory], turns, now)


def _merge(tx: Database, meant: Sequence[Suspect], now: str) -> None:
    asked = [merge(one.other.id, one.memory.id, now=now, new_id=new_id) for one in meant if one.memory and one.other]
    tx.run(*(proposals.insert(one) for one in asked))


_ACTIONS: dict[Remedy, Callable[[Database, Sequence[Suspect], str], None]] = {
    Remedy.REVIEW: _review,
    Remedy.FORGET: _forget,
    Remedy.REDACT: _redact,
    Remedy.MERGE: _merge,
}
