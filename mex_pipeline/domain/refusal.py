"""What must not be learned again, kept as salted hashes: the words themselves are gone (product B6, C6)."""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from operator import xor

from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.likeness import bare
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.structured import is_date, text_fields
from mex_pipeline.domain.text import fold, normalised, whole

MIN_HIDDEN = 6
"""Folded characters from which a value is recognised inside other words too: a shorter one is in half the language."""

HIDDEN = "█"
"""Stands for each character of a refused value in a text, so that whatever quotes the rest keeps its place (product B3)."""


class RefusalKind(StrEnum):
    """Why something is not learned: forgotten and never to be known again, declined in review, or a merge declined."""

    NEVER_AGAIN = "never_again"
    DECLINED = "declined"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refused value of a place: `slot` as `place` gives it, `length` of the folded value in characters, its salted hash.

    `checksum` is 16 bits of the value, by which a long text is looked through without hashing every stretch of it.
    """

    kind: RefusalKind
    slot: str
    length: int
    checksum: int
    salt: str
    hash: str
    created_at: str

    def meets(self, value: str) -> bool:
        """True when `value` is the refused one, but for case, width, spaces and quotation marks.

        What was declined is met by whatever is the same value (`likeness.are_same`), as it would be said again (product B5).
        """
        return self.is_form(_form(value)) or (self.kind is RefusalKind.DECLINED and self.is_form(bare(value)))

    def is_form(self, form: str) -> bool:
        """True for the refused value as a text that holds it is folded."""
        return len(form) == self.length and _hash(self.salt, form) == self.hash


def place(topic: str | None, sub_topic: str | None) -> str:
    """Return the slot as a refusal names it: `topic.sub_topic`, the topic of a record, or nothing."""
    return ".".join(name for name in (topic, sub_topic) if name)


def refuse(kind: RefusalKind, slot: str, value: str, now: str) -> Refusal:
    """Return the refusal of a value at a place; every one has a salt of its own, so that exports can carry it."""
    form, salt = bare(value) if kind is RefusalKind.DECLINED else _form(value), secrets.token_hex(16)
    return Refusal(kind, slot, len(form), _checksums(form)[-1], salt, _hash(salt, form), now)


def refuse_memory(kind: RefusalKind, memory: Memory, now: str) -> Refusal:
    """Return the refusal of what a memory says where it says it."""
    return refuse(kind, place(memory.topic, memory.sub_topic), memory.content, now)


def never_again(slot: str, content: str, known: Iterable[Refusal], now: str) -> list[Refusal]:
    """Return the refusals by which a content is not learned again, but for those that are `known` already.

    It is refused as it stands; of a structured one each field too that would be recognised inside other words and is no
    date. A shorter field, a degree or a position, says nothing alone.
    """
    here = [one for one in _banned(known) if one.slot == slot]
    fields = (text_fields(content) or {}).values()
    values = {_form(one): one for one in (content, *fields) if one is content or _is_telling(one)}
    return [
        refuse(RefusalKind.NEVER_AGAIN, slot, value, now)
        for form, value in values.items()
        if form and not any(one.is_form(form) for one in here)
    ]


def pair(first: str, second: str) -> str:
    """Return the one value that stands for two contents whose merge was declined, whichever comes first."""
    return "\n".join(sorted((normalised(first), normalised(second))))


def refused(refusals: Iterable[Refusal], slot: str, value: str) -> Refusal | None:
    """Return the refusal that a value at a place meets, if any."""
    return next((one for one in refusals if one.slot == slot and one.meets(value)), None)


def met(refusals: Iterable[Refusal], slot: str, content: str) -> list[Refusal]:
    """Return the never_again refusals that a content meets: it is the value of its place, or it says one, at any place.

    Inside other words only whole words of at least MIN_HIDDEN characters count. Fields are looked at one by one.
    """
    banned = _banned(refusals)
    if not banned:
        return []
    form = _form(content)
    parts = [*(text_fields(content) or {}).values()] or [content]
    said = {one for part in parts for one, _, _ in _spans(part, banned)}
    return [one for one in banned if one in said or (one.slot == slot and one.is_form(form))]


def hidden(text: str, refusals: Iterable[Refusal]) -> str:
    """Return `text` with `HIDDEN` for every character of what is never to be known again, of equal length."""
    spans = [span for _, *span in _spans(text, _banned(refusals))]
    if not spans:
        return text
    chars = list(text)
    for start, end in spans:
        chars[start:end] = HIDDEN * (end - start)
    return "".join(chars)


def split_refused(
    candidates: Iterable[Candidate], refusals: Sequence[Refusal]
) -> tuple[list[Candidate], list[Discarded]]:
    """Return the candidates that may be learned, and the others as `never_again`, without their content (product B6).

    A retraction is one of the others too: it would leave a mark of what was taken back. So is what an extractor made of
    a hidden stretch. Quotes of those that stay are without refused values: a message may have been read before.
    """
    banned = _banned(refusals)
    if not banned:
        return list(candidates), []
    kept: list[Candidate] = []
    discarded: list[Discarded] = []
    for one in candidates:
        if HIDDEN in one.content or met(banned, place(one.topic, one.sub_topic), one.content):
            discarded.append(Discarded("", "never_again"))
        else:
            kept.append(_quietened(one, banned))
    return kept, discarded


def silenced(discarded: Iterable[Discarded], refusals: Sequence[Refusal]) -> list[Discarded]:
    """Return what was discarded for other reasons, without the content and facts of what says a refused value."""
    banned = _banned(refusals)
    return [Discarded("", one.reason) if _says(one, banned) else one for one in discarded]


def _banned(refusals: Iterable[Refusal]) -> list[Refusal]:
    return [one for one in refusals if one.kind is RefusalKind.NEVER_AGAIN]


def _is_telling(field: str) -> bool:
    return not is_date(field) and _is_long(_form(field))


def _is_long(form: str) -> bool:
    """True for a folded value that is recognised inside other words; folded, one sign of hangul is up to three."""
    return len(normalised(form)) >= MIN_HIDDEN


def _says(discarded: Discarded, banned: Sequence[Refusal]) -> bool:
    """True for a refused value of whatever place: of what was discarded the place is not known."""
    texts = (discarded.content, *discarded.facts.values())
    return any(one.meets(text) for text in texts for one in banned) or any(met(banned, "", text) for text in texts)


def _quietened(candidate: Candidate, banned: Sequence[Refusal]) -> Candidate:
    source = candidate.source
    return replace(
        candidate,
        evidence=candidate.evidence and hidden(candidate.evidence, banned),
        quote=candidate.quote and hidden(candidate.quote, banned),
        replaces=candidate.replaces and hidden(candidate.replaces, banned),
        source=source and source._replace(quote=source.quote and hidden(source.quote, banned)),
    )


def _spans(text: str, banned: Sequence[Refusal]) -> Iterator[tuple[Refusal, int, int]]:
    """Yield (refusal, start, end) wherever a refused value of MIN_HIDDEN characters stands in `text` as whole words.

    Each stretch of the folded text is compared by its checksum before it is hashed.
    """
    long = [one for one in banned if one.length >= MIN_HIDDEN]
    if not long:
        return
    folded = fold(text)
    sums = _checksums(folded.text)
    for one in long:
        for first in _alike(sums, one):
            form = folded.text[first : first + one.length]
            span = whole(text, folded, first, one.length) if one.is_form(form) and _is_long(form) else None
            if span is not None:
                yield one, *span


def _alike(sums: list[int], refusal: Refusal) -> Iterator[int]:
    """Yield where stretches begin that have the length and the checksum of the refused value."""
    stretches = list(map(xor, sums[refusal.length :], sums))
    at = -1
    for _ in range(stretches.count(refusal.checksum)):
        at = stretches.index(refusal.checksum, at + 1)
        yield at


def _checksums(form: str) -> list[int]:
    """Return the checksum of each beginning of a folded text, the empty one and the whole included."""
    return list(accumulate([(ord(char) * 40503 >> 4) & 0xFFFF for char in form], xor, initial=0))


def _form(value: str) -> str:
    """The value as a text that holds it is folded."""
    return fold(normalised(value)).text


def _hash(salt: str, form: str) -> str:
    return hashlib.blake2b(form.encode("utf-8", "surrogatepass"), key=bytes.fromhex(salt), digest_size=16).hexdigest()
