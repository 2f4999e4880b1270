"""Why jobs wait or ended, and what is paused, in words (product D3, H8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mex_pipeline import messages
from mex_pipeline.cli import output
from mex_pipeline.clock import from_iso, iso_of_millis
from mex_pipeline.services import pauses

if TYPE_CHECKING:
    from mex_pipeline.app import OpenHome
    from mex_pipeline.services.pauses import Pause

_NAMES = {
    "rescued:dead": "rescued_dead",
    "rescued:lease": "rescued_lease",
    "rescued:stuck": "rescued_stuck",
}
"""Reasons whose names cannot be names of messages."""


def reason_text(reason: str | None) -> str:
    """Return why a job waits or ended, in words; an id that has none as it is."""
    if not reason:
        return ""
    if reason.startswith("merged:"):
        return messages.text("reason.merged", id=reason.removeprefix("merged:"))
    name = _NAMES.get(reason, reason)
    if messages.knows(f"reason.{name}"):
        return messages.text(f"reason.{name}")
    if messages.knows(f"outcome.{name}"):
        return messages.text(f"outcome.{name}")
    return messages.render_code(name, {})[0].rstrip(".。")


def moment(at: str) -> str:
    """Return a stored moment as local date and time with seconds: a story, or a pause, may be over within a minute."""
    return from_iso(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def pause_text(pause: Pause) -> str:
    """Return a pause in words, and what ends it."""
    until = moment(iso_of_millis(pause.until) or "") if pause.until is not None else ""
    if pause.job_id is not None:
        return messages.text("budget.parked", reason=reason_text(pause.reason), id=pause.job_id)
    if pause.today is not None and pause.today.cap is not None:
        return messages.text("budget.day", spent=pause.today.spent, cap=pause.today.cap, until=until)
    if not pause.by_person:
        name = "note.paused" if pause.needs_person else "note.paused_for_now"
        return messages.text(name, reason=reason_text(pause.reason), until=until)
    if pause.scope == pauses.EVERYTHING:
        return messages.text("note.paused_all", until=until) if until else messages.text("note.paused_all_open")
    return messages.text("note.paused_model", until=until) if until else messages.text("note.paused_model_open")


def note_pauses(home: OpenHome) -> None:
    """Say on stderr what is paused, and what lets it go."""
    for pause in pauses.current(home):
        output.note(pause_text(pause))
