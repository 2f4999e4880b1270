"""What a scripted model of a given quality proposes for a session: gold operations, with faults drawn from a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from benchmarks.replay.life import Fact, Kind, Life, Op, Session
from benchmarks.replay.wording import reworded, same

ABOUT_RIGHT = 0.8
"""The share of reported traps that are at least called what they are: about another, or hypothetical."""
_ABOUT = {"hypothetical": "hypothetical", "one_off": "user"}
"""What a trap is about, another unless it stands here: what somebody looks for once is about nobody else."""
_CUT = 0.8
_FAKE = {"zh": "我跟你说过{value}", "en": "I told you that {value}"}
_PROSE = {
    "zh": ("我找到的记忆如下：\n", "\n需要别的再告诉我。"),
    "en": ("These are the memories:\n", "\nAnything else?"),
}


@dataclass(frozen=True, slots=True)
class Model:
    """The quality of a scripted model, each figure a probability.

    `coverage`: a gold operation is reported. `type_acc`: as what it is, profile or passing. `halluc`: an unsupported
    item beside a reported one, `fake_quote` of them with words nobody said. `restate`: a known value is told again.
    `reword`: the value in other signs. `json_ok`: the reply is bare JSON. `link`: an update names what it replaces.
    `trap`: a trap is reported as a fact. `transport`: the endpoint does not answer as asked.
    """

    coverage: float = 1.0
    type_acc: float = 1.0
    halluc: float = 0.0
    fake_quote: float = 0.7
    restate: float = 0.0
    reword: float = 0.0
    json_ok: float = 1.0
    link: float = 0.0
    trap: float = 0.0
    transport: float = 0.0

    @property
    def says_the_truth(self) -> bool:
        """True when what it reports does not hang on the draw: asked again, it says the same."""
        return replace(self, link=0.0, json_ok=1.0, transport=0.0) == Model()


_LARGE = Model(0.967, 0.967, 0.15, 0.7, 0.3, 0.3, 1.0, 0.8, 0.05)

MODELS = {
    "perfect": Model(),
    "perfect+link": Model(link=1.0),
    "deepseek": _LARGE,
    "4b": Model(0.95, 0.8875, 0.18, 0.7, 0.3, 0.4, 1.0, 0.6, 0.15),
    "1b": Model(0.73, 0.667, 0.11, 0.7, 0.3, 0.5, 0.974, 0.2, 0.35),
    "no-json": replace(_LARGE, halluc=0.11, json_ok=0.367),
    "no-json-control": replace(_LARGE, halluc=0.11),
    "weather": Model(transport=0.08),
}
"""Coverage, type, valid JSON as measured on deepseek-v3.1, qwen3-4b q4, gemma3-1b and kimi-k2.6 (MemPalace model_eval;
its figure for hallucination counts splitting too and is halved here). Restating, rewording, links, traps are assumptions.
"""


class Tag(StrEnum):
    """Why an item is in a reply."""

    TRUE = "true"
    MISTYPED = "mistyped"
    RESTATED = "restated"
    FAKE_QUOTE = "fake_quote"
    REAL_QUOTE = "real_quote"
    PASSING = "passing"
    TRAP = "trap"


@dataclass(frozen=True, slots=True)
class Known:
    """A value the request showed as known, and the handle to name it by."""

    handle: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Item:
    """One proposal. `turn` is the index in the session; `kind` what it is reported as.

    A `kind` of TEMPORARY is a record outside the profile. `trap` names the sort of a trap; `is_restated` is the gold
    operation's.
    """

    kind: Kind
    turn: int
    fact: Fact
    quote: str
    tag: Tag
    about: str = "user"
    replaces: str | None = None
    trap: str | None = None
    is_restated: bool = False


def foreign(life: Life, lives: Sequence[Life]) -> list[Fact]:
    """Return what is true of others and was never said by this user, in slots this user has: what can be made up."""
    own: dict[str, list[str]] = {}
    for fact in life.told():
        own.setdefault(fact.slot, []).append(fact.value)
    others = {fact for other in lives if other.user != life.user for fact in other.final if fact.slot in life.slots}
    made_up = (fact for fact in others if not any(same(fact.value, value) for value in own.get(fact.slot, ())))
    return sorted(made_up, key=lambda fact: (fact.slot, fact.value))


def propose(
    life: Life, session: Session, known: Sequence[Known], others: Sequence[Fact], model: Model, seed: str
) -> list[Item]:
    """Return what the model reports of a whole session; the same for the same seed, whatever the product asks.

    Each operation has a chance of its own, so that what is shown as known moves no other operation's faults.
    """
    shown = sorted(known, key=lambda one: (one.fact.slot, one.fact.value))
    items: list[Item] = []
    for number, op in enumerate(session.ops):
        chance = random.Random(f"{seed}/{number}")
        words = session.turns[op.turn].text
        if op.kind is Kind.TRAP:
            items += _trapped(op, words, model, chance)
        elif reported := _reported(op, words, model, chance):
            items += reported
            items += _told_again(op, words, shown, model, chance)
            items += _made_up(op, words, others, model, chance, life.language)
    return items


def _trapped(op: Op, words: str, model: Model, chance: random.Random) -> list[Item]:
    if chance.random() >= model.trap:
        return []
    is_right = chance.random() < ABOUT_RIGHT
    right = _ABOUT.get(op.trap or "", "other")
    return [Item(Kind.ASSERT, op.turn, op.fact, words, Tag.TRAP, about=right if is_right else "user", trap=op.trap)]


def _reported(op: Op, words: str, model: Model, chance: random.Random) -> list[Item]:
    is_covered, is_typed, is_reworded, is_linked = (
        chance.random() < share for share in (model.coverage, model.type_acc, model.reword, model.link)
    )
    if not is_covered:
        return []
    kind, tag = op.kind, Tag.TRUE
    if not is_typed and op.kind is not Kind.RETRACT:
        is_passing = op.kind is Kind.TEMPORARY
        kind, tag = (Kind.ASSERT, Tag.PASSING) if is_passing else (Kind.TEMPORARY, Tag.MISTYPED)
    value = reworded(op.fact.value, chance) if is_reworded else op.fact.value
    named = op.fact.value if op.kind is Kind.RETRACT else op.old
    replaced = named if is_linked else None
    return [Item(kind, op.turn, Fact(op.fact.slot, value), words, tag, replaces=replaced, is_restated=op.is_restated)]


def _told_again(op: Op, words: str, known: Sequence[Known], model: Model, chance: random.Random) -> list[Item]:
    if chance.random() >= model.restate or not known:
        return []
    fact = known[int(chance.random() * len(known))].fact
    return [Item(Kind.ASSERT, op.turn, Fact(fact.slot, reworded(fact.value, chance)), words, Tag.RESTATED)]


def _made_up(
    op: Op, words: str, others: Sequence[Fact], model: Model, chance: random.Random, language: str
) -> list[Item]:
    if chance.random() >= model.halluc or not others:
        return []
    fact = chance.choice(others)
    if chance.random() < model.fake_quote:
        return [Item(Kind.ASSERT, op.turn, fact, _FAKE[language].format(value=fact.value), Tag.FAKE_QUOTE)]
    return [Item(Kind.ASSERT, op.turn, fact, words, Tag.REAL_QUOTE)]


def damaged(text: str, model: Model, seed: str, language: str) -> str:
    """Return the reply as it is sent: bare, or fenced, or in prose, or cut off, a third of the misses each."""
    chance = random.Random(f"{seed}/envelope")
    if chance.random() < model.json_ok:
        return text
    before, after = _PROSE[language]
    return chance.choice([f"```json\n{text}\n```", before + text + after, text[: int(len(text) * _CUT)]])


def weather(model: Model, seed: str) -> str | None:
    """Return how the endpoint fails to answer: `429`, `429 later`, `500`, `gone`; None when it answers."""
    chance = random.Random(f"{seed}/transport")
    return chance.choice(["429", "429 later", "500", "gone"]) if chance.random() < model.transport else None
