"""Which memories of one place are proposed as one (product B5)."""

from random import Random

import pytest

from mex_pipeline.domain.duplicate import pairs, repeats
from mex_pipeline.domain.likeness import NEAR, likeness
from mex_pipeline.domain.memory import Confidence
from tests.domain.examples import memory

WORDS = {
    "en": ["hiking", "swimming", "chess", "in", "the", "with", "my", "on", "Sundays", "Alps", "lake", "club", "red"],
    "zh": ["徒步", "游泳", "象棋", "周末", "朋友", "经常", "喜欢", "和", "在", "湖边", "公园", "学习", "孩子"],
}


def test_the_surest_of_equal_values_stays_then_the_most_often_said_then_the_oldest() -> None:
    explicit = memory(1, "work.tech_stack", "Python", confidence=Confidence.EXPLICIT, times_seen=9)
    confirmed = memory(2, "work.tech_stack", "python.")
    often = memory(3, "work.tech_stack", "Python ", confidence=Confidence.EXPLICIT, times_seen=10)
    found = [(pair.stays.id, pair.goes.id, pair.share) for pair in pairs([explicit, confirmed, often])]
    assert found == [("m2", "m3", 1.0), ("m2", "m1", 1.0)]


def test_values_with_other_numbers_or_a_negation_are_no_pair() -> None:
    texts = ["Python 2 at work", "Python 3 at work", "likes green tea", "dislikes green tea"]
    assert not list(pairs(memory(at, "work.tech_stack", text) for at, text in enumerate(texts)))


def test_records_are_one_only_when_they_say_the_same_of_the_same_time() -> None:
    texts = [
        ("ran 5 km", "2026-08-01"),
        ("Ran 5 km.", "2026-08-01"),
        ("ran 5 km", "2026-08-02"),
        ("ran 5 km fast", None),
    ]
    records = [memory(at, "health", text, occurred_at=when) for at, (text, when) in enumerate(texts)]
    assert [(pair.stays.id, pair.goes.id) for pair in repeats(records)] == [("m0", "m1")]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_value_that_is_alike_another_is_found_without_comparing_all(language: str, seed: int) -> None:
    random = Random(seed)
    values = {" ".join(random.choices(WORDS[language], k=random.randint(2, 6))) for _ in range(80)}
    values |= {f"{text} {WORDS[language][0]}" for text in sorted(values)[:10]}
    memories = [memory(at, "work.tech_stack", text) for at, text in enumerate(sorted(values))]
    goes = {
        max(one.id, other.id)
        for at, one in enumerate(memories)
        for other in memories[:at]
        if likeness(one.content, other.content) >= NEAR
    }
    found = list(pairs(memories))
    assert goes
    assert {pair.goes.id for pair in found} == goes
    assert len(found) == len(goes)
