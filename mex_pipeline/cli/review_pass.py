"""The interactive pass of `mex review`: one question after the other, every answer written at once (seed 004 ADR-5).

Imported only at a terminal: it opens the door to questionary.
"""

from collections import Counter
from contextlib import suppress

import questionary

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import ask, output
from mex_pipeline.cli.options import t
from mex_pipeline.cli.review_text import (
    before_lines,
    beside_lines,
    body_lines,
    declined_lines,
    due_text,
    kind_text,
    place_text,
    said_lines,
    value_text,
)
from mex_pipeline.domain.memory import Actor, Memory
from mex_pipeline.errors import InvalidContent, NotFound, UserError
from mex_pipeline.services import decisions, memories
from mex_pipeline.services import review as service
from mex_pipeline.services.asked import Asked, Held, Pair, Waiting
from mex_pipeline.services.decisions import Keep

_LEFT = ("memory_forgotten", "not_in_review", "review_stale")
"""Codes that say a question left the queue while the person was reading; what is deleted for good is not found."""


def run(app: App, order: service.Order) -> None:
    """Ask about everything that awaits review until it is done or the person leaves; then sum up."""
    queue = service.pending(app, order=order).waiting
    if not queue:
        output.line(t("review.empty"))
        return
    tally: Counter[str] = Counter()
    with suppress(KeyboardInterrupt, EOFError):
        for number, one in enumerate(queue, 1):
            outcome = _settle(app, one.id, f"{number}/{len(queue)}")
            if outcome == "quit":
                break
            tally[outcome] += 1
    counts = {name: tally[name] for name in ("approved", "declined", "edited", "skipped")}
    output.line("")
    output.line(t("review.done", **counts, left=service.pending(app, limit=1).total))


def _settle(app: App, identifier: str, position: str) -> str:
    """Ask one question until it is decided; return `approved`, `declined`, `edited`, `skipped`, `gone` or `quit`."""
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
    """Show the question as it is now, ask, and do what is answered; None when nothing was decided."""
    (asked,) = service.chosen(app, service.Wanted((identifier,)))
    for line in _lines(app, asked, position):
        output.line(line)
    wanted = service.Wanted((identifier,), seen=asked.contents)
    match _answer(asked):
        case "y":
            return _approve(app, wanted)
        case "1":
            return _approve(app, wanted, Keep.MEMORY)
        case "2":
            return _approve(app, wanted, Keep.OTHER)
        case "n":
            return _decline(app, asked, wanted)
        case "e" if isinstance(asked, Waiting):
            return _edit(app, asked.memory, wanted)
        case "s":
            return "skipped"
        case _:
            return "quit"


def _answer(asked: Asked) -> str:
    """Ask the question of this kind; one key answers it."""
    if isinstance(asked, Pair):
        return _key(t("review.ask_merge"), "12nsq")
    if isinstance(asked, Held):
        return _key(t("review.ask_hold"), "ynsq")
    return _key(t("review.ask_due") if asked.due_since else t("review.ask"), "ynesq")


def _approve(app: App, wanted: service.Wanted, keep: Keep | None = None) -> str:
    decisions.approve(app, wanted, actor=Actor.USER, keep=keep)
    return "approved"


def _decline(app: App, asked: Asked, wanted: service.Wanted) -> str:
    has_previous = isinstance(asked, Waiting) and asked.previous is not None
    back = has_previous and _key(t("review.ask_back_key"), "yn") == "y"
    for one in decisions.decline(app, wanted, reason=t("label.declined"), restore_previous=back):
        for line in declined_lines(app, one)[1:]:
            output.line(line)
    return "declined"


def _edit(app: App, memory: Memory, wanted: service.Wanted) -> str | None:
    """Let the person put the content right: it is theirs then, and confirmed; what does not fit its slot is asked again."""
    content = memory.content
    while True:
        content = ask.line(t("ask.new_content"), default=content)
        if content == memory.content:
            output.line(t("review.unchanged"))
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


def _lines(app: App, asked: Asked, position: str) -> list[str]:
    """The question for a person who decides: its slot, the values, the words and where they stand, and the keys."""
    head: list[str] = ["", output.Painted((f"{position} · {place_text(app, asked)}", output.BOLD))]
    if isinstance(asked, Pair):
        return [*head, f"   {kind_text(asked)}", *body_lines(app, asked), t("review.keys_merge")]
    if isinstance(asked, Held):
        return [*head, f"   {kind_text(asked)}", *body_lines(app, asked), t("review.keys_hold")]
    memory = asked.memory
    lines = [*head, *before_lines(app, asked), f"   {t('label.now', text=value_text(app, memory))}"]
    if asked.due_since:
        lines.append(f"   {due_text(asked.due_since)}")
    if memory.evidence and not (asked.sources and asked.sources[-1].quote):
        lines.append(output.evidence_line(memory.evidence))
    return [*lines, *said_lines(asked.sources, with_quote=True), *beside_lines(app, asked), t("review.keys")]
