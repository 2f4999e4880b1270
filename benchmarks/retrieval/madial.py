"""MADial-Bench: which memories should come to mind while somebody talks? Asked with all that was said before.

Some 165 memories, and some 160 conversations, each with the memories that belong to its test turn.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.retrieval import asking
from benchmarks.retrieval.corpus import load
from benchmarks.retrieval.tally import Baseline, Tally

BASELINES = {
    "zh": (
        Baseline("trigrams", {"R@5": 0.311, "R@10": 0.354}),
        Baseline("single characters and pairs", {"R@5": 0.431, "R@10": 0.523}),
        Baseline("e5-small", {"R@5": 0.383, "R@10": 0.523}),
        Baseline("both fused", {"R@5": 0.455, "R@10": 0.572}),
    ),
    "en": (
        Baseline("words", {"R@5": 0.408, "R@10": 0.497}),
        Baseline("stems", {"R@5": 0.436, "R@10": 0.547}),
        Baseline("e5-small", {"R@5": 0.444, "R@10": 0.549}),
        Baseline("both fused", {"R@5": 0.493, "R@10": 0.628}),
    ),
}
_SPEAKER = re.compile(r"<([^>]+)>:\s*")
_OTHERS = ("<Assistant>", "<BOD>", "<EOD>")


def run(corpus: Path, language: str, *options: str, limit: int | None = None) -> Tally:
    """Ask every question (at most `limit`) of a language, with further options of `mex search`."""
    tally = Tally(" ".join(("mex search", *options)))
    numbers, events = _memories(corpus, language)
    with asking.home():
        known = dict(zip(asking.remember(events, language), numbers, strict=True))
        if "--semantic" in options:
            asking.embed()
        for query, gold in list(questions(corpus, language))[:limit]:
            hits = asking.mex("search", *options, "--limit", "20", "--", query)
            tally.add(gold & set(numbers), [known[one] for one in asking.ids(hits)])
    return tally


def _memories(corpus: Path, language: str) -> tuple[list[str], list[str]]:
    """The numbers of the memories, and what they say."""
    found = load(corpus / "madial" / f"MADial-Bench-{language}-memory.jsonl.gz")
    pairs = [next(iter(one.items())) for one in found]
    return [str(int(number)) for number, _ in pairs], [memory["event"] for _, memory in pairs]


def questions(corpus: Path, language: str) -> Iterator[tuple[str, set[str]]]:
    """(what the person has said before the test turn, the numbers of the memories that belong there)."""
    for one in load(corpus / "madial" / f"MADial-Bench-{language}-dialogue.jsonl.gz"):
        yield _said(one), {str(number) for number in one["relevant-id"]}


def _said(conversation: dict[str, Any]) -> str:
    before = conversation["dialogue"][: conversation["test-turn"][0]]
    own = [line for line in before if line.startswith("<") and not line.startswith(_OTHERS)]
    return " ".join(_SPEAKER.sub("", line, count=1).strip().strip('"') for line in own)
