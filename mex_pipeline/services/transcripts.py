"""Reading a session: how it stands, which turns would be used, what is dropped, what is new (product H6)."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mex_pipeline.adapters.port import Adapter, Archive, Look, SessionStore
from mex_pipeline.app import App
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Transcript
from mex_pipeline.domain.refusal import Refusal, RefusalKind, hidden
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from mex_pipeline.redaction.redact import kinds, redacted
from mex_pipeline.services.files import adapter_for, require_file
from mex_pipeline.store import refusals


def show(
    path: Path,
    *,
    adapter: str | None,
    quiet_seconds: int,
    session: str | None = None,
    redact: bool = True,
    banned: Sequence[Refusal] = (),
) -> Transcript:
    """Return the whole of a session as it would be used, held turns included and marked (`mex transcript`).

    Raises InvalidInput: `session_not_in_file` (`session`, `path`), and `session_needed` (`path`, `count`) for a file
    of several sessions when none is named; SourceGone, SourceUnreadable, SourceFormat.
    """
    real = require_file(path)
    chosen = adapter_for(adapter, real)
    conversations = chosen.conversations(real) if isinstance(chosen, Archive) and session is not None else None
    if conversations is not None:
        found = next((one for one in conversations if one.session_id == session), None)
        if found is None:
            raise InvalidInput("session_not_in_file", session=session, path=str(path))
        return clean(found, redact=redact, banned=banned)
    is_store = isinstance(chosen, SessionStore) and chosen.sessions(real) is not None
    key = SourceKey(real, session if is_store else None)
    try:
        transcript = read(key, chosen, Cursor(), quiet_seconds=quiet_seconds, redact=redact, banned=banned)
    except SourceGone as error:
        if key.session is None:
            raise
        raise InvalidInput("session_not_in_file", session=session, path=str(path)) from error
    if session is not None and session != transcript.session_id:
        raise InvalidInput("session_not_in_file", session=session, path=str(path))
    return transcript


def look(key: SourceKey, adapter: Adapter) -> Look:
    """Return how a source stands; raises SourceGone, SourceUnreadable."""
    if key.session is not None and isinstance(adapter, SessionStore):
        return adapter.look(key.path, key.session)
    try:
        stat = key.path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceGone(path=str(key)) from error
    except OSError as error:
        raise SourceUnreadable(path=str(key), detail=error.strerror or "") from error
    return Look(stat.st_size, int(1000 * stat.st_mtime))


def read(
    key: SourceKey,
    adapter: Adapter,
    since: Cursor,
    *,
    quiet_seconds: float,
    until: int | None = None,
    redact: bool = True,
    banned: Sequence[Refusal] = (),
) -> Transcript:
    """Return the turns of a source from a cursor on, cleaned as `clean` does.

    A source that has not changed for `quiet_seconds` is taken as finished. Raises SourceGone, SourceUnreadable, SourceFormat.
    """
    quiet = time.time() - look(key, adapter).changed_at / 1000 >= quiet_seconds
    if key.session is not None and isinstance(adapter, SessionStore):
        found = adapter.read_session(key.path, key.session, since, quiet=quiet, until=until)
    else:
        found = adapter.read(key.path, since, quiet=quiet, until=until)
    return clean(found, redact=redact, banned=banned)


def clean(transcript: Transcript, *, redact: bool = True, banned: Sequence[Refusal] = ()) -> Transcript:
    """Return a transcript as a model may see it: without secrets, without what meX itself once asked, and without what is
    never to be known again (product B6, F2, F3).

    Each secret stands as `[redacted:kind]` and is counted in `redacted`, an own prompt in `dropped`. To clean twice is to
    clean once. Without `redact` (`privacy.redact_secrets`) the secrets stay.
    """
    spoken = [turn for turn in transcript.turns if not (turn.role == "user" and turn.text.startswith(PROMPT_MARK))]
    dropped = Counter(transcript.dropped)
    dropped["own_prompt"] += len(transcript.turns) - len(spoken)
    if redact:
        spoken = [replace(turn, text=redacted(turn.text)) for turn in spoken]
    cleaned = replace(
        transcript,
        turns=tuple(spoken),
        dropped=dict(+dropped),
        redacted=kinds(turn.text for turn in spoken) if redact else {},
    )
    return hushed(cleaned, banned)


def hushed(transcript: Transcript, banned: Sequence[Refusal]) -> Transcript:
    """Return a transcript whose turns do not say what is never to be known again (product B6)."""
    if not banned:
        return transcript
    return replace(transcript, turns=tuple(replace(turn, text=hidden(turn.text, banned)) for turn in transcript.turns))


def never_again(app: App) -> list[Refusal]:
    """Return what is never to be known again, for `show`."""
    return app.db.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN))
