"""Restoring an export: what each memory of the file does to what is here (seed 004 §6.4, product G11, H13). Pure."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mex_pipeline.domain.exported import MEMORIES, read_memory
from mex_pipeline.domain.memory import Confidence, Event, Memory
from mex_pipeline.domain.policy import last_said
from mex_pipeline.domain.refusal import Refusal, place, refused
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.structured import normalise
from mex_pipeline.errors import InvalidContent, InvalidInput, InvalidSlot, UserError

PUT_ASIDE = "imported-over"
"""Why a memory is forgotten whose slot an imported one takes."""

_LONGEST_FACT = 200

_BOOKKEEPING = frozenset({"created_at", "updated_at", "times_seen", "last_seen_at", "is_pinned"})
"""Columns in which two states of a memory may differ and still say the same."""
_STATE = tuple(column for column in Memory._fields if column not in _BOOKKEEPING)


@dataclass(frozen=True, slots=True)
class Given:
    """A memory of the file that may be stored: `number` is its place there (from 1), `columns` what the file had of it."""

    number: int
    memory: Memory
    columns: frozenset[str]

    def over(self, known: Memory) -> Memory:
        """Return the memory that is here in the state the file gives it; what the file does not say stays.

        Its place is the file's always: for that place alone its content was checked and its rivals were read.
        """
        said = {name: getattr(self.memory, name) for name in self.columns - {"id"} | {"topic", "sub_topic"}}
        return known._replace(**said)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row of the file that is not taken over, and why.

    Reasons: `same_id_different_content`, `slot_conflict`, `slot_not_in_schema`, `forgotten_in_file` (it is active here),
    `purged_here` (it was forgotten for good), `declined_here` (a person declined it in review), `never_again` (it says what
    must not be learned again; of a history: it once did), `history_unlinked` (the memory came in, its history did not) and
    `invalid_entry`, whose `facts` hold the error's `code` beside its own.
    """

    number: int
    reason: str
    id: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    section: str = MEMORIES.name


@dataclass(frozen=True, slots=True)
class Write:
    """A row to write: new (`before` is None), in the file's state, or forgotten to make room (`is_put_aside`)."""

    before: Memory | None
    after: Memory
    is_put_aside: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """The writes in their order, how many memories were here already, and what was not taken over."""

    writes: tuple[Write, ...]
    skipped: int
    conflicts: tuple[Conflict, ...]

    @property
    def inserted(self) -> tuple[Memory, ...]:
        """The memories that are new here."""
        return tuple(write.after for write in self.writes if write.before is None)

    @property
    def replaced(self) -> tuple[Write, ...]:
        """The memories that take the file's state."""
        return tuple(write for write in self.writes if write.before is not None and not write.is_put_aside)

    @property
    def put_aside(self) -> tuple[Write, ...]:
        """The memories that are forgotten because an imported one takes their slot."""
        return tuple(write for write in self.writes if write.is_put_aside)


def read_memories(rows: Iterable[object], schema: Schema) -> tuple[list[Given], list[Conflict]]:
    """Return the memories of a file that the schema admits, and a conflict for each other row.

    No import gets around the schema, not even with a forgotten memory (seed 004 §6.4).
    """
    given: list[Given] = []
    conflicts: list[Conflict] = []
    for number, row in enumerate(rows, 1):
        try:
            memory, columns = read_memory(row)
            given.append(Given(number, _admitted(memory, schema), columns))
        except InvalidSlot as error:
            conflicts.append(_not_admitted(number, memory, error))
        except (InvalidInput, InvalidContent) as error:
            conflicts.append(invalid(number, error, row))
    return given, conflicts


def invalid(number: int, error: UserError, row: object, section: str = MEMORIES.name) -> Conflict:
    """Return the conflict of a row that cannot be stored."""
    identifier = row.get("id") if isinstance(row, dict) else None
    named = identifier[:64] if isinstance(identifier, str) and identifier.isascii() else None
    return Conflict(number, "invalid_entry", named, {"code": error.code} | _facts(error.params), section)


def is_linked(lines: Sequence[Mapping[str, Any]]) -> bool:
    """True when the history of a memory leads from its coming from state to state without a gap (product B8).

    `lines` are its rows in the order of the file. Those without states, from an older database, link to anything.
    """
    told = [line for line in lines if line["event"] != Event.DELETE]
    if not told or told[0]["before"] is not None:
        return False
    begins = told[0]["event"] in (Event.ADD, Event.IMPORT) or told[0]["after"] is None
    owners = {state["id"] for line in told for state in (line["before"], line["after"]) if state is not None}
    links = (one["after"] is None or one["after"] == following["before"] for one, following in pairwise(told))
    return begins and owners <= {told[0]["memory_id"]} and all(links)


def _admitted(memory: Memory, schema: Schema) -> Memory:
    slot = schema.locate(memory.topic, memory.sub_topic)
    return memory._replace(content=normalise(slot, memory.content))


def _not_admitted(number: int, memory: Memory, error: InvalidSlot) -> Conflict:
    if memory.slot is None:
        return Conflict(number, "invalid_entry", memory.id, {"code": error.code} | _facts(error.params))
    return Conflict(number, "slot_not_in_schema", memory.id, {"slot": ".".join(memory.slot)})


def _facts(params: Mapping[str, Any]) -> dict[str, str]:
    texts = {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in params.items()}
    return {name: text[:_LONGEST_FACT] for name, text in texts.items()}


class _Working:
    """What is here while the file is gone through: rows by id, the active ones of each unique slot, what the file placed."""

    def __init__(self, here: Iterable[Memory], schema: Schema, now: str, purged: Set[str]) -> None:
        self.now = now
        self.purged = purged
        self.rows: dict[str, Memory] = {}
        self.of_file: set[str] = set()
        self._schema = schema
        self._held: dict[tuple[str, str], dict[str, Memory]] = {}
        for memory in here:
            self.put(memory)

    def put(self, memory: Memory) -> None:
        """Let the memory stand here in this state."""
        before = self.rows.get(memory.id)
        if before is not None and before.slot is not None:
            self._held.get(before.slot, {}).pop(memory.id, None)
        self.rows[memory.id] = memory
        if memory.slot is not None and self._is_unique(memory) and memory.is_active(self.now):
            self._held.setdefault(memory.slot, {})[memory.id] = memory

    def rivals(self, memory: Memory) -> list[Memory]:
        """Return the other active memories of the unique slot that an active memory wants."""
        if memory.slot is None or not memory.is_active(self.now):
            return []
        return [held for held in self._held.get(memory.slot, {}).values() if held.id != memory.id]

    def _is_unique(self, memory: Memory) -> bool:
        slot = self._schema.find(memory.topic, memory.sub_topic)
        return slot is not None and slot.unique


def decide(
    given: Iterable[Given],
    here: Iterable[Memory],
    schema: Schema,
    *,
    purged: Set[str],
    now: str,
    replaces: bool,
    declined: Sequence[Refusal] = (),
) -> Decided:
    """Return what restoring writes, memory by memory in the order of the file (seed 004 §6.4).

    `here` must hold every memory with an id of the file and every active one of its slots, `purged` the ids of those
    that were forgotten for good here, `declined` what a person declined in review here: they come back only when the
    user says so (product P6, C6). `replaces` is
    `--on-conflict overwrite`. A memory that the file itself has placed is never replaced or put aside: of two that
    want one place the first wins. A forgotten or expired memory displaces nothing (product G11).
    """
    working = _Working(here, schema, now, purged)
    writes: list[Write] = []
    conflicts: list[Conflict] = []
    skipped = 0
    for one in given:
        known = working.rows.get(one.memory.id)
        after = one.memory if known is None else one.over(known)
        if known is not None and _says_the_same(known, after):
            skipped += 1
        else:
            conflict = _conflict(one, known, after, working, replaces=replaces)
            if conflict is None and known is None and not replaces and is_declined(after, declined, now):
                conflict = Conflict(one.number, "declined_here", after.id)
            if conflict is not None:
                conflicts.append(conflict)
                continue
            aside = [Write(rival, _forgotten(rival, now), is_put_aside=True) for rival in working.rivals(after)]
            writes += [*aside, Write(known, after)]
            for write in (*aside, writes[-1]):
                working.put(write.after)
        working.of_file.add(after.id)
    return Decided(tuple(writes), skipped, tuple(conflicts))


def _conflict(one: Given, known: Memory | None, after: Memory, working: _Working, *, replaces: bool) -> Conflict | None:
    rivals = working.rivals(after)
    if known is not None:
        if known.id in working.of_file or not replaces:
            return Conflict(one.number, "same_id_different_content", known.id)
        if known.is_active(working.now) and not after.is_active(working.now):
            return Conflict(one.number, "forgotten_in_file", known.id)
    elif after.id in working.purged and not replaces:
        return Conflict(one.number, "purged_here", after.id)
    if rivals and (not replaces or any(rival.id in working.of_file for rival in rivals)):
        facts = {"slot": ".".join(after.slot or ()), "holder": rivals[0].id}
        return Conflict(one.number, "slot_conflict", after.id, facts)
    return None


def is_declined(memory: Memory, declined: Iterable[Refusal], now: str) -> bool:
    """Return whether a person declined here what an active memory says, and neither confirmed it nor plainly said it later
    (product C6).
    """
    if not memory.is_active(now) or memory.confidence is Confidence.CONFIRMED:
        return False
    refusal = refused(declined, place(memory.topic, memory.sub_topic), memory.content)
    is_plain = memory.confidence is Confidence.EXPLICIT and not memory.is_ai_inferred
    return refusal is not None and not (is_plain and last_said(memory) > refusal.created_at)


def _says_the_same(one: Memory, other: Memory) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _STATE)


def _forgotten(memory: Memory, now: str) -> Memory:
    return memory._replace(updated_at=now, forgotten_at=now, forgotten_reason=PUT_ASIDE)
