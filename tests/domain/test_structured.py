"""Content of structured slots (seed 004 §3.4) and of everything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.schema import Slot
from mex_pipeline.domain.structured import MAX_CONTENT, normalise, parse_content, render, require_fits, require_storable
from mex_pipeline.errors import InvalidContent
from tests.domain.examples import en_schema, seed_schema

STAR = {"start": "2019", "end": "2023", "company": "星辰软件"}


def slot(path: str) -> Slot:
    found = seed_schema().find(*path.split("."))
    assert found is not None
    return found


def refusal(path: str, content: object) -> InvalidContent:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    with pytest.raises(InvalidContent) as caught:
        normalise(slot(path), text)
    return caught.value


def test_seed_3_4_a_structured_value_is_stored_as_json_in_declared_order() -> None:
    content = '{ "position": " 后端工程师 ", "company": "星辰软件", "end": "2023", "start": "2019" }'
    assert normalise(slot("work.experience"), content) == (
        '{"start": "2019", "end": "2023", "company": "星辰软件", "position": "后端工程师"}'
    )


def test_seed_3_4_optional_fields_left_blank_are_left_out() -> None:
    content = json.dumps({**STAR, "position": "  "})
    assert parse_content(slot("work.experience"), content) == STAR


@pytest.mark.parametrize("content", ["在星辰软件做后端", "[1]", '"text"', "{", "", "[" * 20_000])
def test_seed_3_4_prose_and_other_json_are_refused(content: str) -> None:
    error = refusal("work.experience", content)
    assert error.code == "content_not_json"
    assert error.params == {
        "slot": "work.experience",
        "fields": ["start", "end", "company", "position", "kind"],
    }


def test_seed_3_4_undeclared_fields_are_refused_by_name() -> None:
    error = refusal("work.experience", {**STAR, "boss": "王总"})
    assert (error.code, error.params["slot"], error.params["field"]) == (
        "content_unknown_field",
        "work.experience",
        "boss",
    )


@pytest.mark.parametrize("company", [None, ""])
def test_seed_3_4_required_fields_must_be_there_and_say_something(company: str | None) -> None:
    content = {"start": "2019", "end": "2023"} if company is None else {**STAR, "company": company}
    error = refusal("work.experience", content)
    assert error.code == "content_missing_field"
    assert error.params == {"slot": "work.experience", "field": "company"}


@pytest.mark.parametrize("value", [2019, None, True, {"a": "b"}, ["x"], 1.5])
def test_seed_3_4_every_value_is_text(value: object) -> None:
    error = refusal("work.experience", {**STAR, "position": value})
    assert error.code == "content_not_text_field"
    assert error.params == {"slot": "work.experience", "field": "position"}


@pytest.mark.parametrize(
    "value", ["2023-13-45", "2023-02-30", "2023-1-1", "0000", "23", "2023年", "去年", "2023-", "２０２３"]
)
def test_seed_3_4_a_time_is_a_real_date(value: str) -> None:
    error = refusal("work.experience", {**STAR, "end": value})
    assert error.code == "content_bad_time"
    assert error.params == {"slot": "work.experience", "field": "end", "value": value}


@pytest.mark.parametrize("value", ["2023", "2023-04", "2024-02-29"])
def test_seed_3_4_a_time_has_three_precisions(value: str) -> None:
    assert parse_content(slot("work.experience"), json.dumps({**STAR, "end": value}))["end"] == value


@pytest.mark.parametrize(("value", "stored"), [("至今", "至今"), ("present", "present"), ("Present", "present")])
def test_seed_3_4_only_an_end_may_be_open(value: str, stored: str) -> None:
    assert parse_content(slot("work.experience"), json.dumps({**STAR, "end": value}))["end"] == stored
    assert refusal("work.experience", {**STAR, "start": value}).code == "content_bad_time"
    assert refusal("goals.short_term_goal", {"goal": "毕业", "deadline": value}).code == "content_bad_time"


@pytest.mark.parametrize("content", ["", "  ", "\n\t", "\u200b", "\u3000"])
def test_content_that_shows_nothing_is_refused_everywhere(content: str) -> None:
    for where in (slot("basic_info.name"), None):
        with pytest.raises(InvalidContent) as caught:
            normalise(where, content)
        assert caught.value.code == "content_blank"


def test_an_object_of_which_nothing_is_filled_is_refused() -> None:
    schema = seed_schema()
    optional = Slot("work", "x", "x", fields=(schema.topics["work"].slots["experience"].fields[3],))
    with pytest.raises(InvalidContent) as caught:
        normalise(optional, '{"position": " "}')
    assert caught.value.code == "content_blank"


def test_a_new_content_of_more_than_20_000_characters_is_refused_with_its_length() -> None:
    require_fits("长" * MAX_CONTENT)
    with pytest.raises(InvalidContent) as caught:
        require_fits("长" * 1_000_000)
    assert caught.value.code == "content_too_long"
    assert caught.value.params == {"length": 1_000_000, "limit": MAX_CONTENT}


@pytest.mark.parametrize(
    ("where", "content", "code"),
    [
        ("basic_info.name", "林\0", "content_has_nul"),
        ("basic_info.name", "林\ud83d", "content_not_unicode"),
        ("work.experience", json.dumps({**STAR, "position": "a\0"}), "content_has_nul"),
        ("work.experience", json.dumps({**STAR, "position": "a\udc00"}), "content_not_unicode"),
        ("work.experience", '{"company": "a\0"}', "content_has_nul"),
    ],
)
def test_what_could_only_be_stored_changed_is_refused_escaped_or_not(where: str, content: str, code: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        require_storable(slot(where), content)
    assert caught.value.code == code


@pytest.mark.parametrize("content", ["a\\u0000", "👍🏽", "e\u0301", "a\r\nb", "\x1b[31m", "مرحبا", json.dumps(STAR)])
def test_everything_else_can_be_stored_as_it_is(content: str) -> None:
    for where in (slot("basic_info.name"), slot("work.experience"), None):
        require_storable(where, content)


@given(st.text())
def test_stored_text_can_always_be_encoded_and_holds_no_nul(content: str) -> None:
    stored = normalise(None, content + "x\ud800\x00")
    assert "\x00" not in stored
    assert stored.encode()


def test_surrogates_escaped_in_json_are_replaced_too() -> None:
    stored = normalise(slot("work.experience"), json.dumps({**STAR, "position": "a\ud83d"}))
    assert json.loads(stored)["position"] == "a\ufffd"


@given(
    st.fixed_dictionaries(
        {"start": st.just("2019"), "end": st.just("至今"), "company": st.text('星辰 a\\"{}\n').map("星{}".format)},
        optional={"position": st.text()},
    )
)
def test_normalising_twice_changes_nothing(fields: dict[str, str]) -> None:
    once = normalise(slot("work.experience"), json.dumps(fields))
    assert normalise(slot("work.experience"), once) == once


def test_seed_6_2_a_structured_value_reads_as_text_in_field_order_in_both_languages() -> None:
    content = '{"position": "后端", "company": "星辰软件", "start": "2019", "end": "至今", "kind": "全职"}'
    assert render(slot("work.experience"), content, "zh") == (
        "开始时间：2019；结束时间：至今；公司名：星辰软件；职位：后端；类型：全职"
    )
    english = en_schema().find("work", "experience")
    assert render(english, '{"end": "present", "start": "2019", "company": "Acme"}', "en") == (
        "Start: 2019; End: present; Company: Acme"
    )


@pytest.mark.parametrize("content", ["在星辰软件做后端", '["Python", "Go"]', '{"company": 3}'])
def test_seed_3_6_what_is_no_object_of_texts_is_shown_as_it_is(content: str) -> None:
    assert render(slot("work.experience"), content, "zh") == content


def test_seed_3_6_an_object_of_an_older_schema_still_reads_as_text() -> None:
    content = '{"boss": "王总", "company": "星辰软件"}'
    assert render(slot("work.experience"), content, "zh") == "公司名：星辰软件；boss：王总"


def test_plain_content_is_shown_as_it_is() -> None:
    assert render(slot("basic_info.name"), '{"a": "b"}', "zh") == '{"a": "b"}'
    assert render(None, "随手记", "zh") == "随手记"
