"""LoCoMo: which turns of a long conversation hold the answer? Asked with `mex search --turns` in what was said.

Six conversations of some 570 turns in some 25 sessions, each in a home of its own, and 1,155 questions with their
evidence. Two people talk, so each message begins with the name of who says it.
"""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.retrieval import asking
from benchmarks.retrieval.corpus import load
from benchmarks.retrieval.tally import Baseline, Tally

BASELINES = (
    Baseline("words", {"R@5": 0.523, "R@10": 0.586, "R@20": 0.650, "MRR": 0.425}),
    Baseline("stems", {"R@5": 0.548, "R@10": 0.629, "R@20": 0.696, "MRR": 0.461}),
    Baseline(
        "stems, and weighted columns for speaker, turns beside, session",
        {"R@5": 0.671, "R@10": 0.763, "R@20": 0.814, "MRR": 0.555},
    ),
    Baseline("e5-small (all ten conversations)", {"R@5": 0.398, "R@10": 0.494, "R@20": 0.579, "MRR": 0.333}),
)
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def run(corpus: Path, *, limit: int | None = None) -> Tally:
    """Ask every question (at most `limit`) and return how much of its evidence was found."""
    tally = Tally("mex search --turns")
    for one in load(corpus / "locomo-conversations-0-5.json.gz"):
        asked = list(questions(one))[: None if limit is None else limit - len(tally.found)]
        if not asked:
            break
        with asking.home() as home:
            _talk(one, home)
            for question, gold in asked:
                hits = asking.mex("search", "--turns", "--limit", "20", "--", question)
                tally.add(gold, [str(hit["message_id"]) for hit in hits])
    return tally


def questions(one: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """(question, the ids of the turns that hold its answer) of a conversation; those without evidence are left out."""
    known = {turn["dia_id"] for _, turns in _sessions(one) for turn in turns}
    for question in one["qa"]:
        named = " ".join(question.get("evidence", []))
        gold = {f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(named)} & known
        if gold:
            yield question["question"], gold


def _sessions(one: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """(when it began, turns) of every session, in their order."""
    talk = one["conversation"]
    names = sorted((name for name in talk if re.fullmatch(r"session_\d+", name)), key=lambda name: int(name[8:]))
    return [(talk[f"{name}_date_time"], talk[name]) for name in names]


def _talk(one: dict[str, Any], home: Path) -> None:
    """Read the sessions into the home as an agent's sessions are read, by the built-in rules, all turns kept."""
    os.environ |= {"MEX_KEEP_TURNS": "all", "MEX_EXTRACTION_QUIET_SECONDS": "0", "MEX_WORKER_AUTOSTART": "false"}
    first = one["conversation"]["speaker_a"]
    for number, (begun, turns) in enumerate(_sessions(one), 1):
        at = datetime.strptime(begun, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        messages = [
            {
                "id": turn["dia_id"],
                "role": "user" if turn["speaker"] == first else "assistant",
                "content": f"{turn['speaker']}: {turn['text']} {turn.get('blip_caption') or ''}".strip(),
                "timestamp": (at + timedelta(minutes=minute)).isoformat(),
            }
            for minute, turn in enumerate(turns)
        ]
        path = home / f"session-{number}.json"
        path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
        asking.mex("extract", "--from", "opencode", "--file", str(path))
