"""What every query may be bounded by: numbers, and a project's folder."""

from pathlib import Path

MAX_NUMBER = 1_000_000_000


def folder(project: str) -> str:
    """Return a project's folder as sources name it: absolute, `.` and links resolved; "" for the root."""
    return str(Path(project).expanduser().resolve()).rstrip("/")
