"""Databases as the original meX left them at its versions 2 to 5 (seed 004 §3.1, §3.6, ADR-4)."""

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

from mex_pipeline.store import migrations
from mex_pipeline.store.database import Database

VERSIONS = (2, 3, 4, 5)
_HISTORY = """
CREATE TABLE history (
  id TEXT PRIMARY KEY, memory_id TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('add', 'update', 'forget', 'restore', 'approve', 'delete')),
  old_content TEXT, new_content TEXT,
  actor TEXT NOT NULL CHECK (actor IN ('user', 'ai')),
  evidence TEXT, created_at TEXT NOT NULL
);
CREATE TABLE llm_usage (
  id TEXT PRIMARY KEY, purpose TEXT NOT NULL, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE extraction_state (
  source_file TEXT PRIMARY KEY, last_position INTEGER NOT NULL, last_extracted_at TEXT NOT NULL
);
CREATE VIRTUAL TABLE memories_fts USING fts5 (
  content, content = 'memories', content_rowid = 'rowid', tokenize = 'trigram'
);
CREATE INDEX idx_memories_created ON memories (created_at);
CREATE INDEX idx_history_memory ON history (memory_id);
"""


def _memories(version: int) -> str:
    layer = "layer TEXT NOT NULL CHECK (layer IN ('stable', 'state', 'event'))," if version < 4 else ""
    expires = ", expires_at TEXT" if version == 5 else ""
    unique = (
        "CREATE UNIQUE INDEX idx_unique_slot_v2 ON memories (topic, sub_topic) "
        "WHERE forgotten_at IS NULL AND sub_topic IS NOT NULL;"
    )
    return f"""
        CREATE TABLE memories (
          id TEXT PRIMARY KEY, {layer} topic TEXT, sub_topic TEXT, content TEXT NOT NULL,
          is_ai_inferred INTEGER NOT NULL CHECK (is_ai_inferred IN (0, 1)),
          confidence TEXT NOT NULL
            CHECK (confidence IN ('confirmed', 'explicit', 'inferred', 'speculated', 'uncertain')),
          evidence TEXT, embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, forgotten_at TEXT,
          forgotten_reason TEXT{expires}
        );
        {unique if version == 2 else ""}
    """


class OldFile:
    """An old database under construction; ids are 32 hex digits, as its commands made them."""

    def __init__(self, path: Path, version: int, *, journal: str = "wal") -> None:
        self.path, self.version = path, version
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path)
        self.connection.execute(f"PRAGMA journal_mode = {journal}")
        self.connection.executescript(_memories(version) + _HISTORY + f"PRAGMA user_version = {version};")

    def memory(self, content: str, slot: str = "", *, at: str = "2026-01-01T00:00:00Z", **columns: Any) -> str:
        """Insert a memory with its line of history and its place in the index; returns its id."""
        topic, _, sub_topic = slot.partition(".")
        lines = columns.pop("lines", None)
        row = {
            "id": uuid.uuid4().hex, "topic": topic or None, "sub_topic": sub_topic or None, "content": content,
            "is_ai_inferred": 0, "confidence": "confirmed", "evidence": None, "embedding": None, "created_at": at,
            "updated_at": at, "forgotten_at": None, "forgotten_reason": None,
        } | ({"layer": "stable" if sub_topic else "event"} if self.version < 4 else {}) | columns  # fmt: skip
        rowid = self._insert("memories", row)
        self.connection.execute("INSERT INTO memories_fts (rowid, content) VALUES (?, ?)", (rowid, content))
        for event, old, new, when in [("add", None, content, at)] if lines is None else lines:
            self.line(row["id"], event, old, new, at=when)
        return str(row["id"])

    def line(
        self, memory_id: str, event: str, old: str | None, new: str | None, *, at: str, actor: str = "user"
    ) -> str:
        """Insert a line of history; returns its id."""
        row = {
            "id": uuid.uuid4().hex, "memory_id": memory_id, "event": event, "old_content": old, "new_content": new,
            "actor": actor, "evidence": None, "created_at": at,
        }  # fmt: skip
        self._insert("history", row)
        return str(row["id"])

    def usage(self, prompt: int, completion: int, purpose: str = "extract") -> None:
        """Insert what a call cost."""
        self._insert(
            "llm_usage",
            {
                "id": uuid.uuid4().hex, "purpose": purpose, "model": "m1", "prompt_tokens": prompt,
                "completion_tokens": completion, "created_at": "2026-01-02T00:00:00Z",
            },
        )  # fmt: skip

    def position(self, source_file: str, position: int) -> None:
        """Insert how far a session file was read."""
        row = {"source_file": source_file, "last_position": position, "last_extracted_at": "2026-01-02T00:00:00Z"}
        self._insert("extraction_state", row)

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        return self.connection.execute(sql, list(row.values())).lastrowid or 0

    def close(self) -> Path:
        """Commit and close: the file is whole, nothing lies beside it."""
        self.connection.commit()
        self.connection.close()
        return self.path


def typical(path: Path, version: int) -> Path:
    """A file with some of everything."""
    old = OldFile(path, version)
    old.memory("小陈", "basic_info.name")
    old.memory(
        "前进云计算",
        "work.company",
        at="2026-01-01T00:00:00Z",
        updated_at="2026-03-01T00:00:00Z",
        lines=[
            ("add", None, "远光软件", "2026-01-01T00:00:00Z"),
            ("update", "远光软件", "前进云计算", "2026-02-01T00:00:00Z"),
            ("update", "前进云计算", "前进云计算", "2026-03-01T00:00:00Z"),
        ],
    )
    old.memory("正在准备答辩", "work", is_ai_inferred=1, confidence="speculated", evidence="用户说答辩")
    old.memory("旧居", "basic_info.location", forgotten_at="2026-02-02T00:00:00Z", forgotten_reason="moved")
    old.usage(120, 7)
    old.usage(30, 5, "import")
    old.position("/somewhere/session.jsonl", 4711)
    return old.close()


def table(path: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table, read past all of our code."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {name} ORDER BY rowid")]


def migrate(path: Path) -> list[Path]:
    """Bring a file to the present version; returns what it told of."""
    told: list[Path] = []
    database = Database.open(path)
    try:
        assert migrations.ensure_current(database, told.append) is False
    finally:
        database.close()
    return told


def contents_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path in there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain(identifier: str) -> str:
    """An id as the original wrote it."""
    return identifier.replace("-", "")


def backups(home: Path) -> list[Path]:
    """What lies in the home's folder of copies."""
    return sorted((home / "backups").iterdir())
