"""Reading a session file: which turns would be used, what is dropped, what is new (product H6)."""

import time
from pathlib import Path

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.port import Adapter
from mex_pipeline.domain.conversation import Cursor, Transcript
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable


def adapter_for(name: str | None, path: Path) -> Adapter:
    """Return the named adapter, or the one whose format the file's content has."""
    return registry.find(name) if name else registry.detect(path)


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


def show(path: Path, *, adapter: str | None, quiet_seconds: int, session: str | None = None) -> Transcript:
    """Return the whole of a session as it would be used, held turns included and marked (`mex transcript`)."""
    real = require_file(path)
    transcript = read(real, adapter_for(adapter, real), Cursor(), quiet_seconds=quiet_seconds)
    if session is not None and session != transcript.session_id:
        raise InvalidInput("session_not_in_file", session=session, path=str(path))
    return transcript


def read(path: Path, adapter: Adapter, since: Cursor, *, quiet_seconds: int, until: int | None = None) -> Transcript:
    """Return the turns of a source from a cursor on.

    A file that has not changed for `quiet_seconds` is taken as finished. Raises SourceGone, SourceUnreadable, SourceFormat.
    """
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError as error:
        raise SourceGone(path=str(path)) from error
    except OSError as error:
        raise SourceUnreadable(path=str(path), detail=error.strerror or "") from error
    return adapter.read(path, since, quiet=age >= quiet_seconds, until=until)
