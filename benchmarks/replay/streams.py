"""The gold streams: read from the corpus folder, each as a list of users' lives."""

import gzip
import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmarks.replay import halumem
from benchmarks.replay.life import Fact, Kind, Life, Op, Said, Session

ROOT = Path(__file__).resolve().parents[2]
FIRST_DAY = date(2024, 1, 1)
"""Of sessions that their corpus gives no date."""

_ZH_GOLD = "zh-gold-users-00-14.jsonl.gz"
_OPS = {
    "assert": Kind.ASSERT, "restate": Kind.ASSERT, "update": Kind.UPDATE, "retract": Kind.RETRACT,
    "temporary": Kind.TEMPORARY, "third_party": Kind.TRAP, "hypothetical": Kind.TRAP, "quoted": Kind.TRAP,
    "assistant_claim": Kind.TRAP,
}  # fmt: skip
_PLAIN_SLOTS = {"interest.hobby": False, "basic.name": True, "location.city": True, "diet.like": False}
"""What a home can hold whose stream has nothing for it."""
_WANTED = {"酒店": "hotel", "餐馆": "restaurant", "景点": "sight", "出租": "taxi", "地铁": "metro"}


class NoCorpus(Exception):
    """The corpus folder, or a file in it, is not here."""


def corpus_folder(given: str | None = None) -> Path:
    """Return the folder of the benchmark data: what is given, else MEX_BENCH_CORPUS, else `../shared/corpus/bench`."""
    return Path(given or os.environ.get("MEX_BENCH_CORPUS") or ROOT.parent / "shared" / "corpus" / "bench").resolve()


def load(stream: str, corpus: Path) -> list[Life]:
    """Return the lives of a stream, of `STREAMS`; raises NoCorpus naming the file that is missing."""
    return STREAMS[stream](corpus)


def rows(path: Path) -> list[Any]:
    """Return what a gzipped JSON Lines file holds, one value a line; raises NoCorpus."""
    if not path.exists():
        raise NoCorpus(f"{path} is not here: name the folder with --corpus or MEX_BENCH_CORPUS")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def slot_path(name: str) -> str:
    """Return a slot of the stream as `topic.sub_topic`: one without a topic gets `interest`."""
    return name if "." in name else f"interest.{name}"


def _zh_gold(corpus: Path) -> list[Life]:
    return [_zh_life(user) for user in rows(corpus / _ZH_GOLD)]


def _zh_life(user: dict[str, Any]) -> Life:
    final = {
        Fact(slot_path(slot), value)
        for slot, held in user["final_profile"].items()
        for value in (held if isinstance(held, list) else [held])
    }
    return Life(
        user["user"],
        "zh",
        {slot_path(name): about["unique"] for name, about in user["schema"].items()},
        tuple(_zh_session(one) for one in user["sessions"]),
        frozenset(final),
    )


def _zh_session(given: dict[str, Any]) -> Session:
    session = Session(given["session"], given["date"], [Said(turn["role"], turn["text"]) for turn in given["turns"]])
    for index, turn in enumerate(given["turns"]):
        kind = _OPS.get(turn["op"])
        if kind is not None:
            fact = Fact(slot_path(turn["slot"]), turn["value"])
            trap = turn["op"] if kind is Kind.TRAP else None
            session.ops.append(Op(kind, index, fact, turn.get("old"), trap, turn["op"] == "restate"))
    return session


def _crosswoz(corpus: Path) -> list[Life]:
    """Task talk, ten dialogues a user, nothing to remember: what is looked for once is a trap."""
    found = rows(corpus / "crosswoz_negative" / "val_every3rd.jsonl.gz")
    slots = {f"preference.{name}": False for name in _WANTED.values()}
    lives = []
    for number, start in enumerate(range(0, len(found), 10)):
        sessions = _dated(found[start : start + 10], "turns", "role")
        for session, given in zip(sessions, found[start : start + 10], strict=True):
            session.ops += _looked_for(given["goal"], session)
        lives.append(Life(f"w{number:02}", "zh", slots, sessions, frozenset()))
    return lives


def _looked_for(goal: list[list[Any]], session: Session) -> list[Op]:
    """The first constraint of the dialogue's goal that each of the user's turns names in its own words."""
    ops: dict[int, Op] = {}
    for _, domain, _, value, _ in goal:
        named = (
            index
            for index, turn in enumerate(session.turns)
            if isinstance(value, str) and len(value) > 1 and turn.role == "user" and value in turn.text
        )
        index = next(named, None)
        if index is not None:
            fact = Fact(f"preference.{_WANTED[domain]}", value)
            ops.setdefault(index, Op(Kind.TRAP, index, fact, trap="one_off"))
    return [ops[index] for index in sorted(ops)]


def _dated(dialogues: list[dict[str, Any]], turns: str, role: str) -> tuple[Session, ...]:
    days = (FIRST_DAY + timedelta(days=number) for number in range(len(dialogues)))
    return tuple(
        Session(f"{number:03}", day.isoformat(), [Said(turn[role].lower(), turn["content"]) for turn in one[turns]])
        for number, (one, day) in enumerate(zip(dialogues, days, strict=True))
    )


def _realmem(corpus: Path) -> list[Life]:
    """The sessions that hold no memory point, of three people."""
    return [_realmem_life(path) for path in _files(corpus / "realmem", "*.json.gz")]


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise NoCorpus(f"{folder} is not here: name the folder with --corpus or MEX_BENCH_CORPUS")
    return found


def _realmem_life(path: Path) -> Life:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        dialogues = json.load(file)["dialogues"]
    empty = [one for one in dialogues if not one.get("extracted_memory")]
    return Life(path.name.split(".")[0], "en", _PLAIN_SLOTS, _dated(empty, "dialogue_turns", "speaker"), frozenset())


def _halumem(corpus: Path) -> list[Life]:
    folder = corpus / "halumem"
    return halumem.lives(
        rows(folder / "stage1_3_preferences.jsonl.gz"),
        rows(folder / "stage3_1_narrative_arc.jsonl.gz"),
        rows(folder / "stage3_2_preference_events.jsonl.gz"),
        FIRST_DAY,
    )


STREAMS: dict[str, Callable[[Path], list[Life]]] = {
    "zh": _zh_gold, "halumem": _halumem, "crosswoz": _crosswoz, "realmem": _realmem
}  # fmt: skip
