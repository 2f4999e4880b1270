"""Which memories cannot both hold: affirmed and denied, or one subject told twice of the same time (product C6)."""

import json
from typing import Any

import pytest

from mex_pipeline.domain.contradiction import OPPOSITE, OVERLAP, contradictions
from mex_pipeline.domain.schema import parse
from tests.domain.examples import memory

TIMES = {"start": {"description": "Start", "format": "time"}, "end": {"description": "End", "format": "time"}}
MANY: dict[str, Any] = {"unique": False}
SCHEMA, _ = parse(
    {
        "topics": {
            "diet": {
                "description": "饮食",
                "sub_topics": {
                    "like": {"description": "Food", **MANY},
                    "avoid": {"description": "Food", **MANY},
                    "treats": {"description": "爱吃的", **MANY},
                    "taboo_food": {"description": "Food", **MANY},
                    "banned": {"description": "忌口", **MANY},
                    "habits": {"description": "饮食习惯与忌口", **MANY},
                    "notes": {"description": "Diet and foods avoided", **MANY},
                    "style": {"description": "Style"},
                },
            },
            "leisure": {"description": "Leisure", "sub_topics": {"hobbies": {"description": "Hobby", **MANY}}},
            "work": {
                "description": "Work",
                "sub_topics": {
                    "experience": {
                        "description": "Experience",
                        **MANY,
                        "fields": TIMES
                        | {"company": {"description": "Company", "required": True}, "position": "Position"},
                    },
                    "award": {
                        "description": "Award",
                        **MANY,
                        "fields": {
                            "name": {"description": "Award", "required": True},
                            "year": {"description": "Year", "format": "time"},
                        },
                    },
                },
            },
            "family": {
                "description": "Family",
                "sub_topics": {
                    "relationships": {
                        "description": "Relationship",
                        **MANY,
                        "fields": {
                            "relation": {"description": "Relation", "required": True},
                            "quality": {"description": "How they get on", "required": True},
                        },
                    }
                },
            },
        }
    }
)


def reasons(*placed: tuple[str, str]) -> list[str]:
    """Why the memories of these (slot, content) contradict each other."""
    found = [memory(number, slot, content) for number, (slot, content) in enumerate(placed, 1)]
    return [one.reason for one in contradictions(found, SCHEMA)]


def told(**fields: str) -> str:
    return json.dumps(fields, ensure_ascii=False)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("likes cilantro", "dislikes cilantro"),
        ("I love eating cilantro.", "Doesn't like cilantro at all"),
        ("Hates the durian", "is a big fan of durian"),
        ("drinks alcohol", "no longer drinks alcohol"),
        ("eats meat", "never eats meat"),
        ("can’t stand jazz", "enjoys jazz"),
        ("no coffee", "drinks coffee"),
        ("smokes", "User does not smoke"),
        ("vegetarian", "is not a vegetarian"),
        ("is married", "not married"),
        ("plays chess", "doesn't play chess"),
        ("我喜欢香菜", "不吃香菜"),
        ("爱吃香菜", "讨厌香菜。"),
        ("很喜欢吃榴莲", "不太喜欢榴莲"),
        ("喝酒", "不喝酒了"),
        ("用户抽烟", "不抽烟"),
        ("会日语", "不会日语"),
        ("素食者", "不是素食者"),
        ("有孩子", "没有孩子"),
        ("对花生过敏", "对花生不过敏"),
        ("喝咖啡", "戒了咖啡"),
        ("喜欢不新鲜的鱼", "不喜欢不新鲜的鱼"),
    ],
)
def test_what_one_affirms_and_the_other_denies_contradicts(first: str, second: str) -> None:
    """In either order, and however the same thing is written."""
    assert reasons(("diet.habits", first), ("diet.habits", second)) == [OPPOSITE]
    assert reasons(("diet.habits", second), ("diet.notes", first)) == [OPPOSITE]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("likes cilantro", "likes coriander"),
        ("likes cilantro", "dislikes cilantro in soup"),
        ("likes dark chocolate", "dislikes white chocolate"),
        ("cilantro", "dislikes cilantro"),
        ("likes Vim", "does not use Vim"),
        ("used to like coffee", "dislikes coffee"),
        ("likes coffee in the morning", "avoids coffee"),
        ("likes playing chess", "dislikes watching chess"),
        ("likes coffee", "likes coffee"),
        ("nothing spicy", "spicy"),
        ("小时候喜欢香菜", "不喜欢香菜"),
        ("晚上不喝咖啡", "喜欢喝咖啡"),
        ("不吃猪肉", "吃牛肉"),
        ("香菜", "不吃香菜"),
        ("不锈钢餐具", "锈钢餐具"),
        ("爱好摄影", "不好摄影"),
        ("爱人是老师", "不人是老师"),
        ("每天喝咖啡", "咖啡"),
        ("没用过安卓", "有用过安卓"),
        ("不管做什么都先列清单", "管做什么都先列清单"),
    ],
)
def test_what_may_both_hold_does_not(first: str, second: str) -> None:
    assert reasons(("diet.habits", first), ("diet.habits", second)) == []


@pytest.mark.parametrize(
    ("liked", "avoided"),
    [("diet.like", "diet.avoid"), ("diet.treats", "diet.banned"), ("diet.like", "diet.taboo_food")],
)
@pytest.mark.parametrize("content", ["香菜", "the cilantro"])
def test_one_thing_in_two_slots_that_exclude_each_other(liked: str, avoided: str, content: str) -> None:
    """By the slot's name or a label that speaks of one thing alone."""
    assert reasons((liked, content), (avoided, content.upper())) == [OPPOSITE]
    assert reasons((liked, content), (liked, content)) == []
    assert reasons((liked, content), ("diet.habits", content)) == []
    assert reasons((liked, content), ("leisure.hobbies", content)) == []


def test_what_a_value_says_counts_more_than_its_slot() -> None:
    assert reasons(("diet.avoid", "likes cilantro"), ("diet.avoid", "cilantro")) == [OPPOSITE]
    assert reasons(("diet.avoid", "不吃香菜"), ("diet.banned", "香菜")) == []
    assert reasons(("diet.style", "vegetarian"), ("diet.habits", "not a vegetarian")) == [OPPOSITE]


def test_other_topics_and_undeclared_places_are_left_alone() -> None:
    assert reasons(("diet.habits", "drinks coffee"), ("leisure.hobbies", "no coffee")) == []
    assert reasons(("diet.gone", "drinks coffee"), ("diet.gone", "no coffee")) == []
    assert reasons(("diet", "drinks coffee"), ("diet", "no coffee")) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("2018", "2020"), ("2019", "2021"), [OVERLAP]),
        (("2018", "present"), ("2020-03", "至今"), [OVERLAP]),
        (("2018-01", "2020-06"), ("2020", "2022"), []),
        (("2018", "2020"), ("2020", "2022"), []),
        (("2018", "2019"), ("2021", "present"), []),
    ],
)
def test_one_subject_told_twice_of_the_same_time(
    first: tuple[str, str], second: tuple[str, str], expected: list[str]
) -> None:
    """As precisely as both dates are known; years that touch do not overlap."""
    for company in ("远光软件", "Acme"):
        one, other = (
            told(start=start, end=end, company=company, position=position)
            for (start, end), position in ((first, "engineer"), (second, "经理"))
        )
        assert reasons(("work.experience", one), ("work.experience", other)) == expected


def test_other_subjects_unknown_times_and_single_dates_do_not_overlap() -> None:
    job = told(start="2018", end="present", company="Acme")
    assert (
        reasons(("work.experience", job), ("work.experience", told(start="2019", end="present", company="Beta"))) == []
    )
    assert reasons(("work.experience", job), ("work.experience", told(start="2019", company="Acme"))) == []
    assert reasons(("work.award", told(name="奖", year="2019")), ("work.award", told(name="奖", year="2020"))) == []
    assert reasons(("work.award", told(name="奖", year="2019")), ("work.award", told(name="奖"))) == []


def test_a_slot_without_times_tells_of_now() -> None:
    close, tense = (told(relation="母亲", quality=quality) for quality in ("亲近", "紧张"))
    assert reasons(("family.relationships", close), ("family.relationships", tense)) == [OVERLAP]
    assert reasons(("family.relationships", close), ("family.relationships", close)) == []
    assert (
        reasons(("family.relationships", close), ("family.relationships", told(relation="父亲", quality="紧张"))) == []
    )


def test_several_pairs_come_in_the_order_of_the_memories() -> None:
    contents = ["likes tea", "hates tea", "avoids tea"]
    found = contradictions([memory(n, "diet.habits", one) for n, one in enumerate(contents)], SCHEMA)
    assert [(one.first.content, one.second.content) for one in found] == [
        ("likes tea", "hates tea"),
        ("likes tea", "avoids tea"),
    ]
