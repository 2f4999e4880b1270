"""Archives: the conversations of an export as transcripts, whatever service wrote it."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import export_source
from mex_pipeline.adapters.cleaning import assistant_text, capped, left_out, of_one_message, scrub, user_text
from mex_pipeline.adapters.export_json import document
from mex_pipeline.adapters.export_source import Head
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.values import moment, number
from mex_pipeline.clock import from_iso, millis
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Role, Transcript, Turn
from mex_pipeline.errors import InvalidInput, MexError, SourceFormat, SourceUnreadable

_SECONDS_END = 100_000_000_000  # as in values.moment
INSTRUCTIONS = "custom_instructions"
"""The reason why a conversation does not give what a person wrote once for all of them."""
_ONCE = "custom-instructions"
"""The session id of the conversation that gives it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message on the path of a conversation: what was said in it, or a `reason` to leave it out.

    `name` is its identity. `texts` are raw; `notes` are reasons for parts of it that give no text.
    """

    name: str
    role: Role | None = None
    texts: tuple[str, ...] = ()
    reason: str | None = None
    at: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: the identities of the messages on its path, and the messages, each parsed when it is asked for.

    `changed_at` is the time of the last change in milliseconds, None when it is not told; `dropped` counts what lies
    beside the path. A message with the reason INSTRUCTIONS has texts that stand for all conversations.
    """

    session_id: str
    changed_at: int | None
    path: tuple[str, ...]
    messages: Iterator[Message]
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Exports:
    """What the adapters of exports have in common: `of` makes a conversation of an object's unparsed members."""

    agent: str
    of: Callable[[dict[str, Any]], Conversation | None]
    is_ours: Callable[[frozenset[str]], bool]

    def conversations(self, path: Path) -> Iterator[Transcript] | None:
        """As `port.Archive`; what was written once for all comes as a conversation `custom-instructions` after the others.

        An array is an archive also when it holds a single conversation: what it is keyed by does not change when the
        next export holds two.
        """
        return None if self._look(path).is_one else self._each(path)

    def read(self, path: Path, since: Cursor, until: int | None) -> Transcript:
        """Return the turns of the single conversation in a file; positions are numbers of messages.

        Nothing is held. `reset` is `shorter` or `content_changed` when the messages before the old position are not
        those that were read. Raises InvalidInput("session_needed") with `path`, `count` for several conversations;
        SourceGone, SourceUnreadable, SourceFormat.
        """
        data = export_source.whole(path) if self._look(path).is_one else _only(path)
        if data is None:
            return Transcript(self.agent, (), Cursor())
        conversation = self._conversation(data, path)
        if conversation is None:
            raise SourceFormat(path=str(path), adapter=self.agent)
        size = len(conversation.path)
        reset = _changed(conversation.path, since)
        done = 0 if reset else since.off
        off = max(until if until is not None and until <= size else size, done)
        taken = _Taken(conversation, done)
        for index, message in enumerate(islice(conversation.messages, off)):
            taken.take(message, index, index + 1)
        cursor = Cursor(off=off, size=size, content_sha=_sha(conversation.path[:off]))
        return replace(taken.transcript(self.agent, cursor), reset=reset)

    def _look(self, path: Path) -> Head:
        head = export_source.look(path)
        if head.is_foreign or (head.keys and not self.is_ours(head.keys)):
            raise SourceFormat(path=str(path), adapter=self.agent)
        return head

    def _conversation(self, data: bytes, path: Path) -> Conversation | None:
        try:
            return self.of(document(data))
        except ValueError as error:
            raise SourceFormat("source_damaged", path=str(path)) from error

    def _each(self, path: Path) -> Iterator[Transcript]:
        rest = _Rest()
        fault: MexError | None = None
        try:
            # Through `map`, so that no name here keeps the bytes of one conversation while the next is read.
            for transcript in map(partial(self._transcript, path, rest), export_source.conversations(path)):
                if transcript is not None:
                    yield transcript
        except (SourceFormat, SourceUnreadable) as error:
            fault = error
        if rest.written:
            yield rest.instructions(self.agent)
        if rest.dropped and not rest.count and fault is None:
            fault = SourceFormat(path=str(path), adapter=self.agent)
        elif rest.dropped:
            yield Transcript(self.agent, (), Cursor(), dropped=dict(rest.dropped))
        if fault is not None:
            raise fault

    def _transcript(self, path: Path, rest: "_Rest", data: bytes | None) -> Transcript | None:
        conversation = self._conversation(data, path) if data is not None else None
        if conversation is None:
            rest.dropped["oversized" if data is None else "unknown_type"] += 1
            return None
        taken = _Taken(conversation, 0)
        for index, message in enumerate(conversation.messages):
            taken.take(message, index, conversation.changed_at or 0)
            rest.note(message)
        changed = conversation.changed_at
        if changed is None:
            changed = max((instant(turn.at) or 0 for turn in taken.turns), default=0)
            taken.turns = [replace(turn, end=changed) for turn in taken.turns]
        rest.count += 1
        rest.changed_at = max(rest.changed_at, changed)
        return taken.transcript(self.agent, Cursor(off=changed, resume=changed, size=changed))


@dataclass(slots=True)
class _Taken:
    """The turns of one pass over a conversation; what lies before `done` is not counted again."""

    conversation: Conversation
    done: int
    turns: list[Turn] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    _keys: set[str] = field(default_factory=set)

    def take(self, message: Message, index: int, end: int) -> None:
        """Put one message's turn in, and count what of it gives none."""
        turn, reasons = _turn(message, self.conversation.session_id, end)
        if turn is not None and turn.key in self._keys:
            turn, reasons = None, ["duplicate"]
        if turn is not None:
            self._keys.add(turn.key)
            self.turns.append(turn)
        if index >= self.done:
            self.dropped.update(reasons)

    def transcript(self, agent: str, cursor: Cursor) -> Transcript:
        """Return the result; of a conversation with meX's own prompt nothing is kept."""
        turns, dropped = tuple(self.turns), self.dropped + self.conversation.dropped
        first = next((turn.text for turn in turns if turn.role == "user"), "")
        if first.startswith(PROMPT_MARK):
            turns, dropped = (), Counter(own_prompt=len(turns)) + dropped
        return Transcript(agent, turns, cursor, session_id=self.conversation.session_id, dropped=dict(dropped))


@dataclass(slots=True)
class _Rest:
    """What is left when the conversations of an export have been given: the instructions, and what was none."""

    count: int = 0
    changed_at: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    written: dict[str, str | None] = field(default_factory=dict)

    def note(self, message: Message) -> None:
        """Keep instructions once, with the earliest time at which they were in force."""
        for raw in message.texts if message.reason == INSTRUCTIONS else ():
            text = user_text(scrub(raw))
            times = [at for at in (message.at, self.written.get(text)) if at]
            if text:
                self.written[text] = min(times, default=None)

    def instructions(self, agent: str) -> Transcript:
        """Return the texts as a document, oldest first; a text is its own identity."""
        texts = sorted(self.written.items(), key=lambda written: written[1] or "")
        turns = tuple(
            Turn(f"u:{digest(text)}", "user", text, at=at, session_id=_ONCE, kind="document", end=self.changed_at)
            for text, at in texts
        )
        cursor = Cursor(off=self.changed_at, resume=self.changed_at, size=self.changed_at)
        return Transcript(agent, turns, cursor, session_id=_ONCE, has_speakers=False)


def instant(value: Any) -> int | None:
    """Return a time in epoch seconds, epoch milliseconds or ISO 8601 as epoch milliseconds; None for what is no time."""
    if moment(value) is None:
        return None
    if isinstance(value, str):
        return millis(from_iso(value))
    given = number(value) or 0
    return int(given if given >= _SECONDS_END else given * 1000)


def path_up(leaf: str, parents: dict[str, str]) -> tuple[str, ...]:
    """Return the names from the root down to `leaf`; a circle ends where it would begin again."""
    path = {leaf: None}
    at = parents.get(leaf)
    while at is not None and at not in path:
        path[at] = None
        at = parents.get(at)
    return tuple(reversed(path))


def newest_leaf(names: Collection[str], parents: dict[str, str], time_of: Callable[[str], int | None]) -> str | None:
    """Return the newest of the names that are nobody's parent, the last of equals; None when there is no name.

    A leaf without a time is as old as its parent. Where all are in circles, every name is looked at.
    """
    inner = set(parents.values())
    leaves = [name for name in names if name not in inner] or list(names)
    times = [time_of(name) or time_of(parents.get(name, name)) or 0 for name in leaves]
    return leaves[max(range(len(leaves)), key=lambda place: (times[place], place))] if leaves else None


def _only(path: Path) -> bytes | None:
    """Return the only conversation of an array; None for an empty one."""
    found = export_source.conversations(path)
    try:
        first = next(found)
    except StopIteration:
        return None
    others = sum(1 for _ in found)
    if others:
        raise InvalidInput("session_needed", path=str(path), count=1 + others)
    if first is None:
        raise export_source.too_large(path)
    return first


def _turn(message: Message, session_id: str, end: int) -> tuple[Turn | None, list[str]]:
    """Return the turn of a message, if it gives one, and the reasons for what of it does not."""
    if message.reason or message.role is None:
        return None, [message.reason or "unknown_role"]
    clean = user_text if message.role == "user" else assistant_text
    texts = list(of_one_message(map(scrub, message.texts)))
    whole = "\n".join(text for raw in texts if (text := clean(raw)))
    reasons = [*message.notes, *(reason for raw in texts for reason in left_out(raw))]
    if not whole:
        return None, reasons or ["empty"]
    text, was_cut = capped(whole)
    turn = Turn(
        f"{message.role[0]}:{message.name}",
        message.role,
        text,
        at=message.at,
        message_id=message.name,
        session_id=session_id,
        end=end,
    )
    return turn, [*reasons, "capped"] if was_cut else reasons


def _changed(path: tuple[str, ...], since: Cursor) -> str | None:
    """Return why the messages before the position are not those that were read, or None."""
    if since.off > len(path):
        return "shorter"
    return "content_changed" if since.content_sha and since.content_sha != _sha(path[: since.off]) else None


def _sha(path: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(path).encode("utf-8", "replace")).hexdigest()
