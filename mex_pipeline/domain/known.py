"""Which known values the model is shown for a chunk, within a budget (product G9)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.schema import Schema

PER_MANY_SLOT = 12
MIN_HANDLE = 6


@dataclass(frozen=True, slots=True)
class Known:
    """Prompt lines, the values they show (for the echo test), and how many active values were withheld."""

    lines: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    withheld: int = 0


def select(
    memories: Sequence[Memory], records: Sequence[Memory], near: Collection[str], schema: Schema, budget: int
) -> Known:
    """Return what to show: values near the chunk first, then unique slots, then the surest of each many slot, then records.

    `near` holds the ids of memories that share words with the chunk. A line names a short handle, the slot and the
    value: `#3fa9c2 work.company = 远光软件 (explicit)`.
    """
    handles = _handles([*memories, *records])
    shown: list[Memory] = []
    spent = 0
    per_slot: dict[tuple[str, str], int] = {}
    for memory in _ranked(memories, records, near, schema):
        slot = memory.slot
        crowded = slot is not None and not _is_unique(schema, slot) and per_slot.get(slot, 0) >= PER_MANY_SLOT
        tokens = estimate_tokens(_line(memory, handles))
        if (crowded and memory.id not in near) or spent + tokens > budget:
            continue
        shown.append(memory)
        spent += tokens
        if slot is not None:
            per_slot[slot] = per_slot.get(slot, 0) + 1
    order = {slot: index for index, slot in enumerate((slot.topic, slot.name) for slot in schema.slots())}
    shown.sort(key=lambda memory: (order.get(memory.slot or ("", ""), len(order)), memory.created_at, memory.id))
    return Known(
        tuple(_line(memory, handles) for memory in shown),
        frozenset(memory.content for memory in shown),
        len(memories) - sum(memory.slot is not None for memory in shown),
    )


def _ranked(
    memories: Iterable[Memory], records: Iterable[Memory], near: Collection[str], schema: Schema
) -> list[Memory]:
    def rank(memory: Memory) -> tuple[int, float]:
        slot = memory.slot
        tier = 0 if memory.id in near else 3 if slot is None else 1 if _is_unique(schema, slot) else 2
        return tier, -memory.confidence.weight

    newest_first = sorted([*memories, *records], key=lambda memory: memory.updated_at, reverse=True)
    return sorted(newest_first, key=rank)


def _is_unique(schema: Schema, slot: tuple[str, str]) -> bool:
    found = schema.find(*slot)
    return found is not None and found.unique


def _handles(memories: Sequence[Memory]) -> dict[str, str]:
    """The shortest id prefix of at least six characters that tells each memory from the others."""
    ids = sorted(memory.id for memory in memories)
    handles = {}
    for index, one in enumerate(ids):
        neighbours = ids[max(0, index - 1) : index] + ids[index + 1 : index + 2]
        length = MIN_HANDLE
        while length < len(one) and any(other.startswith(one[:length]) for other in neighbours):
            length += 1
        handles[one] = one[:length]
    return handles


def _line(memory: Memory, handles: dict[str, str]) -> str:
    place = f"{memory.topic}.{memory.sub_topic}" if memory.slot else (memory.topic or "-")
    content = " ".join(memory.content.split())
    return f"#{handles[memory.id]} {place} = {content} ({memory.confidence})"
