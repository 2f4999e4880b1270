"""Where a home keeps what: `$MEX_HOME`, default `~/.mex`, folders 0700, files 0600 (product A2)."""

import os
from pathlib import Path
from typing import NamedTuple, Self

from mex_pipeline.errors import ExternalError, InvalidInput

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
_BOM = b"\xef\xbb\xbf"


class Home(NamedTuple):
    """One home folder and the places inside it."""

    root: Path

    @classmethod
    def from_environment(cls) -> Self:
        """Return the home named by MEX_HOME, else `~/.mex`; nothing is created."""
        named = os.environ.get("MEX_HOME", "").strip()
        return cls(Path(named).expanduser().absolute() if named else Path.home() / ".mex")

    @property
    def database(self) -> Path:
        """The data, jobs included."""
        return self.root / "mex.db"

    @property
    def queue(self) -> Path:
        """Huey's file: disposable, losing it loses nothing."""
        return self.root / "queue.db"

    @property
    def config(self) -> Path:
        """Settings."""
        return self.root / "config.yaml"

    @property
    def schema(self) -> Path:
        """The slot schema."""
        return self.root / "schema.yaml"

    @property
    def run(self) -> Path:
        """Lock files of live processes, and what can be made anew."""
        return self.root / "run"

    @property
    def kept_schema(self) -> Path:
        """What schema.yaml holds, as JSON (yaml_cache.py): disposable."""
        return self.run / "schema.json"

    @property
    def logs(self) -> Path:
        """The worker's log."""
        return self.root / "logs"

    @property
    def backups(self) -> Path:
        """Copies of the database and exports that meX itself makes before it changes much."""
        return self.root / "backups"

    def require_parent(self) -> None:
        """Raise InvalidInput when the folder above the home is missing: a mistyped MEX_HOME (product A6)."""
        if not self.root.parent.is_dir():
            raise InvalidInput("home_parent_missing", path=str(self.root), parent=str(self.root.parent))

    def make(self) -> None:
        """Create the home and its folders, private to their owner; raises ExternalError when that is refused."""
        try:
            if self.root.exists() and not self.root.is_dir():
                raise InvalidInput("home_is_file", path=str(self.root))
            for folder in (self.root, self.run, self.logs, self.backups):
                folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            if not self.database.exists():
                self.root.chmod(PRIVATE_FOLDER)  # a folder that was there before may be open to others
        except OSError as error:
            raise ExternalError("home_unwritable", path=str(self.root), detail=error.strerror or "") from error


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 in one step: a reader sees the old text or the new, never half; what fails leaves nothing."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def read_text(path: Path) -> str:
    """Return the file's text; raises InvalidInput: `file_unreadable`, `file_not_utf8` (with the line)."""
    try:
        if path.is_fifo():  # reading would wait for a writer
            raise OSError(0, "not a regular file")
        raw = path.read_bytes()
    except OSError as error:
        detail = error.strerror or type(error).__name__
        raise InvalidInput("file_unreadable", path=str(path), detail=detail) from error
    try:
        return raw.removeprefix(_BOM).decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidInput("file_not_utf8", path=str(path), line=line) from error
