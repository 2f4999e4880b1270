"""Which memories are meant: the conditions that searching, listing and forgetting share."""

from dataclasses import dataclass
from unicodedata import normalize

from mex_pipeline.domain.memory import Confidence, Memory

_LATIN_MARKS = dict.fromkeys(range(0x300, 0x370))


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that must all hold; what is None, False or empty asks for nothing. Times are UTC ISO and bound `created_at`.

    Each word of `keyword` is literal (product E4) and must occur, in any order; so are `words`, which may hold spaces, and
    `without`, none of which may occur (domain/query.py).
    `project` is a folder: a memory said in it or below it is meant (product B3). Only active memories are meant, unless
    `include_forgotten`, which takes in the forgotten and the expired.
    """

    keyword: str | None = None
    topic: str | None = None
    sub_topic: str | None = None
    since: str | None = None
    until: str | None = None
    confidence: Confidence | None = None
    ai_inferred: bool | None = None
    include_forgotten: bool = False
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    project: str | None = None

    def mentions(self, content: str) -> bool:
        """True when the words asked for stand in `content`, and none of those that must not."""
        found = folded(content)
        asked = (*folded(self.keyword or "").split(), *(folded(word) for word in self.words))
        return all(word in found for word in asked) and not any(folded(word) in found for word in self.without)

    def holds(self, memory: Memory, at: str) -> bool:
        """True when the memory, in the state given, is meant at `at` (UTC ISO). Its project is not in its state."""
        return (
            (self.include_forgotten or memory.is_active(at))
            and self.topic in (None, memory.topic)
            and self.sub_topic in (None, memory.sub_topic)
            and self.confidence in (None, memory.confidence)
            and self.ai_inferred in (None, memory.is_ai_inferred)
            and (self.since is None or memory.created_at >= self.since)
            and (self.until is None or memory.created_at <= self.until)
            and self.mentions(memory.content)
        )


def folded(text: str) -> str:
    """Return `text` as words are compared: width, compatibility forms, case and Latin accents do not count."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFD", normalize("NFKC", text).casefold()).translate(_LATIN_MARKS))
