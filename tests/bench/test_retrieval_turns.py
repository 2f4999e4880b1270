"""A floor for `mex search --turns`: what it finds of the evidence in a long conversation (benchmarks/retrieval/locomo.py)."""

import pytest

from benchmarks.retrieval import locomo
from benchmarks.retrieval.corpus import CORPUS


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the benchmark data is not here: {CORPUS.name}")
def test_most_of_the_evidence_stands_among_the_first_turns() -> None:
    """Stems alone find 0.51 of it among the first five, 0.61 among the first ten."""
    tally = locomo.run(CORPUS, limit=120)
    means = tally.means()
    assert len(tally.found) == 120
    assert means["R@10"] > 0.68
    assert means["R@5"] > 0.58
    assert means["MRR"] > 0.47
