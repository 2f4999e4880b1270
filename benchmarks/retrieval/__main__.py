"""`python benchmarks/retrieval.py [--sets madial-zh,…] [--corpus FOLDER] [--limit N]`: the table of what is found.

The extra `semantic` adds rows: the same questions with `--semantic`, and a set of questions that share no words with what
they are about.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.retrieval import locomo, madial, semantic
from benchmarks.retrieval.corpus import CORPUS
from benchmarks.retrieval.tally import CUTS, Baseline, Tally

Set = Callable[[Path, int | None], tuple[list[Tally], tuple[Baseline, ...]]]


def _madial(language: str) -> Set:
    def asked(corpus: Path, limit: int | None) -> tuple[list[Tally], tuple[Baseline, ...]]:
        tallies = [madial.run(corpus, language, limit=limit)]
        if semantic.is_possible():
            tallies.append(semantic.of_madial(corpus, language, limit=limit))
        return tallies, madial.BASELINES[language]

    return asked


SETS: dict[str, Set] = {
    "madial-zh": _madial("zh"),
    "madial-en": _madial("en"),
    "locomo-turns": lambda corpus, limit: ([locomo.run(corpus, limit=limit)], locomo.BASELINES),
}
if semantic.is_possible():
    SETS["memorybank"] = lambda corpus, limit: (semantic.of_memorybank(corpus, limit=limit), semantic.BASELINES)


def main() -> None:
    """Print a table for each set: meX first, then what others find in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="which sets, separated by commas")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the folder of the sets")
    parser.add_argument("--limit", type=int, help="ask no more questions of a set than this")
    given = parser.parse_args()
    names = [*(f"R@{cut}" for cut in CUTS), "MRR"]
    for name in given.sets.split(","):
        tallies, baselines = SETS[name](given.corpus, given.limit)
        print(
            f"\n### {name}, {len(tallies[0].found)} questions\n\n| | {' | '.join(names)} |\n|---|{'---|' * len(names)}"
        )
        for label, means in [(f"**{one.name}**", one.means()) for one in tallies] + [
            (one.name, one.means) for one in baselines
        ]:
            cells = (f"{means[key]:.3f}" if key in means else "" for key in names)
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
