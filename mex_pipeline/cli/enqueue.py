"""`mex extract --async`: what a hook runs at every turn of an agent, so no more is loaded than it takes.

The words of a hook are read here, without Typer. Any others are left to Typer, and end in the same `request`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mex_pipeline import messages
from mex_pipeline.cli import opened, output
from mex_pipeline.cli.reasons import pause_text
from mex_pipeline.clock import parse_span
from mex_pipeline.domain.job import Trigger
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import jobs, pauses, requests, workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mex_pipeline.app import OpenHome
    from mex_pipeline.domain.job import Job

_ASKED = Trigger.COMMAND
_FLAGS = frozenset(("--async", "--json", "--text"))
_OPTIONS = {
    "--file": "file", "--from": "adapter", "--session": "session", "--subject": "subject", "--delay": "delay",
    "--lang": "--lang",
}  # fmt: skip


def carried_out(arguments: Sequence[str]) -> bool:
    """Do what `extract … --async …` says, if these are plainly its words; False, and nothing done, for any others."""
    given = read(arguments)
    if given is None:
        return False
    request(**given)
    return True


def read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return what `request` takes; None for words that ask for something else, or that Typer might refuse.

    The language and the form of the output are chosen before the command is known (cli/dispatch.py).
    """
    given: dict[str, str] = {}
    words = iter(arguments)
    if next(words, "") != "extract":
        return None
    for word in words:
        option, has_value, value = word.partition("=")
        if word in _FLAGS:
            name = word
        elif option in _OPTIONS:
            name, value = _OPTIONS[option], value if has_value else next(words, "")
            if not value or value.startswith("-"):
                return None
        elif word.startswith("-") and word != "-":
            return None
        else:
            name, value = "text", word
        if name in given:
            return None
        given[name] = value
    if "--async" not in given:
        return None
    taken = {name: value for name, value in given.items() if not name.startswith("--") and name != "file"}
    return taken | {"file": Path(given["file"]) if "file" in given else None, "is_text": "--text" in given}


def request(
    text: str | None = None,
    file: Path | None = None,
    adapter: str | None = None,
    *,
    is_text: bool = False,
    subject: str = "user",
    session: str | None = None,
    delay: str | None = None,
) -> None:
    """Queue the extraction of a text or a file, see to a worker, and print the job's id (product D2).

    A file of several sessions is a batch, whose id is printed.
    """
    given = checked(text, file, adapter, subject=subject, is_text=is_text, session=session)
    seconds = 0.0 if delay is None else parse_span(delay).total_seconds()
    with opened.home() as home:
        if file is None:
            job, merged = jobs.submit_text(home, given, trigger=_ASKED, subject=subject, delay=seconds)
            announce(home, job, merged=merged)
            return
        asked = requests.for_file(file, adapter=adapter, subject=subject, session=session)
        if len(asked) == 1:
            job, merged = jobs.submit(home, asked[0], trigger=_ASKED, delay=seconds)
            announce(home, job, merged=merged)
        else:
            announce_batch(home, *jobs.submit_all(home, asked, trigger=_ASKED, delay=seconds))


def announce(home: OpenHome, job: Job, *, merged: bool) -> None:
    """See that a worker is there for a job of the background, and print the job's id."""
    for pause in jobs.held_by(home, job):
        output.note(pause_text(pause))
    submitted = jobs.Submitted(job.id, job.state, merged, workers.ensure_running(home))
    said = messages.text("done.merged" if merged else "done.queued", id=job.id)
    output.emit(submitted.to_plain(), [said, messages.text(f"note.worker_{submitted.worker}", id=job.id)])


def announce_batch(home: OpenHome, batch: str, submitted: Sequence[tuple[Job, bool]]) -> None:
    """The same for a batch: its own id, and one for each of its jobs."""
    for pause in pauses.current(home):
        output.note(pause_text(pause))
    shown = jobs.SubmittedBatch(batch, tuple(submitted), workers.ensure_running(home))
    said = [messages.text("done.batch_queued", id=batch, count=len(submitted))]
    joined = sum(merged for _, merged in submitted)
    said += [messages.text("done.batch_joined", count=joined)] if joined else []
    output.emit(shown.to_plain(), [*said, messages.text(f"note.worker_{shown.worker}", id=batch)])


def checked(
    text: str | None, file: Path | None, adapter: str | None, *, subject: str, is_text: bool, session: str | None = None
) -> str:
    """Return the words to extract from, "" for a file's; raises InvalidInput for a request that contradicts itself."""
    if (text is None) == (file is None):
        raise InvalidInput("text_or_file")
    if session is not None and file is None:
        raise InvalidInput("session_needs_file")
    require_subject(subject)
    return "" if text is None else _given(text, adapter, is_text=is_text)


def require_subject(subject: str) -> None:
    """Raise InvalidInput unless it says whom a text is about (product B3)."""
    if subject not in ("user", "other"):
        raise InvalidInput("unknown_subject", value=subject)


def _given(text: str, adapter: str | None, *, is_text: bool) -> str:
    """The text itself, or standard input for `-`; a path that exists is most likely a mistake (product G10)."""
    if adapter not in (None, "plain"):
        raise InvalidInput("from_needs_file", adapter=adapter)
    if text == "-":
        return sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not is_text and text.strip() and len(text) < 4096 and "\n" not in text and "\0" not in text and _exists(text):
        raise InvalidInput("text_is_a_path", path=text)
    return text


def _exists(text: str) -> bool:
    try:
        return Path(text).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
