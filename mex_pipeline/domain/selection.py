"""Which memories are meant: the conditions that searching, listing and forgetting share."""

from typing import NamedTuple

from mex_pipeline.domain.folding import folded, sought
from mex_pipeline.domain.memory import Confidence, Memory

LONGEST_KEYWORD = 200
"""Characters above which a keyword is no list of words but a pasted page, which must occur as it is."""


def forms(word: str) -> tuple[str, ...]:
    """Return what is looked for in a memory's `sought` to find `word`: its folded form, and the word itself.

    The latter finds what melts into another character when a whole content is folded; signs that fold to nothing are
    looked for as they are.
    """
    return tuple(dict.fromkeys(form for form in (folded(word), word) if form))


class Selection(NamedTuple):
    """Conditions that must all hold; what is None, False or empty asks for nothing. Times are UTC ISO and bound `created_at`.

    Each word of `keyword` is literal (product E4) and must occur, in any order; so must `words`, `phrases`, which may hold
    spaces, and none of `without` (domain/query.py). A search may be content with other forms of `words`, or with some.
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
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    project: str | None = None

    @property
    def literal(self) -> tuple[str, ...]:
        """What must occur as it is written, each once: the words of `keyword`, a pasted page being one, and `phrases`."""
        keyword = self.keyword or ""
        words = (keyword,) if len(keyword) > LONGEST_KEYWORD else keyword.split()
        return tuple(dict.fromkeys((*words, *self.phrases)))

    def mentions(self, content: str) -> bool:
        """True when the words asked for stand in `content`, and none of those that must not."""
        within = sought(content)

        def stands(word: str) -> bool:
            return any(form in within for form in forms(word))

        return all(map(stands, (*self.literal, *self.words))) and not any(map(stands, self.without))

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
