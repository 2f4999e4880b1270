"""Reading a session file: which turns would be used, what is dropped, what is new (product H6)."""

import time
from pathlib import Path

from mex_pipeline.adapters.port import Adapter
from mex_pipeline.domain.conversation import Cursor, Transcript
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from mex_pipeline.services.files import adapter_for, require_file


def show(path: Path, *, adapter: str | None, quiet_seconds: int, session: str | None = None) -> Transcript:
    """Return the whole of a session as it would be used, held turns included and marked (`mex transcript`)."""
    real = require_file(path)
    transcript = read(real, adapter_for(adapter, real), Cursor(), quiet_seconds=quiet_seconds)
    if session is not None and session != transcript.session_id:
        raise InvalidInput("session_not_in_file", session=session, path=str(path))
    return transcript


def read(path: Path, adapter: Adapter, since: Cursor, *, quiet_seconds: float, until: int | None = None) -> Transcript:
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
