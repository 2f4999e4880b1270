"""The new turns of a conversation as a job carries them: what is needed once the export they stood in is gone."""

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from typing import Any

from mex_pipeline.domain.conversation import CONTEXT_TURNS, Cursor, Transcript, Turn

_FACTS = ("agent", "session_id", "project", "has_speakers", "dropped", "redacted")
_DEFAULTS = {"at": None, "message_id": None, "session_id": None, "kind": "typed", "held": False, "end": 0, "zone": None}


def part(turns: tuple[Turn, ...], known: Collection[str]) -> tuple[Turn, ...]:
    """Return the turns from the first to the last whose key is not in `known`, and up to two before them as context."""
    new = [index for index, turn in enumerate(turns) if turn.key not in known]
    return turns[max(0, new[0] - CONTEXT_TURNS) : new[-1] + 1] if new else ()


def pack(transcript: Transcript) -> str:
    """Return the JSON form of a conversation: its turns, and `off`, the time of its last change in milliseconds."""
    facts = {name: getattr(transcript, name) for name in _FACTS}
    turns = [_lean(turn) for turn in transcript.turns]
    return json.dumps(facts | {"off": transcript.cursor.off, "turns": turns}, ensure_ascii=False)


def _lean(turn: Turn) -> dict[str, Any]:
    return {name: value for name, value in asdict(turn).items() if _DEFAULTS.get(name, ...) != value}


def unpack(text: str) -> Transcript:
    """Return the conversation of a JSON form; what a later meX adds to it is ignored."""
    stored: dict[str, Any] = json.loads(text)
    return Transcript(
        **{name: stored[name] for name in _FACTS},
        turns=tuple(Turn(**{name: one[name] for name in Turn.__slots__ if name in one}) for one in stored["turns"]),
        cursor=Cursor(off=stored["off"], resume=stored["off"]),
    )


def reworded(text: str, change: Callable[[str], str]) -> str:
    """Return the JSON form with `change` made to the words of every turn, and to nothing else."""
    transcript = unpack(text)
    turns = tuple(replace(turn, text=change(turn.text)) for turn in transcript.turns)
    return text if turns == transcript.turns else pack(replace(transcript, turns=turns))
