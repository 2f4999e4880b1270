"""What an extraction would send, without sending it (product C10)."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.plain import parse_plain
from mex_pipeline.adapters.port import Adapter
from mex_pipeline.app import App
from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Cursor, Turn, settled
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.services.extractor import ExtractorKind
from mex_pipeline.services.files import adapter_for, require_file
from mex_pipeline.services.transcripts import read
from mex_pipeline.store import cursors


@dataclass(frozen=True, slots=True)
class Estimate:
    """New turns, their estimated tokens (the prompt around them not counted), and calls that would be made."""

    turns: int
    user_turns: int
    tokens: int
    calls: int

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)


def of_file(app: App, path: Path, *, adapter: str | None) -> Estimate:
    """Return what extracting the file would cost now."""
    real = require_file(path)
    return of_source(app, SourceKey(real), adapter_for(adapter, real))


def of_source(app: App, key: SourceKey, adapter: Adapter) -> Estimate:
    """Return what extracting a source would cost now; raises SourceGone, SourceUnreadable, SourceFormat."""
    kind: ExtractorKind = "model" if app.settings.llm.is_configured else "rules"
    since = app.db.first(cursors.position(str(key), kind, adapter.name)) or Cursor()
    transcript = read(key, adapter, since, quiet_seconds=app.settings.extraction.quiet_seconds)
    turns = settled(transcript)
    seen = set(app.db.all(cursors.seen(transcript.agent, [turn.key for turn in turns], kind)))
    return _of(app, turns, frozenset(turn.key for turn in turns if turn.key not in seen))


def of_text(app: App, text: str) -> Estimate:
    """Return what extracting the text would cost."""
    turns = parse_plain(text).turns
    return _of(app, turns, frozenset(turn.key for turn in turns))


def _of(app: App, turns: tuple[Turn, ...], new: frozenset[str]) -> Estimate:
    chunks = cut(turns, new, app.settings.extraction.chunk_tokens)
    sent = [turn for chunk in chunks for _, turn, _ in chunk.numbered]
    return Estimate(
        turns=len(new),
        user_turns=sum(turn.role == "user" for turn in turns if turn.key in new),
        tokens=sum(estimate_tokens(turn.text) for turn in sent),
        calls=len(chunks) if app.settings.llm.is_configured else 0,
    )
