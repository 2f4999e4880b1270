"""The review: what awaits a person, how much it matters, and what stood before a doubt (seed 004 ADR-5, §6.3)."""

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum

from mex_pipeline.domain.memory import Confidence, Event, HistoryEntry, Memory, Source
from mex_pipeline.domain.timeline import steps


class Kind(StrEnum):
    """What a person is asked: about an inference, two values that may be one, a candidate held back, a value long unchecked."""

    DOUBT = "doubt"
    MERGE = "merge"
    HOLD = "hold"
    DUE = "due"


class Importance(IntEnum):
    """In which order a person is asked: what costs most when it is wrong comes first."""

    OVER_CONFIRMED = 0
    UNIQUE = 1
    HELD = 2
    CONTRADICTION = 3
    MERGE = 4
    DUE = 5
    LONE = 6


OF_KINDS = {Kind.HOLD: Importance.HELD, Kind.MERGE: Importance.MERGE, Kind.DUE: Importance.DUE}
"""How much a kind matters by itself; a doubt matters by what it stands over or against."""


def awaits_review(memory: Memory, now: str) -> bool:
    """True while the memory is shown, inferred by a model and not confirmed by a person (seed 004 §6.3)."""
    return memory.is_active(now) and _is_doubt(memory)


def before_doubt(memory: Memory, lines: Sequence[HistoryEntry]) -> Memory | None:
    """Return the state that a doubtful value replaced in its slot, None when it replaced nothing.

    `lines` is the memory's history, oldest first. A doubt upon a doubt does not hide the value before both: the last
    state that needed no review counts; where every value was a doubt, the last that was more than a guess.
    """
    here = [state for state in _replaced(memory, lines) if state.slot == memory.slot]
    return max(reversed(here), key=_standing, default=None)


def _replaced(memory: Memory, lines: Sequence[HistoryEntry]) -> list[Memory]:
    """The states whose values gave way one after the other; one that came back takes what came after it along."""
    known = [step.state for step in steps(memory, lines)]
    replaced: list[Memory] = []
    for line, before in zip(lines[len(lines) + 1 - len(known) :], known, strict=False):
        if line.old_content is None or line.new_content in (None, line.old_content):
            continue
        if line.event is Event.UPDATE:
            replaced.append(before)
        elif line.event in (Event.RESTORE, Event.UNDO):
            back = [number for number, state in enumerate(replaced) if state.content == line.new_content]
            if back:
                del replaced[back[-1] :]
            elif line.event is Event.UNDO:  # of an undo: the later value gives way to none, it replaces again
                replaced.append(before)
    return replaced


def sources_of_value(memory: Memory, lines: Sequence[HistoryEntry], sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return where the present content was said; a memory keeps the sources of its earlier values too."""
    jobs = {line.job_id for line in lines if line.new_content == memory.content}
    return tuple(source for source in sources if not lines or source.job_id in jobs)


def is_rewritten(memory: Memory, lines: Iterable[HistoryEntry]) -> bool:
    """Return whether the present content is one that somebody wrote: neither a job nor quoted words stand behind it.

    `lines` is the memory's history. What only brought the content back does not tell where it came from.
    """
    told = [line for line in lines if line.new_content == memory.content and line.event not in _BRINGS_BACK]
    return bool(told) and not any(line.job_id or line.evidence for line in told)


_BRINGS_BACK = (Event.RESTORE, Event.UNDO)


def _is_doubt(memory: Memory) -> bool:
    return memory.is_ai_inferred and memory.confidence is not Confidence.CONFIRMED


def _standing(state: Memory) -> tuple[bool, bool]:
    return not _is_doubt(state), state.confidence is not Confidence.UNCERTAIN
