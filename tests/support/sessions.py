"""Small Claude Code session files, made by hand in the client's shapes."""

import json
from pathlib import Path


class SessionFile:
    """A session on disk that grows record by record."""

    def __init__(self, path: Path, session: str = "s1") -> None:
        self.path = path
        self.session = session
        self.count = 0

    def _append(self, role: str, message: dict[str, object]) -> None:
        self.count += 1
        record = {
            "parentUuid": None, "isSidechain": False, "cwd": "/home/lin/notes", "sessionId": self.session,
            "version": "2.1.40", "type": role, "message": message, "uuid": f"{self.session}-{self.count}",
            "timestamp": f"2026-03-01T08:{self.count // 60:02}:{self.count % 60:02}.250Z",
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def user(self, *texts: str) -> "SessionFile":
        """The user says something."""
        for text in texts:
            self._append("user", {"role": "user", "content": text})
        return self

    def assistant(self, *texts: str) -> "SessionFile":
        """The assistant answers, each text a message of its own."""
        for text in texts:
            content = [{"type": "text", "text": text}]
            self._append("assistant", {"id": f"m-{self.session}-{self.count}", "role": "assistant", "content": content})
        return self

    def forked_to(self, path: Path) -> "SessionFile":
        """A resumed copy: the same messages under another path and session id."""
        copied = self.path.read_text(encoding="utf-8").replace(f'"sessionId": "{self.session}"', '"sessionId": "fork"')
        path.write_text(copied, encoding="utf-8")
        fork = SessionFile(path, "fork")
        fork.count = self.count
        return fork

    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size
