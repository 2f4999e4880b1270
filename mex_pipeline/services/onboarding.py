"""What `mex setup` knows: the providers at hand, and the few questions whose answers make a first profile."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.memory import Actor, Confidence, Memory
from mex_pipeline.domain.schema import Schema, Slot
from mex_pipeline.llm.port import Usage
from mex_pipeline.llm.presets import PRESETS, Preset
from mex_pipeline.services import listing, memories
from mex_pipeline.store import usage

_SLOTS: dict[str, tuple[tuple[str, str], ...]] = {
    "name": (("basic_info", "name"),),
    "location": (("basic_info", "location"),),
    "work": (("work", "position"), ("work", "company")),
    "style": (("interaction", "communication_style"),),
    "allergies": (("health", "allergy"),),
}
"""Each question and the slots its answer may fill: the first that the user's schema has."""

_NOTHING = frozenset({"-", "no", "none", "nothing", "无", "没有", "没"})
_BETWEEN = re.compile(r"[,，、;；]")


@dataclass(frozen=True, slots=True)
class Question:
    """A question by its name, and the slot its answer fills."""

    name: str
    slot: Slot


def questions(schema: Schema) -> Iterator[Question]:
    """Yield the questions that can be answered in a word; one whose slot the schema lacks, or has as an object, is not."""
    for name, places in _SLOTS.items():
        slots = (schema.find(*place) for place in places)
        slot = next((slot for slot in slots if slot is not None and not slot.fields), None)
        if slot is not None:
            yield Question(name, slot)


def held(app: App, slot: Slot) -> tuple[Memory, ...]:
    """Return the active memories of a slot, the newest first."""
    return listing.page(app, topic=slot.topic, sub_topic=slot.name, limit=None).memories


def answer(app: App, slot: Slot, text: str, actor: Actor) -> list[Memory]:
    """Write an answer and return the memories it made or changed; what is there already is confirmed, not doubled.

    A person's answer is `confirmed`, an agent's at most `explicit` (product F4). A slot of many values takes several,
    separated by commas. "none" answers nothing. Raises as `memories.add`.
    """
    before = {memory.content.casefold(): memory for memory in held(app, slot)}
    written = []
    for value in _values(slot, text):
        known = before.get(value.casefold()) if not slot.unique else next(iter(before.values()), None)
        if known is None:
            added = memories.add(app, topic=slot.topic, sub_topic=slot.name, content=value, actor=actor)
            before[value.casefold()] = added
            written.append(added)
        elif known.content != value or known.confidence is not Confidence.CONFIRMED:
            written.append(memories.update(app, known.id, content=value, actor=actor))
    return written


def _values(slot: Slot, text: str) -> list[str]:
    parts = [text] if slot.unique else _BETWEEN.split(text)
    return [part for one in parts if (part := one.strip()) and part.casefold() not in _NOTHING]


def keys_at_hand(environment: Mapping[str, str]) -> list[Preset]:
    """Return the providers whose usual variable holds a key."""
    return [preset for preset in PRESETS.values() if preset.key_env and environment.get(preset.key_env, "").strip()]


def count(app: App, spent: Usage) -> None:
    """Write what a trial call cost, as every call's cost is written (product C10)."""
    now = iso(app.clock.now())
    with app.db.transaction() as tx:
        tx.run(usage.record("setup", spent.model, spent.prompt_tokens, spent.completion_tokens, None, now))


def host(base_url: str) -> str:
    """Return the host of an endpoint, with its port when it names one."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def is_this_machine(base_url: str) -> bool:
    """True when nothing that is sent there leaves the machine."""
    name = urlsplit(base_url).hostname or ""
    return name in ("localhost", "::1", "0.0.0.0") or name.startswith("127.")  # noqa: S104 - compared, never bound
