"""A file that a person or a row names: its real path, and which adapter reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mex_pipeline.adapters import registry
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput

if TYPE_CHECKING:
    from mex_pipeline.adapters.port import Adapter


def require_file(path: Path) -> Path:
    """Return the real path of a readable file; raises InvalidInput for a missing one, a folder or a special file."""
    try:
        real = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput("file_missing", path=str(path)) from error
    if real.is_dir():
        raise InvalidInput("file_is_folder", path=str(path))
    if not real.is_file():
        raise InvalidInput("file_is_special", path=str(path))
    try:
        with real.open("rb"):
            return real
    except OSError as error:
        raise InvalidInput("file_unreadable", path=str(path), detail=error.strerror or "") from error


def adapter_for(name: str | None, path: Path) -> Adapter:
    """Return the named adapter, or the one whose format the file's content has; raises as the registry does."""
    return registry.find(name) if name else registry.detect(path)


def adapter_name(name: str | None, path: Path) -> str:
    """Return the name of what `adapter_for` returns; a built-in adapter is not loaded for that."""
    if name:
        return name if registry.is_built_in(name) else registry.find(name).name
    return registry.recognise(path)


def source_key(stored: str) -> SourceKey:
    """Return the source that a stored key names: what is no file is `path#session`, if its path is one."""
    path, mark, session = stored.rpartition("#")
    if mark and session and not _is_there(stored) and _is_there(path):
        return SourceKey(Path(path), session)
    return SourceKey(Path(stored))


def _is_there(path: str) -> bool:
    """True for something in the file system; a name that it does not even take is not."""
    try:
        return Path(path).exists()
    except OSError:
        return False


def key_of(payload: dict[str, Any]) -> SourceKey:
    """Return the source that a job's payload names."""
    return SourceKey(Path(payload["path"]), payload.get("session"))
