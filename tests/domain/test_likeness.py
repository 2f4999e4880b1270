"""When two contents are one value, and when they are so alike that a person should look (product B5)."""

import pytest

from mex_pipeline.domain.likeness import NEAR, are_near, are_same, likeness


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("远光软件", "远光软件。"),
        ("VS Code", "VSCode"),
        ("ＶＳＣｏｄｅ", "vscode"),
        ("the Beatles", "Beatles"),
        ("node.js", "NodeJS"),
        ("half-life", "Half life"),
        ("跑步、游泳", "跑步游泳"),
        ("“分点列出来”", "分点列出来"),
        ('{"company": "Acme, Inc.", "position": "Dev"}', '{"position": "dev", "company": "Acme Inc"}'),
    ],
)
def test_b5_writing_does_not_make_another_value(one: str, other: str) -> None:
    assert are_same(one, other)
    assert not are_near(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C", "C#"),
        ("3.5", "35"),
        ("-5", "5"),
        ("NET", ".NET"),
        ("100%", "100"),
        ("青岛", "青海"),
        ("不吃香菜", "吃香菜"),
        ('{"company": "Acme"}', '{"company": "Apex"}'),
    ],
)
def test_b5_what_tells_values_apart_is_kept(one: str, other: str) -> None:
    assert not are_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mountain biking in the Alps", "mountain bike in the Alps"),
        ("每天早上跑五公里", "每天早上会跑五公里"),
        ("远光软件股份有限公司", "远光软件有限公司"),
        ("Senior software engineer", "Senior software engineering"),
    ],
)
def test_b5_a_near_repeat_is_for_a_person_to_see(one: str, other: str) -> None:
    assert are_near(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Python 2", "Python 3"),
        ("likes jazz", "dislikes jazz"),
        ("喜欢吃辣", "不喜欢吃辣"),
        ("Java", "JavaScript"),
        ("TypeScript", "JavaScript"),
        ("羽毛球", "乒乓球"),
        ("后端工程师", "前端工程师"),
        ("柯基豆包", "金毛大福"),
        ("2019 marathon", "2021 marathon"),
        ("allergic to peanuts", "allergic to pollen"),
    ],
)
def test_b5_alike_is_not_the_same(one: str, other: str) -> None:
    assert likeness(one, other) < NEAR
    assert likeness(one, other) == likeness(other, one)
