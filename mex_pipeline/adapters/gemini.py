"""Gemini CLI sessions (`~/.gemini/tmp/<project>/chats/session-*.json[l]`): what was typed and what was answered.

The file is replayed from its start each time (session-formats §3.4). A journal grows at its end, so its position is a
byte offset, fixed by fingerprints; a document is written anew, so its position is a number of messages.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from mex_pipeline.adapters import gemini_source
from mex_pipeline.adapters.files import is_own_folder, opened
from mex_pipeline.adapters.gemini_journal import Journal
from mex_pipeline.adapters.gemini_messages import Message, message
from mex_pipeline.adapters.gemini_source import document, is_known
from mex_pipeline.adapters.jsonl import Collector, window
from mex_pipeline.adapters.values import mapping, string
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Transcript, Turn
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable

_NAME = "gemini"
_KEPT_DAYS = 30
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_AGE = re.compile(r"(\d{1,6})([hdwm])")
_SMALL = 64 * 1024


class GeminiAdapter:
    """Reads one session file of Gemini CLI."""

    name = _NAME

    def detect(self, path: Path) -> bool:
        """True when the file begins with an object that names a session and its project."""
        return gemini_source.detect(path)

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return all turns; a position is a byte offset of a journal, a number of messages of a document.

        The model's message is held while no other follows it, unless `quiet` is true or `until` names the end. Words
        that were taken back by a rewind are dropped as `rewound`, also if they were extracted before. Subagents'
        sessions and those of meX's own prompt give no turns.
        Raises SourceGone, SourceUnreadable, or SourceFormat as `gemini_source.document` says, and SourceFormat(`path`,
        `adapter`) when the file has complete lines and none is Gemini's.
        """
        with opened(path) as file:
            whole = document(path, file, self.name)
            if whole is not None:
                return _of_document(path, whole, since, is_quiet=quiet, until=until)
            return _of_journal(path, file, since, is_quiet=quiet, until=until)

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the session files of every project; `GEMINI_CLI_HOME` stands for the home folder."""
        root = _root(home, environment) / "tmp"
        for folder in _listed(root):
            for path in _listed(folder / "chats"):
                if path.name.startswith("session-") and path.suffix in (".json", ".jsonl"):
                    yield path

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:
        """Return `general.sessionRetention.maxAge` of the settings in whole days, 30 if they do not say."""
        stored = _settings(_root(home, environment) / "settings.json")
        retention = mapping(mapping(stored.get("general")).get("sessionRetention"))
        if retention.get("enabled") is False:
            return None
        age = _AGE.fullmatch(string(retention, "maxAge") or f"{_KEPT_DAYS}d")
        return int(int(age[1]) * _DAYS[age[2]]) if age else None


def _of_journal(path: Path, file: BinaryIO, since: Cursor, *, is_quiet: bool, until: int | None) -> Transcript:
    part = replace(window(file, since, until), start=0)
    collector = Collector(part, project=_project(path))
    journal = Journal()
    knows = False
    for record in part.records(file):
        knows = knows or is_known(record.value)
        for reason in journal.follow(record):
            collector.drop(reason, record)
        collector.note(record, journal.session_id, None)
    if collector.records and not knows:
        raise SourceFormat(path=str(path), adapter=_NAME)
    journal.settle()
    entries = journal.entries.values()
    left_out = _left_out(path, (entry.message for entry in entries), is_subagent=journal.is_subagent)
    for entry in entries:
        for reason in [left_out] if left_out else entry.message.reasons:
            collector.drop(reason, entry)
        for turn in () if left_out else entry.message.turns(journal.session_id, entry.end):
            collector.keep(turn, entry)
    held_from = None if is_quiet or part.fixed else journal.open_from()
    return collector.transcript(file, _NAME, held_from)


def _of_document(path: Path, whole: dict[str, Any], since: Cursor, *, is_quiet: bool, until: int | None) -> Transcript:
    messages = [message(value) for value in whole["messages"]]
    session_id = string(whole, "sessionId")
    reset = _changed(messages, since)
    done = 0 if reset else since.off
    fixed = until if until is not None and until <= len(messages) else None
    stop = len(messages) if fixed is None else fixed
    is_open = bool(messages) and messages[-1].type == "gemini" and not is_quiet and fixed is None
    off = max(stop - is_open, done)
    left_out = _left_out(path, messages, is_subagent=whole.get("kind") == "subagent")
    dropped: Counter[str] = Counter()
    turns: dict[str, Turn] = {}
    for index, one in enumerate(messages[:stop]):
        reasons = [left_out] if left_out else list(one.reasons)
        for turn in () if left_out else one.turns(session_id, index + 1):
            if turn.key in turns:
                reasons.append("duplicate")
            turns.setdefault(turn.key, replace(turn, held=index >= off))
        if index >= done:
            dropped.update(reasons)
    if not any(turn.held for turn in turns.values()):
        off = max(stop, done)
    return Transcript(
        agent=_NAME,
        turns=tuple(turns.values()),
        cursor=Cursor(off=off, size=len(messages), content_sha=_sha(messages, off)),
        session_id=session_id,
        project=_project(path),
        dropped=dict(dropped),
        reset=reset,
    )


def _left_out(path: Path, messages: Iterable[Message], *, is_subagent: bool) -> str | None:
    """Return why nothing of the file is conversation: a subagent's session, or one of meX's own prompt."""
    if is_subagent or (path.parent.name != "chats" and path.parent.parent.name == "chats"):
        return "subagent"
    first = next((said.text for one in messages for said in one.said if said.role == "user"), "")
    if first.startswith(PROMPT_MARK):
        return "own_prompt"
    return "own_session" if is_own_folder(_project(path)) else None


def _project(path: Path) -> str | None:
    """Return the folder the session ran in: the client writes it once into the folder of the project's sessions."""
    if path.parent.name != "chats":
        return None
    return string({"root": _small(path.parent.parent / ".project_root").strip()}, "root")


def _changed(messages: list[Message], since: Cursor) -> str | None:
    """Return why the messages before the position are not those that were read, or None."""
    if since.off > len(messages):
        return "shorter"
    return "content_changed" if since.content_sha and since.content_sha != _sha(messages, since.off) else None


def _sha(messages: list[Message], off: int) -> str:
    return hashlib.sha256("\n".join(one.id or "" for one in messages[:off]).encode()).hexdigest()


def _root(home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _settings(path: Path) -> dict[str, Any]:
    try:
        return mapping(json.loads(_small(path)))
    except (ValueError, RecursionError):
        return {}


def _small(path: Path) -> str:
    """Return the text of a small file of the client's, or nothing if it cannot be read."""
    try:
        with opened(path) as file:
            return file.read(_SMALL).decode("utf-8-sig", "replace")
    except (SourceGone, SourceUnreadable):
        return ""
