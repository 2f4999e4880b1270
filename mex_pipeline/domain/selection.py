"""Which memories are meant: the conditions that searching, listing and forgetting share."""

from dataclasses import dataclass

from mex_pipeline.domain.memory import Confidence


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that must all hold; what is None or False asks for nothing. Times are UTC ISO and bound `created_at`.

    `keyword` is literal (product E4). Only active memories are meant, unless `include_forgotten`, which takes in the
    forgotten and the expired.
    """

    keyword: str | None = None
    topic: str | None = None
    sub_topic: str | None = None
    since: str | None = None
    until: str | None = None
    confidence: Confidence | None = None
    ai_inferred: bool | None = None
    include_forgotten: bool = False
