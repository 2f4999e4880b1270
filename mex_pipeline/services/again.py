"""`mex extract --again`: a session read anew by what serves now, from its source or from its kept turns (product B10).

Cursor and message keys are not asked and the cursor stays where it is; what was read counts as read. How the job reads
it is in rereading.py.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.port import Adapter, Archive, SessionStore
from mex_pipeline.app import App, OpenHome
from mex_pipeline.domain.conversation import Cursor, Transcript, Turn, settled
from mex_pipeline.domain.kept import KeptTurn, matching
from mex_pipeline.domain.purge import untold
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput, NotConfigured, SourceGone
from mex_pipeline.services import estimate
from mex_pipeline.services.conversations import conversation_key
from mex_pipeline.services.estimate import Estimate
from mex_pipeline.services.files import adapter_for, key_of, require_file, source_key
from mex_pipeline.services.jobs import AGAIN, Request
from mex_pipeline.services.transcripts import read
from mex_pipeline.store import cursors, turns


def with_options(app: OpenHome, asked: Request, *, is_preview: bool, model: str | None) -> Request:
    """Return the request as a preview, which writes nothing, or asked of another model of the endpoint; else as it is.

    Raises NotConfigured("again_model_needs_endpoint") for a model where no endpoint is configured.
    """
    if model is not None and not app.settings.llm.base_url:
        raise NotConfigured("again_model_needs_endpoint", model=model)
    options = ({"preview": True} if is_preview else {}) | ({} if model is None else {"model": model})
    if not options:
        return asked
    own = ":".join(["preview" if is_preview else AGAIN, model or "", asked.lock or ""])
    return replace(asked, payload=asked.payload | options, key=own)


def request(app: OpenHome, given: str, *, adapter: str | None, subject: str | None) -> Request:
    """Return the request to read a session anew: a session id or its beginning, a path (gone or not), `path#session`.

    Without `subject` the session is about whom its last job took it to be about. Raises InvalidInput: as
    `kept.matching`, `session_needed` (`path`, `count`), `session_not_in_file` (`session`, `path`), and what a path
    raises that cannot be read.
    """
    key = _as_source(given)
    if key is not None:
        chosen = adapter_for(adapter, require_file(key.path))
        key = _one_session(chosen, key, app.settings.extraction.quiet_seconds)
        called = _called(chosen, key)
        return _request(app, chosen.name, _kept_as(app, chosen.name, called, key), key, called, subject)
    known = [one for one in app.db.all(turns.known_sessions()) if adapter in (None, one[0])]
    path = str(Path(given).expanduser().absolute())
    by_path = next(((agent, name) for agent, name, source in known if source in (given, path)), None)
    agent, session = by_path or matching(given, {(agent, name) for agent, name, _ in known}, "--from")
    stored = [source for *one, source in known if one == [agent, session] and source is not None]
    found = next(_existing(stored), None)
    source = next(iter(stored), None) if found is None else str(found)
    return _request(app, agent, session, found, source, subject)


def _request(
    app: OpenHome, agent: str, session: str, key: SourceKey | None, source: str | None, subject: str | None
) -> Request:
    """`kept` names the session whose turns are read when its source is gone; given text has no `source`."""
    name = source or session
    about = subject or app.db.first(turns.subject_of(name)) or "user"
    payload = {"adapter": agent, "kept": session, "source": source, "subject": about}
    if key is not None:
        payload |= {"path": str(key.path)} | ({} if key.session is None else {"session": key.session})
    return Request(AGAIN, payload, f"{AGAIN}:{name}", lock=name)


def _called(adapter: Adapter, key: SourceKey) -> str:
    """How jobs and memories call a source: a conversation of an export is the same in every export."""
    is_exported = isinstance(adapter, Archive) and key.session is not None
    return str(conversation_key(adapter.name, key.session or "") if is_exported else key)


def _as_source(given: str) -> SourceKey | None:
    """The source that is named by its path, if there is one."""
    try:
        key = source_key(str(Path(given).expanduser()))
        return replace(key, path=key.path.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):
        return None


def _existing(stored: list[str]) -> Iterator[SourceKey]:
    for one in stored:
        key = source_key(one)
        if key.path.is_absolute() and key.path.exists():
            yield key


def _one_session(adapter: Adapter, key: SourceKey, quiet_seconds: float) -> SourceKey:
    """Return the source of exactly one session, or raise InvalidInput; a file that is one session needs no name."""
    names = _sessions(adapter, key.path)
    if key.session is None:
        if names is not None and len(names) != 1:
            raise InvalidInput("session_needed", path=str(key.path), count=len(names))
        return replace(key, session=names[0] if names else None)
    single = SourceKey(key.path)
    known = names or [read(single, adapter, Cursor(), quiet_seconds=quiet_seconds, redact=False).session_id]
    if key.session not in known:
        raise InvalidInput("session_not_in_file", session=key.session, path=str(key.path))
    return single if names is None else key


def _sessions(adapter: Adapter, path: Path) -> list[str | None] | None:
    """The sessions of a file that may hold many; None for one that is a single session."""
    if isinstance(adapter, Archive):
        conversations = adapter.conversations(path)
        return None if conversations is None else [one.session_id for one in conversations if one.session_id]
    found = adapter.sessions(path) if isinstance(adapter, SessionStore) else None
    return None if found is None else list(found)


def _kept_as(app: OpenHome, agent: str, source: str, key: SourceKey) -> str:
    """The session under which turns of a source are kept, should it be gone when the job runs."""
    known = app.db.all(turns.known_sessions())
    named = (session for own, session, stored in known if (own, stored) == (agent, source))
    return next(named, key.session or source)


def estimated(app: App, asked: Request) -> Estimate:
    """Return what reading the session anew would cost; raises as the job would."""
    quiet = app.settings.extraction.quiet_seconds
    read_now = from_source(asked.payload, quiet)
    kept = app.db.all(turns.of_session(asked.payload["adapter"], asked.payload["kept"])) if read_now is None else []
    found = read_now or from_kept(asked.payload, kept)
    keys = [] if kept else [turn.key for turn in found.turns]
    left = readable(found, set(app.db.all(cursors.purged(found.agent, keys))))
    return estimate.of_turns(app, left, frozenset(turn.key for turn in left))


def readable(found: Transcript, gone: Collection[str]) -> tuple[Turn, ...]:
    """Return the turns to read: not what may still grow, nor what said something that was forgotten for good (product B6)."""
    turns = settled(found)
    left_out = untold(turns, gone)
    return tuple(turn for turn in turns if turn.key not in left_out)


def from_source(payload: dict[str, Any], quiet_seconds: float) -> Transcript | None:
    """Return the session as its source has it, None when that is gone; raises SourceUnreadable, SourceFormat."""
    if "path" not in payload:
        return None
    key, adapter = key_of(payload), registry.find(payload["adapter"])
    try:
        conversations = adapter.conversations(key.path) if isinstance(adapter, Archive) else None
        if conversations is not None:
            return next((one for one in conversations if one.session_id == key.session), None)
        return read(key, adapter, Cursor(), quiet_seconds=quiet_seconds, redact=False)
    except SourceGone:
        return None


def from_kept(payload: dict[str, Any], kept: list[KeptTurn]) -> Transcript:
    """Return the session as far as its turns are kept; raises SourceGone when none are."""
    if not kept:
        raise SourceGone(path=payload["source"] or payload["kept"])
    return Transcript(
        agent=payload["adapter"],
        turns=tuple(_turn(one) for one in kept),
        cursor=Cursor(),
        session_id=kept[0].session_id,
        project=next((one.project for one in kept if one.project), None),
        has_speakers=any(one.kind != "document" for one in kept),
    )


def _turn(kept: KeptTurn) -> Turn:
    return Turn(
        kept.key,
        "user" if kept.role == "user" else "assistant",
        kept.text,
        at=kept.said_at,
        message_id=kept.message_id,
        session_id=kept.session_id,
        kind=kept.kind,  # type: ignore[arg-type]  # what a Turn had when it was kept
    )
