"""From an item to meX's reply contract: all that has to change here when the contract does (config/prompts)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.replay.faults import Item, Known
from benchmarks.replay.life import Kind
from benchmarks.replay.wording import same


def reply(items: Sequence[Item], numbers: Mapping[int, int], known: Sequence[Known], slots: Mapping[str, bool]) -> str:
    """Return a whole reply; `numbers` gives each turn of the session its number in the request."""
    entries = [entry(item, numbers[item.turn], known, is_unique=slots[item.fact.slot]) for item in items]
    return json.dumps({"memories": entries}, ensure_ascii=False)


def entry(item: Item, number: int, known: Sequence[Known], *, is_unique: bool) -> dict[str, Any]:
    """Return one entry of `memories`; what is replaced is named by the handle it was shown with, else by its content."""
    topic, _, sub_topic = item.fact.slot.partition(".")
    action = "update" if item.kind is Kind.UPDATE and is_unique else "new"
    shown = {
        "action": "retire" if item.kind is Kind.RETRACT else action,
        "topic": topic,
        "sub_topic": None if item.kind is Kind.TEMPORARY else sub_topic,
        "content": item.quote if item.kind is Kind.TEMPORARY else item.fact.value,
        "is_ai_inferred": False,
        "confidence": "explicit",
        "evidence": f'"{item.quote}"',
        "quote": item.quote,
        "turn": number,
        "about": item.about,
    }
    return shown if item.replaces is None else shown | {"replaces": _named(item.fact.slot, item.replaces, known)}


def _named(slot: str, value: str, known: Sequence[Known]) -> str:
    handles = (f"#{one.handle}" for one in known if one.fact.slot == slot and same(one.fact.value, value))
    return next(handles, value)
