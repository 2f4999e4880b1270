"""Evidence recall: which part of what should be found stands among the first hits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

CUTS = (1, 5, 10, 20)


@dataclass(slots=True)
class Tally:
    """The questions of one set asked in one way, and how well each was answered."""

    name: str
    found: list[dict[str, float]] = field(default_factory=list)

    def add(self, gold: Iterable[str], ranked: Sequence[str]) -> None:
        """Count one question; one without gold counts for nothing."""
        wanted = set(gold)
        if not wanted:
            return
        first = next((1 / place for place, one in enumerate(ranked, 1) if one in wanted), 0.0)
        self.found.append({f"R@{cut}": len(wanted & set(ranked[:cut])) / len(wanted) for cut in CUTS} | {"MRR": first})

    def means(self) -> dict[str, float]:
        """Return `R@1`, `R@5`, `R@10`, `R@20` and `MRR` over all questions, 0 to 1; empty without any."""
        return {name: fmean(one[name] for one in self.found) for name in self.found[0]} if self.found else {}


@dataclass(frozen=True, slots=True)
class Baseline:
    """What somebody else's index reaches on the same set."""

    name: str
    means: dict[str, float]
