"""The schema gate (seed 004 ADR-6), its file (§3.4, §3.5) and the lines a model sees (§7.1)."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from mex_pipeline.domain.schema import Notice, Schema, parse, slot_lines
from mex_pipeline.errors import InvalidInput, InvalidSlot
from tests.domain.examples import SEED_TOPICS, en_schema, seed_schema

SHIPPED = Path(__file__).parents[2] / "config" / "schema"


@pytest.fixture
def schema() -> Schema:
    return seed_schema()


def refusal(schema: Schema, topic: str | None, sub_topic: str | None) -> InvalidSlot:
    with pytest.raises(InvalidSlot) as caught:
        schema.locate(topic, sub_topic)
    return caught.value


def one_slot(entry: object) -> dict[str, Any]:
    return {"topics": {"pets": {"description": "宠物", "sub_topics": {"dog_name": entry}}}}


def complaint(data: object) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as caught:
        parse(data)
    return caught.value.code, caught.value.params["path"]


def test_adr_6_example_1_a_declared_slot_is_located(schema: Schema) -> None:
    slot = schema.locate("work", "company")
    assert slot is not None
    assert (slot.path, slot.unique) == ("work.company", True)


@pytest.mark.parametrize("topic", ["finance", None])
def test_adr_6_examples_1b_and_6_a_record_may_have_a_known_topic_or_none(schema: Schema, topic: str | None) -> None:
    assert schema.locate(topic, None) is None


def test_adr_6_example_2_an_unknown_topic_is_refused_and_the_nearest_named(schema: Schema) -> None:
    error = refusal(schema, "job", "company")
    assert error.code == "unknown_topic"
    assert error.params == {"topic": "job", "nearest": ["work"], "known": list(SEED_TOPICS)}


def test_adr_6_example_3_an_unknown_sub_topic_is_refused_and_the_legal_ones_listed(schema: Schema) -> None:
    error = refusal(schema, "work", "employer")
    assert error.code == "unknown_sub_topic"
    assert error.params["known"] == ["position", "company", "experience", "tech_stack"]
    assert (error.params["topic"], error.params["sub_topic"]) == ("work", "employer")


def test_adr_6_example_5_a_slot_of_another_topic_is_pointed_to(schema: Schema) -> None:
    assert refusal(schema, "work", "income").params["nearest"] == ["finance.income"]


def test_adr_6_example_4_a_slot_added_to_the_file_is_legal_at_once() -> None:
    extended = {"topics": {**SEED_TOPICS, "pets": {"description": "宠物", "sub_topics": {"dog_name": "狗的名字"}}}}
    slot = parse(extended)[0].locate("pets", "dog_name")
    assert slot is not None
    assert slot.description == "狗的名字"


def test_adr_6_example_6_a_record_of_an_unknown_topic_is_refused(schema: Schema) -> None:
    assert refusal(schema, "finanse", None).params["nearest"] == ["finance"]


@pytest.mark.parametrize(("topic", "sub_topic"), [("", ""), (" ", None), ("work", ""), (None, "\t"), ("\u200b", None)])
def test_adr_6_blank_names_are_refused_and_never_stored(
    schema: Schema, topic: str | None, sub_topic: str | None
) -> None:
    assert refusal(schema, topic, sub_topic).code == "blank_slot"


def test_3_2_a_sub_topic_needs_a_topic(schema: Schema) -> None:
    error = refusal(schema, None, "company")
    assert (error.code, error.params) == ("sub_topic_without_topic", {"sub_topic": "company"})


def test_a_topic_is_also_near_by_a_word_of_one_of_its_slots() -> None:
    shipped = parse(yaml.safe_load((SHIPPED / "zh.yaml").read_text(encoding="utf-8")))[0]
    assert refusal(shipped, "job", None).params["nearest"] == ["work"]


def test_3_4_the_seed_schema_is_read_with_its_constraints(schema: Schema) -> None:
    experience = schema.find("work", "experience")
    assert experience is not None
    assert not experience.unique
    assert [(field.name, field.required, field.is_time) for field in experience.fields] == [
        ("start", True, True),
        ("end", True, True),
        ("company", True, False),
        ("position", False, False),
        ("kind", False, False),
    ]
    assert experience.fields[3].description == "职位"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_3_4_the_shipped_schemas_have_the_twelve_topics_and_no_notice(language: str) -> None:
    schema, notices = parse(yaml.safe_load((SHIPPED / f"{language}.yaml").read_text(encoding="utf-8")))
    assert notices == ()
    assert len(schema.topics) == 12


def test_3_4_both_shipped_schemas_declare_the_same_slots() -> None:
    def shape(language: str) -> list[object]:
        schema = parse(yaml.safe_load((SHIPPED / f"{language}.yaml").read_text(encoding="utf-8")))[0]
        return [
            (slot.path, slot.unique, [(field.name, field.required, field.is_time) for field in slot.fields])
            for slot in schema.slots()
        ]

    assert shape("zh") == shape("en")


def test_3_5_retired_multiple_is_read_as_many_and_noticed() -> None:
    schema, notices = parse(one_slot({"description": "狗", "multiple": True}))
    slot = schema.find("pets", "dog_name")
    assert slot is not None
    assert not slot.unique
    assert notices == (Notice("retired_multiple", "topics.pets.sub_topics.dog_name"),)


def test_a_missing_description_is_the_name_and_a_long_one_becomes_one_line() -> None:
    schema = parse({"topics": {"pets": {"sub_topics": {"dog": {}, "cat": "a\n  cat"}}}})[0]
    assert schema.topics["pets"].description == "pets"
    assert [slot.description for slot in schema.slots()] == ["dog", "a cat"]


def test_a_topic_without_sub_topics_still_files_records() -> None:
    schema = parse({"topics": {"dreams": {"description": "梦"}}})[0]
    assert schema.locate("dreams", None) is None
    assert refusal(schema, "dreams", "last").params["known"] == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, ("schema_no_topics", "topics")),
        ([], ("schema_no_topics", "topics")),
        ({"topics": {}}, ("schema_no_topics", "topics")),
        ({"topics": ["work"]}, ("schema_not_mapping", "topics")),
        ({"topics": {"work": "工作"}}, ("schema_not_mapping", "topics.work")),
        ({"topics": {"work": None}}, ("schema_not_mapping", "topics.work")),
        ({"topics": {2024: {}}}, ("schema_bad_name", "topics")),
        ({"topics": {"Work": {}}}, ("schema_bad_name", "topics")),
        ({"topics": {"工作": {}}}, ("schema_bad_name", "topics")),
        ({"topics": {"work": {"company": {}}}}, ("schema_unknown_key", "topics.work.company")),
        ({"topics": {"work": {}}, "version": 1}, ("schema_unknown_key", "version")),
        ({"topics": {"work": {"sub_topics": "name"}}}, ("schema_not_mapping", "topics.work.sub_topics")),
        (one_slot(["a"]), ("schema_not_mapping", "topics.pets.sub_topics.dog_name")),
        (one_slot(3), ("schema_not_mapping", "topics.pets.sub_topics.dog_name")),
        (one_slot({"description": 3}), ("schema_not_text", "topics.pets.sub_topics.dog_name.description")),
        (one_slot({"unique": "false"}), ("schema_not_flag", "topics.pets.sub_topics.dog_name.unique")),
        (one_slot({"unique": None}), ("schema_not_flag", "topics.pets.sub_topics.dog_name.unique")),
        (one_slot({"uniqe": False}), ("schema_unknown_key", "topics.pets.sub_topics.dog_name.uniqe")),
        (one_slot({"fields": ["a"]}), ("schema_not_mapping", "topics.pets.sub_topics.dog_name.fields")),
        (one_slot({"fields": {True: "是"}}), ("schema_bad_name", "topics.pets.sub_topics.dog_name.fields")),
        (one_slot({"fields": {date(2024, 1, 1): "x"}}), ("schema_bad_name", "topics.pets.sub_topics.dog_name.fields")),
        (
            one_slot({"fields": {"born": {"format": "date"}}}),
            ("schema_bad_format", "topics.pets.sub_topics.dog_name.fields.born.format"),
        ),
        (
            one_slot({"fields": {"born": {"required": "yes"}}}),
            ("schema_not_flag", "topics.pets.sub_topics.dog_name.fields.born.required"),
        ),
    ],
)
def test_every_wrong_shape_is_one_error_that_names_the_place(data: object, expected: tuple[str, str]) -> None:
    assert complaint(data) == expected


def test_the_fingerprint_changes_with_descriptions_and_order_and_with_nothing_else(schema: Schema) -> None:
    reordered = {"topics": dict(reversed(SEED_TOPICS.items()))}
    renamed = {"topics": {**SEED_TOPICS, "family": {**SEED_TOPICS["family"], "description": "家人"}}}
    prints = {schema.fingerprint, parse(reordered)[0].fingerprint, parse(renamed)[0].fingerprint}
    assert len(prints) == 3
    assert schema.fingerprint == seed_schema().fingerprint
    assert len(schema.fingerprint) == 12


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["start", "end"], {"end"}),
        (["end", "start"], {"end"}),
        (["begin", "end_date"], {"end_date"}),
        (["von", "bis"], {"bis"}),
        (["year"], set()),
        (["start"], set()),
    ],
)
def test_3_4_only_the_end_of_a_span_may_be_open(times: list[str], expected: set[str]) -> None:
    fields = {name: {"description": name, "format": "time"} for name in times}
    slot = parse(one_slot({"fields": fields}))[0].find("pets", "dog_name")
    assert slot is not None
    assert slot.open_fields == expected


def test_7_1_a_model_is_shown_each_slot_with_its_kind_and_template_in_chinese(schema: Schema) -> None:
    lines = slot_lines(schema, "zh")
    assert "work — 工作与职业（含创业与开源）" in lines
    assert "work.company — 当前公司" in lines
    assert "work.tech_stack — 技术栈/技能 [可多条]" in lines
    assert (
        "work.experience — 工作经历 [可多条] [JSON 对象: start[必填][YYYY/YYYY-MM/YYYY-MM-DD] 开始时间, "
        "end[必填][YYYY/YYYY-MM/YYYY-MM-DD/至今] 结束时间, company[必填] 公司名, position 职位, kind 类型（全职/实习）]"
    ) in lines


def test_7_1_a_model_is_shown_each_slot_with_its_kind_and_template_in_english() -> None:
    lines = slot_lines(en_schema(), "en")
    assert "basic_info.name — Name" in lines
    assert (
        "work.experience — Work experience [many] [JSON object: start[required][YYYY/YYYY-MM/YYYY-MM-DD] Start, "
        "end[required][YYYY/YYYY-MM/YYYY-MM-DD/present] End, company[required] Company, position Position]"
    ) in lines
