"""OpenCode sessions (its database, `opencode export`, the old storage tree) and plain lists of `{role, content}` messages.

Such a source is written anew as a whole or changes in any place, so its position is a number of messages, and what was
read before is told by keys (session-formats §3.3, §4).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import foreign_db, opencode_source, opencode_store
from mex_pipeline.adapters.files import digest, is_own_folder
from mex_pipeline.adapters.opencode_messages import Message, own, plain, turns
from mex_pipeline.adapters.opencode_shapes import Session, is_own
from mex_pipeline.adapters.opencode_source import Source
from mex_pipeline.adapters.port import Look
from mex_pipeline.adapters.values import mapping, string
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Transcript, Turn
from mex_pipeline.errors import InvalidInput

_REDACTED = re.compile(r"\[redacted:[^\]\s]*\]")


class OpenCodeAdapter:
    """Reads OpenCode's database, its exports, a session of its old storage tree, and lists of messages."""

    name = "opencode"

    def detect(self, path: Path) -> bool:
        """True when the file's content begins like one of the shapes."""
        return opencode_source.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns of all messages; positions are numbers of messages, `until` too.

        What may still grow is held (`_held_from`), unless `quiet` is true or `until` names the end; an answer that was
        not completed is dropped as `unfinished` then and comes when it is complete. What the user took back (a revert)
        is dropped. `reset` is `shorter` or `content_changed` when the messages before the old position are not the ones
        that were read.
        Raises SourceGone, SourceUnreadable, or SourceFormat as `opencode_source.load` says; for a database
        InvalidInput("session_needed") with `path`, `count` unless it holds a single session.
        """
        if not foreign_db.is_database(path):
            return self._transcript(opencode_source.load(path, self.name), since, quiet=quiet, until=until)
        found = opencode_store.sessions(path, self.name)
        if len(found) != 1:
            raise InvalidInput("session_needed", path=str(path), count=len(found))
        return self.read_session(path, found[0], since, quiet=quiet, until=until)

    def sessions(self, path: Path) -> Iterator[str] | None:
        """Return the ids of a database's sessions, oldest first, without those of sub-agents; None for other files."""
        return iter(opencode_store.sessions(path, self.name)) if foreign_db.is_database(path) else None

    def look(self, path: Path, session: str) -> Look:
        """Return how one session of a database stands; raises SourceGone, SourceUnreadable, SourceFormat."""
        return opencode_store.look(path, session, self.name)

    def read_session(
        self, path: Path, session: str, since: Cursor, *, quiet: bool, until: int | None = None
    ) -> Transcript:
        """Return the turns of one session of a database, as `read` does of an export.

        Raises SourceGone, SourceUnreadable, SourceFormat (`unsupported_session` too: `path`, `session`).
        """
        source = Source((opencode_store.load(path, session, self.name),), Counter())
        return self._transcript(source, since, quiet=quiet, until=until)

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the databases of all channels of the client, and the sessions of its old tree.

        The tree stays behind as a copy, whose keys are those of the database; which of its sessions are sub-agents' is
        written in them only.
        """
        moved = environment.get("XDG_DATA_HOME")
        data = (Path(moved) if moved else home / ".local" / "share") / "opencode"
        named = [data / name] if (name := environment.get("OPENCODE_DB")) else []
        yield from sorted({path for path in (*named, *data.glob("opencode*.db")) if path.is_file()})
        for storage in (data / "storage", *data.glob("project/*/storage")):
            yield from sorted(storage.glob("session/*/*.json"))

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:  # noqa: ARG002 - of the protocol
        """Return None: the client deletes no session by itself."""
        return None

    def _transcript(self, source: Source, since: Cursor, *, quiet: bool, until: int | None) -> Transcript:
        reader = _Reader()
        for session in source.sessions:
            reader.follow(session)
        messages = reader.messages
        reset = _changed(messages, since)
        done = 0 if reset else since.off
        fixed = until if until is not None and until <= len(messages) else None
        stop = len(messages) if fixed is None else fixed
        is_live = any(session.is_live for session in source.sessions)
        hold = stop if quiet or fixed is not None else max(_held_from(messages, is_live=is_live), done)
        taken = _Taken(done, hold, source.faults + reader.taken_back)
        for index, message in enumerate(messages[:stop]):
            taken.take(index, message)
        off = max(hold, done)
        return Transcript(
            agent=self.name,
            turns=tuple(taken.turns),
            cursor=Cursor(off=off, size=len(messages), content_sha=_sha(messages, off)),
            session_id=reader.session_id,
            project=reader.project,
            dropped=dict(taken.dropped),
            reset=reset,
        )


@dataclass(slots=True)
class _Reader:
    """Makes messages of sessions; a message that the user took back is counted, not kept."""

    messages: list[Message] = field(default_factory=list)
    taken_back: Counter[str] = field(default_factory=Counter)
    session_id: str | None = None
    project: str | None = None

    def follow(self, session: Session) -> None:
        """Add the messages of one session."""
        info = session.info
        left, reverted = _not_reverted(session)
        self.taken_back["reverted"] += reverted
        found: list[Message] = []
        said = ""
        for value in left:
            message = own(value) if is_own(value) else plain(value)
            said = digest("\n".join([said, str(message.role), *message.texts]))
            found.append(message if message.name else replace(message, name=said))
        folder = _folder(session)
        self.session_id = string(info, "id") or next(
            (one.session_id for one in found if one.session_id), self.session_id
        )
        self.project = folder or self.project
        reason = _session_reason(info, folder, found)
        self.messages += [replace(message, reason=reason) for message in found] if reason else found


@dataclass(slots=True)
class _Taken:
    """The turns of one pass and the counts of what gives none; what lies before `done` is not counted again."""

    done: int
    hold: int
    dropped: Counter[str]
    turns: list[Turn] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    def take(self, index: int, message: Message) -> None:
        """Put one message's turns and reasons in."""
        for turn, reason in turns(message, is_held=index >= self.hold):
            why = "duplicate" if turn and turn.key in self._keys else reason
            if why and index >= self.done:
                self.dropped[why] += 1
            if turn and turn.key not in self._keys:
                self._keys.add(turn.key)
                self.turns.append(replace(turn, held=index >= self.hold, end=index + 1))


def _folder(session: Session) -> str | None:
    """Return the folder a session was held in; a list of messages names it in the assistant's."""
    paths = [mapping(mapping(one.get("info")).get("path")) for one in session.messages if isinstance(one, dict)]
    named = [string(session.info, "directory"), *(string(path, "cwd") for path in paths)]
    return next((folder for folder in named if folder and not _REDACTED.match(folder)), None)


def _session_reason(info: dict[str, Any], folder: str | None, messages: list[Message]) -> str | None:
    """Return why nothing of a session is conversation."""
    if string(info, "parentID") or string(info, "parent_id"):
        return "subagent"
    if is_own_folder(folder):
        return "own_session"
    first = next((text for one in messages if one.role == "user" and not one.reason for text in one.texts), "")
    return "own_prompt" if first.startswith(PROMPT_MARK) else None


def _not_reverted(session: Session) -> tuple[list[Any], int]:
    """Return the messages before the point the user went back to, and how many there are behind it.

    OpenCode deletes them at the next prompt; until then they are only marked. Of the message that a part of is named,
    the parts before it stay.
    """
    revert = mapping(session.info.get("revert"))
    names = [string(mapping(mapping(one).get("info")), "id") for one in session.messages]
    target = string(revert, "messageID")
    if target is None or target not in names:
        return session.messages, 0
    at = names.index(target)
    left = session.messages[:at]
    part_id = string(revert, "partID")
    parts = session.messages[at].get("parts")
    ids = [string(mapping(part), "id") for part in parts] if isinstance(parts, list) else []
    if part_id is not None and part_id in ids:
        left = [*left, {**session.messages[at], "parts": parts[: ids.index(part_id)]}]
    return left, len(session.messages) - at


def _held_from(messages: list[Message], *, is_live: bool) -> int:
    """Return the index of the first message that may still grow, or the end.

    That is the last answer while it is not complete (`time.completed`, session-formats §4) or, where no times are told,
    while nothing follows it: with all behind it, because the user may write while it is being made. Where the client
    writes piece by piece, it is also the user's last message: its parts come up to seconds after it.
    """
    last = len(messages) - 1
    for index in range(last, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            is_open = not message.is_complete or (index == last and not message.has_times)
            if is_open and not message.reason:
                return index
            break
    is_fresh = is_live and last >= 0 and messages[last].role == "user" and not messages[last].reason
    return last if is_fresh else last + 1


def _changed(messages: list[Message], since: Cursor) -> str | None:
    """Return why the messages before the position are not those that were read, or None."""
    if since.off > len(messages):
        return "shorter"
    return "content_changed" if since.content_sha and since.content_sha != _sha(messages, since.off) else None


def _sha(messages: list[Message], off: int) -> str:
    names = "\n".join(message.name for message in messages[:off])
    return hashlib.sha256(names.encode()).hexdigest()
