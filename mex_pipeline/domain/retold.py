"""Whether a message that is read anew says what it has said before, in the same words or others (product B5, B10)."""

from collections.abc import Iterable

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.said import Said
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import normalised


def is_retold(candidate: Candidate, said: Iterable[Said], *, is_unique: bool) -> bool:
    """True when the candidate's message has yielded the same before; it then is neither added again nor brought back.

    The same is the same content, or for the same words of the message: in a slot of one value any other wording of a
    value that does not hold any more, elsewhere a content much like the one before.
    """
    source = candidate.source
    if source is None:
        return False
    place = (candidate.topic or None, candidate.sub_topic or None)
    is_retire = candidate.action is Action.RETIRE
    return any(
        _is_same(candidate.content, one, source, is_unique=is_unique and not is_retire)
        for one in said
        if one.key == source.message_key and place in one.places and one.was_retired == is_retire
    )


def _is_same(content: str, one: Said, source: Source, *, is_unique: bool) -> bool:
    if normalised(content) == normalised(one.content):
        return True
    if not _overlap((source.quote_start, source.quote_end), (one.start, one.end)):
        return False
    return not one.holds if is_unique else _are_alike(content, one.content)


def _overlap(first: tuple[int | None, int | None], second: tuple[int | None, int | None]) -> bool:
    """True when two spans share a character; a span that is not known may be any."""
    (start, end), (other_start, other_end) = first, second
    if start is None or end is None or other_start is None or other_end is None:
        return True
    return start < other_end and other_start < end


def _are_alike(first: str, second: str) -> bool:
    """True when one is in the other, or more than half of their pairs of characters are shared."""
    one, other = (_words(content) for content in (first, second))
    if one in other or other in one:
        return True
    pairs, others = ({text[at : at + 2] for at in range(len(text) - 1)} for text in (one, other))
    return 2 * len(pairs & others) > len(pairs | others)


def _words(content: str) -> str:
    """The letters and digits of a content; of a structured one those of its values."""
    fields = text_fields(content)
    shown = " ".join(fields.values()) if fields else content
    return "".join(char for char in normalised(shown) if char.isalnum())
