"""The interactive pass of `mex review`: one memory after the other, every answer written at once (seed 004 ADR-5).

Imported only at a terminal: it opens the door to questionary.
"""

from collections import Counter
from contextlib import suppress

import questionary

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import ask, output
from mex_pipeline.cli.options import t
from mex_pipeline.cli.review import declined_lines, source_text, value_text
from mex_pipeline.domain.memory import Actor, Memory
from mex_pipeline.errors import InvalidContent, NotFound, UserError
from mex_pipeline.services import memories
from mex_pipeline.services import review as service

_LEFT = ("memory_forgotten", "not_in_review")
"""Codes that say a memory left the queue while the person was reading; one that is deleted for good is not found."""


def run(app: App) -> None:
    """Ask about everything that awaits review, newest first, until it is done or the person leaves; then sum up."""
    queue = service.pending(app).waiting
    if not queue:
        output.line(t("note.review_empty"))
        return
    tally: Counter[str] = Counter()
    with suppress(KeyboardInterrupt, EOFError):
        for number, one in enumerate(queue, 1):
            outcome = _settle(app, one.memory.id, f"{number}/{len(queue)}")
            if outcome == "quit":
                break
            tally[outcome] += 1
    counts = {name: tally[name] for name in ("approved", "declined", "edited", "skipped")}
    output.line("")
    output.line(t("note.review_done", **counts, left=service.pending(app, limit=1).total))


def _settle(app: App, identifier: str, position: str) -> str:
    """Ask about one memory until it is decided; return `approved`, `declined`, `edited`, `skipped`, `gone` or `quit`."""
    while True:
        try:
            outcome = _ask(app, identifier, position)
        except UserError as error:
            # Somebody else was faster, or the earlier value's slot is taken: said, and looked at again where it still waits.
            output.line(output.joined(*messages.render(error)))
            outcome = "gone" if isinstance(error, NotFound) or error.code in _LEFT else None
        if outcome is not None:
            return outcome


def _ask(app: App, identifier: str, position: str) -> str | None:
    """Show the memory as it is now, ask, and do what is answered; None when nothing was decided."""
    (waiting,) = service.chosen(app, service.Wanted((identifier,)))
    for line in _lines(app, waiting, position):
        output.line(line)
    wanted = service.Wanted((identifier,), seen=waiting.memory)
    match _key(t("ask.review"), "ynesq"):
        case "y":
            service.approve(app, wanted, actor=Actor.USER)
            return "approved"
        case "n":
            return _decline(app, waiting, wanted)
        case "e":
            return _edit(app, waiting.memory, wanted)
        case "s":
            return "skipped"
        case _:
            return "quit"


def _decline(app: App, waiting: service.Waiting, wanted: service.Wanted) -> str:
    back = waiting.previous is not None and _key(t("ask.put_back_key"), "yn") == "y"
    for one in service.decline(app, wanted, reason=t("label.declined"), restore_previous=back):
        for line in declined_lines(app, one)[1:]:
            output.line(line)
    return "declined"


def _edit(app: App, memory: Memory, wanted: service.Wanted) -> str | None:
    """Let the person put the content right: it is theirs then, and confirmed; what does not fit its slot is asked again."""
    content = memory.content
    while True:
        content = ask.line(t("ask.new_content"), default=content)
        if content == memory.content:
            output.line(t("note.review_unchanged"))
            return None
        service.chosen(app, wanted)
        try:
            memories.update(app, memory.id, content=content)
        except InvalidContent as error:
            output.line(output.joined(*messages.render(error)))
        else:
            return "edited"


def _key(question: str, keys: str) -> str:
    """Return the one of `keys` that is pressed, without Enter; anything else is not taken."""
    asked = questionary.text(question, qmark="", validate=lambda _: "/".join(keys))
    buffer = asked.application.current_buffer

    def pressed(_: object) -> None:
        if buffer.text and buffer.text.casefold() in keys:
            asked.application.exit(result=buffer.text.casefold())
        elif buffer.text:
            buffer.reset()

    buffer.on_text_changed += pressed
    return str(asked.unsafe_ask())


def _lines(app: App, waiting: service.Waiting, position: str) -> list[str]:
    """The memory for a person who decides: its slot, the value before, the value now, the words and where they stand."""
    memory = waiting.memory
    lines: list[str] = ["", output.Painted((f"{position} · {_place(app, memory)}", output.BOLD))]
    if waiting.previous is not None:
        lines.append(f"   {t('label.before', text=value_text(app, waiting.previous))}")
    lines.append(f"   {t('label.now', text=value_text(app, memory))}")
    source = waiting.sources[-1] if waiting.sources else None
    if source is not None and source.quote:
        lines.append(output.Painted((f"   {t('label.quote', text=' '.join(source.quote.split()))}", output.FAINT)))
    elif memory.evidence:
        lines.append(output.evidence_line(memory.evidence))
    if source is not None:
        lines.append(f"   {t('label.source', text=source_text(source))}")
    return [*lines, t("ask.review_keys")]


def _place(app: App, memory: Memory) -> str:
    slot = app.schema.find(memory.topic, memory.sub_topic)
    if slot is not None:
        return t("label.slot", label=slot.label, path=slot.path)
    path = ".".join(part for part in (memory.topic, memory.sub_topic) if part)
    return t("label.slot", label=t("label.record"), path=path) if path else t("label.record")
