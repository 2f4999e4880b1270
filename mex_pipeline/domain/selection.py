"""Which memories are meant: the conditions that searching, listing and forgetting share."""

from dataclasses import dataclass

from mex_pipeline.domain.folding import folded
from mex_pipeline.domain.memory import Confidence, Memory


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
        unified = folded(content)

        def stands(word: str) -> bool:
            return word in content or folded(word) in unified

        asked = (*(self.keyword or "").split(), *self.words)
        return all(map(stands, asked)) and not any(map(stands, self.without))

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
