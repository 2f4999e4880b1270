"""Finding the gold session behind a request by the words of its turns, however the request is built."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.replay.faults import Known
from benchmarks.replay.life import Fact, Life, Op, Session

_BEGINNING = 80
"""Characters of a user's turn that tell it from others."""
_SHOWN = re.compile(
    r"^#([0-9a-f]{4,}) ([a-z0-9_]+\.[a-z0-9_]+) = (.*) \((?:confirmed|explicit|inferred|speculated|uncertain)\)$",
    re.MULTILINE,
)


class Unknown(Exception):
    """A request whose turns are no one session's: a fault of the harness, never of the product."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is about: the session, and the number in the request of each of its turns that is asked about."""

    session: Session
    numbers: Mapping[int, int]


def asked(life: Life, messages: Sequence[Mapping[str, Any]]) -> Asked:
    """Return what the messages of a request ask of a life; raises Unknown.

    Where no session holds all the turns as they are, how the user's begin decides: the product shortens long pastes, and
    code in an assistant's turn.
    """
    shown = _turns(messages)
    fresh = [(index, turn["turn"]) for index, turn in enumerate(shown) if not turn.get("context")]
    for heeded in (_whole, _beginning):
        texts = [heeded(turn["role"], turn["text"]) for turn in shown]
        found = [(session, start) for session in life.sessions for start in _starts(session, texts, heeded)]
        if found and fresh and any(texts):
            break
    else:
        raise Unknown(f"{life.user}: no session holds these {len(shown)} turns in a row")
    places = [Asked(session, {start + index: number for index, number in fresh}) for session, start in found]
    if any(_meant(place) != _meant(places[0]) for place in places):
        raise Unknown(
            f"{life.user}: {len(places)} sessions hold these {len(texts)} turns and mean different things by them"
        )
    return places[0]


def known(messages: Sequence[Mapping[str, Any]], slots: Mapping[str, bool]) -> list[Known]:
    """Return the values a request shows as known, of the life's own slots."""
    text = "\n".join(message["content"] for message in messages if message["role"] == "system")
    return [Known(handle, Fact(slot, value)) for handle, slot, value in _SHOWN.findall(text) if slot in slots]


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    for message in messages:
        text = message["content"]
        if message["role"] == "user" and "[" in text:
            try:
                turns = json.loads(text[text.index("[") : text.rindex("]") + 1])
            except ValueError:
                continue
            if turns and all(isinstance(turn, dict) and "text" in turn for turn in turns):
                return list(turns)
    raise Unknown("a request without turns")


def _whole(_: str, text: str) -> str:
    return " ".join(text.split())


def _beginning(role: str, text: str) -> str:
    return _whole(role, text)[:_BEGINNING] if role == "user" else ""


def _starts(session: Session, texts: Sequence[str], heeded: Callable[[str, str], str]) -> list[int]:
    """The turns of the session at which the texts begin, all of them in a row."""
    said = [heeded(turn.role, turn.text) for turn in session.turns]
    return [start for start in range(len(said) - len(texts) + 1) if said[start : start + len(texts)] == texts]


def _meant(place: Asked) -> list[tuple[object, ...]]:
    numbers = place.numbers
    return [(*_sense(op), numbers[op.turn]) for op in place.session.ops if op.turn in numbers]


def _sense(op: Op) -> tuple[object, ...]:
    return op.kind, op.fact, op.old, op.trap
