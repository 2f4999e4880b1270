"""What schema.yaml says about a slot beyond its kind, as pure rules: parsing, expiry, review, what a profile leaves out."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.policy import NO_POLICY, Policy, Priority
from mex_pipeline.domain.profile import fit, project, withhold
from mex_pipeline.domain.render import profile_text
from mex_pipeline.domain.schema import Schema, idle_policies, parse, slot_lines
from mex_pipeline.domain.view import Withheld
from mex_pipeline.errors import InvalidInput
from tests.domain.examples import NOW, memory

PATH = "topics.pets.sub_topics.dog"


def declared(slot: object = "狗", **topic: object) -> Schema:
    return parse({"topics": {"pets": {"description": "宠物", "sub_topics": {"dog": slot, "cat": "猫"}, **topic}}})[0]


def policy(**keys: object) -> Policy:
    return declared({"description": "狗", **keys}).policy_of("pets", "dog")


def shown(schema: Schema, rows: list[Memory], now: str = NOW, *, max_tokens: int = 9_000) -> str:
    return profile_text(fit(project(schema, rows, now), max_tokens, "zh"), "zh")


@pytest.fixture(params=["UTC", "Asia/Shanghai", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_nothing_holds_where_nothing_is_declared() -> None:
    schema = declared()
    assert {slot.policy for slot in schema.slots()} == {NO_POLICY}
    assert not schema.has_sensitive
    assert (
        schema.policy_of("pets", None) == schema.policy_of("gone", "away") == schema.policy_of(None, None) == NO_POLICY
    )
    row = memory(1, "pets.dog", "旺财", expires_at="2026-12-31T00:00:00Z")
    assert NO_POLICY.expiry(NOW) is None
    assert NO_POLICY.renewed(row, NOW) == row.expires_at
    assert NO_POLICY.due_since(row._replace(valid_from="2001-01-01T00:00:00Z"), NOW) is None


def test_every_policy_is_read_as_it_is_written() -> None:
    keys = {"ttl": "90d", "review_every": "12w", "sensitive": True, "priority": "high", "max_items": 7}
    assert policy(**keys) == Policy(90, 84, True, Priority.HIGH, 7)


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"ttl": "90"}, "schema_bad_span"),
        ({"ttl": 90}, "schema_bad_span"),
        ({"ttl": "6m"}, "schema_bad_span"),
        ({"ttl": "0d"}, "schema_bad_span"),
        ({"ttl": "-3d"}, "schema_bad_span"),
        ({"ttl": "36501d"}, "schema_bad_span"),
        ({"ttl": "٩d"}, "schema_bad_span"),
        ({"ttl": None}, "schema_bad_span"),
        ({"ttl": ["90d"]}, "schema_bad_span"),
        ({"review_every": "1 year"}, "schema_bad_span"),
        ({"review_every": True}, "schema_bad_span"),
        ({"sensitive": "yes"}, "schema_not_flag"),
        ({"sensitive": None}, "schema_not_flag"),
        ({"priority": "urgent"}, "schema_bad_priority"),
        ({"priority": 1}, "schema_bad_priority"),
        ({"priority": ["high"]}, "schema_bad_priority"),
        ({"priority": None}, "schema_bad_priority"),
        ({"max_items": 0}, "schema_bad_count"),
        ({"max_items": 1001}, "schema_bad_count"),
        ({"max_items": True}, "schema_bad_count"),
        ({"max_items": 2.0}, "schema_bad_count"),
        ({"max_items": "5"}, "schema_bad_count"),
        ({"tll": "90d"}, "schema_unknown_key"),
    ],
)
def test_a_policy_that_does_not_fit_is_one_error_that_names_the_place(keys: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        policy(**keys)
    assert (caught.value.code, caught.value.params["path"]) == (code, f"{PATH}.{next(iter(keys))}")


@pytest.mark.parametrize(("key", "code"), [("ttl", "schema_unknown_key"), ("sensitive", "schema_not_flag")])
def test_a_topic_may_be_sensitive_and_nothing_else(key: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        declared(**{key: "90d"})
    assert (caught.value.code, caught.value.params["path"]) == (code, f"topics.pets.{key}")


def test_a_slot_is_as_sensitive_as_its_topic_unless_it_says_otherwise() -> None:
    schema = declared({"description": "狗", "sensitive": False}, sensitive=True)
    assert [schema.is_sensitive("pets", name) for name in ("dog", "cat", "gone", None)] == [False, True, True, True]
    assert not schema.is_sensitive("gone", None)
    assert not schema.is_sensitive(None, None)


def test_h5_the_fingerprint_follows_what_a_model_is_shown_and_no_policy() -> None:
    plain = declared({"description": "狗", "unique": False})
    keys = {"ttl": "90d", "review_every": "180d", "sensitive": True, "priority": "low", "max_items": 9}
    ruled = declared({"description": "狗", "unique": False, **keys}, sensitive=True)
    assert slot_lines(plain, "zh") == slot_lines(ruled, "zh")
    assert plain.fingerprint == ruled.fingerprint
    assert plain.fingerprint != declared().fingerprint


def test_policies_that_can_do_nothing_are_found() -> None:
    schema = declared({"description": "狗", "ttl": "30d", "review_every": "60d", "max_items": 2})
    assert [(one.code, one.path) for one in idle_policies(schema)] == [
        ("max_items_of_one", f"{PATH}.max_items"),
        ("review_after_expiry", f"{PATH}.review_every"),
    ]
    sound = declared({"description": "狗", "ttl": "60d", "review_every": "60d"})
    assert list(idle_policies(sound)) == []


def test_a_ttl_ends_with_a_local_day(zone: str) -> None:
    """So that the profile changes at midnight only (product E1)."""
    ends = {
        "UTC": "2026-11-04T23:59:59Z",
        "Asia/Shanghai": "2026-11-05T15:59:59Z",
        "America/New_York": "2026-11-05T04:59:59Z",
    }
    assert policy(ttl="90d").expiry("2026-08-06T20:30:00Z") == ends[zone]


@pytest.mark.parametrize(("said", "month"), [("0001-01-01T00:00:00Z", "0001-04"), ("9999-12-31T23:59:59Z", "")])
def test_the_ends_of_the_calendar_are_no_error(zone: str, said: str, month: str) -> None:
    rule = policy(ttl="90d", review_every="90d")
    assert (rule.expiry(said) or "")[:7] == month
    assert rule.due_since(memory(1, "pets.dog", "旺财", updated_at=said, valid_from=said), said) is None


@given(st.datetimes(), st.integers(1, 36_500))
def test_what_is_said_later_never_expires_earlier(said: Any, days: int) -> None:
    first = said.replace(microsecond=0).isoformat() + "Z"
    rule = Policy(ttl=days)
    end = rule.expiry(first)
    assert end is None or end > first
    assert end is None or (Policy(ttl=days + 1).expiry(first) or "9999-12-31T23:59:59Z") >= end


def test_b5_a_repeat_renews_what_the_ttl_gave_and_nothing_else() -> None:
    rule = policy(ttl="90d")
    said, later = "2026-01-01T08:00:00Z", "2026-03-01T08:00:00Z"
    row = memory(1, "pets.dog", "旺财", valid_from=said, last_seen_at=said, expires_at=rule.expiry(said))
    assert rule.renewed(row, later) == rule.expiry(later)
    assert rule.renewed(row, "2025-06-01T08:00:00Z") == row.expires_at, "an older statement shortens nothing"
    assert rule.renewed(row._replace(expires_at="2026-12-31T23:59:59Z"), later) == "2026-12-31T23:59:59Z"
    assert rule.renewed(row._replace(expires_at=None), later) is None, "a person took the expiry away"


def test_g13_a_value_that_moves_keeps_what_a_person_has_set() -> None:
    month, year = Policy(ttl=30), Policy(ttl=365)
    said = "2026-01-01T08:00:00Z"
    row = memory(1, "pets.dog", "旺财", valid_from=said, expires_at=month.expiry(said))
    assert year.taken_over(row, month) == year.expiry(said)
    assert NO_POLICY.taken_over(row, month) is None
    assert month.taken_over(row._replace(expires_at=None), NO_POLICY) == month.expiry(said)
    assert year.taken_over(row._replace(expires_at="2027-05-05T00:00:00Z"), month) == "2027-05-05T00:00:00Z"


@pytest.mark.parametrize(
    ("columns", "since"),
    [
        ({"confidence": Confidence.EXPLICIT, "valid_from": "2026-01-05T12:00:00Z"}, "2026-01-05T12:00:00Z"),
        ({"confidence": Confidence.EXPLICIT, "valid_from": "2026-02-08T12:00:00Z"}, None),
        # Learned late is not said late.
        ({"confidence": Confidence.INFERRED, "valid_from": "2024-01-05T12:00:00Z"}, "2024-01-05T12:00:00Z"),
        (
            {"confidence": Confidence.EXPLICIT, "valid_from": "2024-01-05T12:00:00Z", "last_seen_at": NOW},
            None,
        ),
        # Approved, edited or added by a person: vouched for then.
        ({"confidence": Confidence.CONFIRMED, "valid_from": "2024-01-05T12:00:00Z"}, None),
        (
            {
                "confidence": Confidence.CONFIRMED,
                "valid_from": "2024-01-05T12:00:00Z",
                "updated_at": "2025-05-05T12:00:00Z",
            },
            "2025-05-05T12:00:00Z",
        ),
    ],
)
def test_peers_3_7_a_value_is_due_when_nobody_has_checked_it_for_so_long(
    columns: dict[str, Any], since: str | None
) -> None:
    assert policy(review_every="180d").due_since(memory(1, "pets.dog", "旺财", **columns), NOW) == since


def test_e1_a_value_becomes_due_at_midnight_and_not_at_noon(zone: str) -> None:
    """Said at noon UTC of June 1st; due from the first to the last second of July 1st, local time."""
    last, first = {
        "UTC": ("2026-06-30T23:59:59Z", "2026-07-01T00:00:00Z"),
        "Asia/Shanghai": ("2026-06-30T15:59:59Z", "2026-06-30T16:00:00Z"),
        "America/New_York": ("2026-07-01T03:59:59Z", "2026-07-01T04:00:00Z"),
    }[zone]
    rule = policy(review_every="30d")
    row = memory(1, "pets.dog", "旺财", confidence=Confidence.EXPLICIT, valid_from="2026-06-01T12:00:00Z")
    assert rule.due_since(row, last) is None
    assert rule.due_since(row, first) == row.valid_from


def test_the_mark_stands_behind_the_value_in_both_languages() -> None:
    schema = declared({"description": "狗", "review_every": "180d"})
    said = {"valid_from": "2026-01-05T12:00:00Z", "confidence": Confidence.EXPLICIT}
    row = memory(1, "pets.dog", "旺财", **said)
    assert shown(schema, [row]).endswith("- 狗：旺财（2026-01-05 之后未核对）")
    fitted = fit(project(schema, [row], NOW), 9_000, "en")
    assert profile_text(fitted, "en").endswith("- 狗: 旺财 (not checked since 2026-01-05)")
    doubt = row._replace(confidence=Confidence.UNCERTAIN)
    told = fit(project(schema, [doubt], NOW, earlier={"m1": "小黑"}), 9_000, "zh")
    assert profile_text(told, "zh").endswith("（待确认；2026-01-05 之后未核对；此前：小黑）")


def test_the_budget_counts_the_mark() -> None:
    row = memory(1, "pets.dog", "旺财", valid_from="2026-01-05T12:00:00Z", confidence=Confidence.EXPLICIT)
    plain, marked = declared(), declared({"description": "狗", "review_every": "180d"})
    costs = [fit(project(schema, [row], NOW), 9_000, "zh").tokens for schema in (plain, marked)]
    assert costs[0] < costs[1]


@pytest.mark.parametrize(("most", "lines", "hint"), [(1, 1, True), (4, 4, True), (5, 5, False), (9, 5, False)])
def test_a_many_slot_shows_as_many_as_its_policy_says(most: int, lines: int, hint: bool) -> None:
    schema = declared({"description": "狗", "unique": False, "max_items": most})
    rows = [memory(number, "pets.dog", f"狗{number}") for number in range(5)]
    text = shown(schema, rows)
    assert text.count("- 狗：") == lines
    assert ("共 5 条" in text) is hint
    assert [cut.reason for cut in project(schema, rows, NOW).cut] == ["beyond_top"] * (5 - lines)


def test_the_budget_cuts_low_priority_first_and_high_priority_last_whatever_is_surer() -> None:
    low, high = {"description": "狗", "priority": "low"}, {"description": "猫", "priority": "high"}
    topics = {"pets": {"description": "宠物", "sub_topics": {"dog": low, "cat": high, "bird": "鸟"}}}
    schema = parse({"topics": topics})[0]
    rows = [
        memory(1, "pets.dog", "旺" * 20, confidence=Confidence.CONFIRMED),
        memory(2, "pets.cat", "咪" * 20, confidence=Confidence.UNCERTAIN),
        memory(3, "pets.bird", "啾" * 20, confidence=Confidence.EXPLICIT),
    ]
    order: list[str] = []
    for size in range(400, 0, -1):
        gone = [cut.line.memory.id for cut in fit(project(schema, rows, NOW), size, "zh").view.cut]
        order += [one for one in gone if one not in order]
    assert order == ["m1", "m3", "m2"]


def test_what_is_sensitive_is_counted_by_its_place_and_not_shown() -> None:
    schema = declared({"description": "狗", "unique": False, "sensitive": False}, sensitive=True)
    rows = [
        memory(1, None, "无领域"),
        memory(2, "pets", "记录"),
        memory(3, "pets.gone", "不在 schema 里"),
        memory(4, "pets.cat", "咪咪"),
        memory(5, "pets.cat", "花花"),
        memory(6, "pets.dog", "旺财"),
    ]
    left, withheld = withhold(schema, rows)
    assert [one.content for one in left] == ["无领域", "旺财"]
    assert withheld == [Withheld("pets", "cat", 2), Withheld("pets", "gone", 1), Withheld("pets", None, 1)]
    assert withhold(schema, rows, ["work"]) == (left, [])
    assert withhold(declared(), rows) == (rows, [])
