"""A conversation as meX sees it, whatever agent wrote it: turns, what was dropped, and how far it has been read."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Role = Literal["user", "assistant"]
Kind = Literal["typed", "command_args", "tool_answer", "queued", "pasted_file", "document"]

CONTEXT_TURNS = 2
"""How many earlier turns a chunk carries as marked context (product H6)."""

PROMPT_MARK = "<mex-extraction>"
"""Opens meX's own extraction prompt. Where an agent CLI serves the model, the CLI keeps a session of that prompt; the
mark lets the reader pass such a session over instead of eating its own output (session-formats §1.7, §3.1)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    `key` is the format's own identity of the message, free of path and session id, so that a forked copy has the same
    keys (session-formats §2). `message_id` is what the agent calls the message. `at` is a UTC ISO string or None.
    `end` is the position (a byte offset, or a number of messages where the file is rewritten) up to which the source
    must have been read for this turn.
    `zone` is the IANA name of the user's time zone where the agent tells it; without it the machine's counts.
    A `held` turn may still grow: it is shown but not yet extracted.
    """

    key: str
    role: Role
    text: str
    at: str | None = None
    message_id: str | None = None
    session_id: str | None = None
    kind: Kind = "typed"
    held: bool = False
    end: int = 0
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been read (session-formats §2, §4).

    `off` is the position up to which everything is extracted or dropped; `resume` (≤ off) is where reading starts, so
    that the last turns before `off` come along as context. The fingerprints prove that the file before `off` is still
    the one that was read. `content_sha` is the position of formats that are read whole.
    """

    off: int = 0
    resume: int = 0
    size: int = 0
    head_len: int = 0
    head_sha: str = ""
    tail_sha: str = ""
    content_sha: str = ""

    def to_json(self) -> str:
        """Return the stored form, with a version so that a later reader knows it."""
        return json.dumps({"v": 1, **{name: getattr(self, name) for name in self.__slots__}}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the cursor of a stored form; unknown keys of a newer writer are ignored."""
        stored: dict[str, Any] = json.loads(text)
        return cls(**{name: stored[name] for name in cls.__slots__ if name in stored})


@dataclass(frozen=True, slots=True)
class Transcript:
    """What one read of a source gave: turns in order, the cursor after them, and a count of everything left out.

    `turns` holds every turn from the cursor's `resume` on, held ones included. `cursor.off` lies before the first held
    turn and before a torn last line. `reset` names why reading began at the start (`shorter`, `head_changed`,
    `tail_changed`; `content_changed` for a source that is read whole) or is None. `redacted` counts the secrets that
    were replaced in the texts, by kind (product F2).
    """

    agent: str
    turns: tuple[Turn, ...]
    cursor: Cursor
    session_id: str | None = None
    project: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    reset: str | None = None
    has_speakers: bool = True
    redacted: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of new turns that fits one model call, with a few earlier turns as context (product C2, H6)."""

    number: int
    context: tuple[Turn, ...]
    turns: tuple[Turn, ...]

    @property
    def numbered(self) -> tuple[tuple[int, Turn, bool], ...]:
        """Every turn with its number in the prompt (from 1) and whether it is only context."""
        marked = [(turn, True) for turn in self.context] + [(turn, False) for turn in self.turns]
        return tuple((number, turn, is_context) for number, (turn, is_context) in enumerate(marked, 1))


def settled(transcript: Transcript) -> tuple[Turn, ...]:
    """Return the turns that can be extracted now: all that are not held."""
    return tuple(turn for turn in transcript.turns if not turn.held)
