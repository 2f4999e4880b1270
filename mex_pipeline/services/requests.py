"""What a file is asked as: one job, one for each of its sessions, or one that hands out its conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.port import Archive, SessionStore
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput, SourceGone
from mex_pipeline.services.files import adapter_name, require_file
from mex_pipeline.services.jobs import ARCHIVE, IMPORT, Request, extraction, payload

if TYPE_CHECKING:
    from mex_pipeline.adapters.port import Adapter


def for_file(
    path: Path, *, adapter: str | None, subject: str, session: str | None = None, reads_once: bool = False
) -> list[Request]:
    """Return the requests that extract a file: several for a store of sessions, else one.

    A source is named by its real path, so that a symlink and a relative path are one source (product D4, H4), and by its
    `session` where a file holds many. With `reads_once` a source is read whole, whatever was read of it before (seed 004
    §6.4); of an export only what is new is extracted in any case. Raises InvalidInput: as `require_file` and the
    registry, `session_not_in_file` (`session`, `path`), `no_sessions_in_file` (`path`) for an empty store; and
    SourceGone, SourceUnreadable, SourceFormat for a file that has to be looked into and cannot be read.
    """
    real = require_file(path)
    name = adapter_name(adapter, real)
    request = _importing if reads_once else extraction
    if session is None and not registry.may_hold_many(name):
        return [request(name, SourceKey(real), subject)]
    reader = registry.find(name)
    if isinstance(reader, Archive) and reader.conversations(real) is not None:
        key = SourceKey(real, session)
        return [Request(ARCHIVE, payload(name, key, subject), f"{ARCHIVE}:{subject}:{key}")]
    if isinstance(reader, SessionStore) and (found := reader.sessions(real)) is not None:
        chosen = list(found) if session is None else [_present(reader, real, session)]
        if not chosen:
            raise InvalidInput("no_sessions_in_file", path=str(path))
        return [request(name, SourceKey(real, one), subject) for one in chosen]
    if session is not None:
        _require(session, path, reader)
    return [request(name, SourceKey(real), subject)]


def _importing(adapter: str, key: SourceKey, subject: str) -> Request:
    return Request(IMPORT, payload(adapter, key, subject), f"{IMPORT}:{subject}:{key}")


def _present(store: SessionStore, path: Path, session: str) -> str:
    try:
        store.look(path, session)
    except SourceGone as error:
        raise InvalidInput("session_not_in_file", session=session, path=str(path)) from error
    return session


def _require(session: str, path: Path, adapter: Adapter) -> None:
    """Raise InvalidInput unless a file of one session is that session: a hook that mixes up two files is told so."""
    from mex_pipeline.services.transcripts import show  # noqa: PLC0415 - a hook names no session of such a file

    show(path, adapter=adapter.name, quiet_seconds=0, session=session, redact=False)
