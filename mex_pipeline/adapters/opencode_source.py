"""What a file holds that `opencode` reads: exported sessions, the old storage tree, or a list of messages.

Nothing is judged here but the shape; who said what is the adapter's part.
"""

import codecs
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import foreign_db, opencode_store
from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.opencode_shapes import SIZE_CAP, Session, is_message, is_session
from mex_pipeline.adapters.records import records
from mex_pipeline.adapters.values import mapping, number, string
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable

_HEAD = 1024 * 1024
_BANNER = "Exporting session"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OPENING = re.compile(r'(?:\{\s*"info"\s*:|(?:\{\s*"messages"\s*:\s*)?\[)\s*')
_SOLID = re.compile(r"\S")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Source:
    """The sessions of one source, and a count of the lines or files of it that cannot be used, by reason."""

    sessions: tuple[Session, ...]
    faults: Counter[str]


def detect(path: Path) -> bool:
    """True when the file begins as a source of this kind, also when it is cut off behind its first message.

    Of a database its tables are looked at. Raises SourceGone, SourceUnreadable.
    """
    if foreign_db.is_database(path):
        return opencode_store.detect(path)
    with opened(path) as file:
        text = _body(file.read(_HEAD))
    if not text.startswith(("{", "[")):
        return False
    values, _ = _values(text)
    return any(session.is_known for session in _sessions(values)) or _begins(text) or _tree(path, values) is not None


def load(path: Path, adapter: str) -> Source:
    """Return what the source holds.

    Raises SourceGone, SourceUnreadable (`source_too_large` with `path`, `limit` in bytes above SIZE_CAP), SourceFormat
    with `path` and `adapter` when nothing in it is of the format, as `source_damaged` when it is JSON that is not whole.
    A file without anything is a source without sessions: its first message may still come.
    """
    text = _body(_whole(path, SIZE_CAP))
    values, faults = _values(text) if text.startswith(("{", "[")) else ([], Counter[str]())
    sessions = tuple(_sessions(values))
    if any(session.is_known for session in sessions) or not text:
        return Source(sessions, faults)
    tree = _tree(path, values)
    if tree is not None:
        return _from_tree(*tree, mapping(values[0]))
    is_json = text.startswith(("{", "["))
    raise SourceFormat("source_damaged" if is_json and not values else None, path=str(path), adapter=adapter)


def _whole(path: Path, limit: int) -> bytes:
    with opened(path) as file:
        if size_of(file) > limit:
            raise SourceUnreadable("source_too_large", path=str(path), limit=SIZE_CAP)
        file.seek(0)
        return file.read(limit)


def _body(data: bytes) -> str:
    """Return the text from its first character on that is not blank, without what the exporting command says first."""
    text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig", "replace").lstrip()
    begin = text.find("{") if text.startswith(_BANNER) else 0
    return text[max(begin, 0) :]


def _values(text: str) -> tuple[list[Any], Counter[str]]:
    """Return the JSON values of a text, one after another; if one is broken, those that stand on whole lines."""
    values: list[Any] = []
    found = _SOLID.search(text)
    try:
        while found:
            value, end = _DECODER.raw_decode(text, found.start())
            values.append(value)
            found = _SOLID.search(text, end)
    except (ValueError, RecursionError):
        data = text.encode()
        lines = list(records(io.BytesIO(data), 0, len(data)))
        faults = Counter(line.fault for line in lines if line.fault)
        return [line.value for line in lines if not line.fault], faults
    return values, Counter()


def _sessions(values: list[Any]) -> Iterator[Session]:
    """Yield a session for each export or list, and one for all messages that stand alone."""
    loose: list[Any] = []
    for value in values:
        if isinstance(value, list):
            yield Session({}, value)
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            yield Session(mapping(value.get("info")), value["messages"])
        else:
            loose.append(value)
    if loose:
        yield Session({}, loose)


def _begins(text: str) -> bool:
    """True when the first object inside a document that need not be whole is a session's or a message."""
    opening = _OPENING.match(text)
    if opening is None:
        return False
    try:
        first, _ = _DECODER.raw_decode(text, opening.end())
    except (ValueError, RecursionError):
        return False
    return is_message(first) or (text.startswith("{") and is_session(mapping(first)))


def _tree(path: Path, values: list[Any]) -> tuple[Path, Path] | None:
    """Return the folders of messages and of their parts, if `path` is the file of a session in a storage tree.

    It is `session/<project>/<id>.json`; in the oldest trees `session/info/<id>.json`.
    """
    session = path.stem
    if len(values) != 1 or string(mapping(values[0]), "id") != session or path.parent.parent.name != "session":
        return None
    root = path.parents[2]
    if (root / "message" / session).is_dir():
        return root / "message" / session, root / "part"
    old = path.parents[1]
    return (old / "message" / session, old / "part" / session) if (old / "message" / session).is_dir() else None


def _from_tree(folder: Path, parts_folder: Path, info: dict[str, Any]) -> Source:
    """Return the session whose messages and parts are files of their own (session-formats §3.3 a, b)."""
    budget = _Budget(SIZE_CAP)
    found = list(budget.objects(folder))
    found.sort(key=lambda one: number(mapping(one[1].get("time")).get("created")) or 0)
    messages = []
    for name, message in found:
        parts = [part for _, part in budget.objects(parts_folder / name)]
        own: dict[str, Any] = {"id": name}
        messages.append({"info": own | message, "parts": parts})
    return Source((Session(info, messages, is_live=True),), budget.faults)


@dataclass(slots=True)
class _Budget:
    """Reads the files of a tree as long as they are not too many bytes together."""

    left: int
    faults: Counter[str] = field(default_factory=Counter)

    def objects(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the objects of a folder's files by their names, which ascend in time; links are not followed."""
        if folder.is_symlink():
            return
        for path in sorted(folder.glob("*.json")):
            if path.is_symlink() or not path.is_file():
                self.faults["malformed"] += 1
                continue
            try:
                data = _whole(path, self.left)
            except SourceGone:
                continue  # taken back by a revert meanwhile
            self.left -= len(data)
            values, _ = _values(_body(data))
            if len(values) != 1 or not isinstance(values[0], dict):
                self.faults["malformed"] += 1
                continue
            yield path.stem, values[0]
