"""What the profile shows and what is cut (seed 004 ADR-4, §6.2; product C6, E1, G1, G5)."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.budget import estimate_tokens, split
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.profile import fit, project
from mex_pipeline.domain.render import profile_text
from mex_pipeline.domain.view import ProfileView
from mex_pipeline.domain.wording import Language, words
from mex_pipeline.errors import InvalidSlot
from tests.domain.examples import NOW, memory, seed_schema

SCHEMA = seed_schema()
PLENTY = 100_000


def shown(view: ProfileView) -> list[str]:
    """The contents of the slot lines in the order in which they are shown."""
    return [
        line.memory.content for topic_view in view.topics for slot_view in topic_view.slots for line in slot_view.lines
    ]


def reasons(view: ProfileView) -> dict[str, str]:
    return {cut.line.memory.content: cut.reason for cut in view.cut}


def day(number: int) -> str:
    return f"2026-07-{number:02}T00:00:00Z"


def skills(*tiers: Confidence) -> list[Memory]:
    """Memories of a slot of many, the first the newest."""
    return [
        memory(number, "work.tech_stack", f"技能{number}", confidence=tier, updated_at=day(28 - number))
        for number, tier in enumerate(tiers)
    ]


def test_seed_6_2_topics_and_slots_follow_the_schema_and_not_the_input() -> None:
    rows = [
        memory(1, "goals.short_term_goal", "目标"),
        memory(2, "work.company", "远光"),
        memory(3, "work.position", "后端"),
        memory(4, "basic_info.name", "小陈"),
    ]
    assert shown(project(SCHEMA, rows, NOW)) == ["小陈", "后端", "远光", "目标"]


def test_seed_adr_4_only_active_memories_of_declared_slots_are_shown() -> None:
    rows = [
        memory(1, "work.company", "远光"),
        memory(2, "work.position", "旧职位", forgotten_at=NOW),
        memory(3, "basic_info.name", "过期", expires_at=NOW),
        memory(4, "basic_info.location", "杭州", expires_at="2027-01-01T00:00:00Z"),
        memory(5, "work.gone", "没有这个槽位"),
        memory(6, "finance", "记录"),
    ]
    assert shown(project(SCHEMA, rows, NOW)) == ["杭州", "远光"]


def test_seed_6_2_a_slot_of_many_shows_the_best_three_and_the_true_total() -> None:
    rows = skills(Confidence.UNCERTAIN, Confidence.INFERRED, Confidence.CONFIRMED, Confidence.EXPLICIT)
    rows.append(memory(9, "work.tech_stack", "更新的", confidence=Confidence.EXPLICIT, updated_at=NOW))
    view = project(SCHEMA, rows, NOW)
    assert shown(view) == ["技能2", "更新的", "技能3"]
    assert view.topics[0].slots[0].total == 5
    assert reasons(view) == {"技能1": "beyond_top", "技能0": "beyond_top"}


def test_seed_6_2_full_ties_keep_the_order_given() -> None:
    rows = [memory(number, "work.tech_stack", f"技能{number}") for number in (3, 1, 2, 4)]
    assert shown(project(SCHEMA, rows, NOW)) == ["技能3", "技能1", "技能2"]


def test_g1_a_unique_slot_shows_one_value_even_when_a_migration_left_several() -> None:
    rows = [memory(1, "work.company", "旧", updated_at=day(1)), memory(2, "work.company", "新", updated_at=day(2))]
    view = project(SCHEMA, rows, NOW)
    assert shown(view) == ["新"]
    assert reasons(view) == {"旧": "beyond_top"}


def test_g5_recent_records_are_limited_and_zero_closes_the_section() -> None:
    records = [memory(number, None, f"记录{number}") for number in range(7)]
    view = project(SCHEMA, [], NOW, recent=records)
    assert [line.memory.content for line in view.recent] == [f"记录{number}" for number in range(5)]
    assert reasons(view) == {"记录5": "beyond_top", "记录6": "beyond_top"}
    assert project(SCHEMA, [], NOW, recent=records, recent_limit=0).recent == ()


def test_seed_6_2_recent_holds_active_records_only() -> None:
    records = [
        memory(1, "work.company", "槽位"),
        memory(2, None, "忘记的", forgotten_at=NOW),
        memory(3, "finance", "留下的"),
    ]
    assert [line.memory.content for line in project(SCHEMA, [], NOW, recent=records).recent] == ["留下的"]


def test_seed_6_2_topics_limit_the_body_and_the_recent_records() -> None:
    rows = [memory(1, "basic_info.name", "小陈"), memory(2, "work.company", "远光")]
    records = [memory(3, "work", "工作记录"), memory(4, "finance", "理财记录"), memory(5, None, "无领域")]
    view = project(SCHEMA, rows, NOW, ["work"], recent=records)
    assert shown(view) == ["远光"]
    assert [line.memory.content for line in view.recent] == ["工作记录"]


def test_seed_6_2_an_unknown_topic_is_refused() -> None:
    with pytest.raises(InvalidSlot) as caught:
        project(SCHEMA, [], NOW, ["work", "job"])
    assert caught.value.code == "unknown_topic"


def test_c6_a_doubtful_value_carries_the_confirmed_one_it_stands_in_for() -> None:
    row = memory(1, "basic_info.location", "深圳", confidence=Confidence.UNCERTAIN)
    view = project(SCHEMA, [row], NOW, earlier={"m1": "上海", "m2": "别的"})
    assert view.topics[0].slots[0].lines[0].earlier == "上海"


def test_seed_6_2_the_least_sure_lines_go_first_and_the_oldest_of_equals() -> None:
    rows = [
        memory(1, "basic_info.name", "甲" * 20, confidence=Confidence.EXPLICIT, updated_at=day(1)),
        memory(2, "basic_info.location", "乙" * 20, confidence=Confidence.UNCERTAIN, updated_at=day(9)),
        memory(3, "work.position", "丙" * 20, confidence=Confidence.EXPLICIT, updated_at=day(2)),
        memory(4, "work.company", "丁" * 20, confidence=Confidence.CONFIRMED, updated_at=day(1)),
    ]
    view = project(SCHEMA, rows, NOW)
    order: list[str] = []
    for max_tokens in range(600, 0, -1):
        gone = [cut.line.memory.id for cut in fit(view, max_tokens, "zh").view.cut]
        order.extend(one for one in gone if one not in order)
    assert order == ["m2", "m1", "m3", "m4"]


def test_seed_6_2_the_oldest_records_go_first() -> None:
    records = [memory(number, None, f"记录{number}" + "字" * 20) for number in range(4)]
    fitted = fit(project(SCHEMA, [], NOW, recent=records), 400, "zh")
    assert [line.memory.id for line in fitted.view.recent] == ["m0", "m1"]
    assert [(cut.line.memory.id, cut.reason) for cut in fitted.view.cut] == [
        ("m2", "over_budget"),
        ("m3", "over_budget"),
    ]


def test_a_line_longer_than_its_share_does_not_push_out_all_others() -> None:
    rows = [memory(1, "basic_info.name", "长" * 5000), memory(2, "work.company", "远光")]
    fitted = fit(project(SCHEMA, rows, NOW), 300, "zh")
    assert shown(fitted.view) == ["远光"]
    assert [cut.reason for cut in fitted.view.cut] == ["too_long"]


def test_seed_6_2_the_total_stays_true_when_lines_are_cut() -> None:
    rows = [memory(number, "work.tech_stack", f"技能{number}" + "长" * 40) for number in range(19)]
    fitted = fit(project(SCHEMA, rows, NOW), 250, "zh")
    assert 0 < len(shown(fitted.view)) < 3
    assert fitted.view.topics[0].slots[0].total == 19
    assert "（共 19 条，" in profile_text(fitted, "zh")


def test_seed_6_2_the_share_of_the_body_is_used_to_the_last_token() -> None:
    rows = [
        memory(1, "basic_info.name", "小陈"),
        memory(2, "basic_info.location", "杭州"),
        *(memory(number, "work.tech_stack", f"技能{number}") for number in range(3, 8)),
    ]
    view = project(SCHEMA, rows, NOW)
    whole = fit(view, PLENTY, "zh")
    needed = sum(estimate_tokens(line) for line in profile_text(whole, "zh").splitlines())
    assert whole.tokens == needed
    enough = next(size for size in range(PLENTY) if split(size)[0] >= needed)
    assert split(enough)[0] == needed
    assert len(shown(fit(view, enough, "zh").view)) == 5
    assert len(shown(fit(view, enough - 1, "zh").view)) == 4


def test_a_topic_without_lines_left_has_no_heading() -> None:
    rows = [
        memory(1, "basic_info.name", "小陈"),
        memory(2, "work.company", "远" * 60, confidence=Confidence.UNCERTAIN),
    ]
    fitted = fit(project(SCHEMA, rows, NOW), 200, "zh")
    assert [topic_view.topic.name for topic_view in fitted.view.topics] == ["basic_info"]


ROWS = st.lists(
    st.tuples(
        st.sampled_from([slot.path for slot in SCHEMA.slots()]),
        st.text("字a b\n", max_size=80),
        st.sampled_from(list(Confidence)),
        st.integers(1, 28),
    ),
    max_size=30,
)
RECORDS = st.lists(st.text("字a b\n", max_size=80), max_size=8)


def built(rows: Iterable[tuple[str, str, Confidence, int]]) -> list[Memory]:
    return [
        memory(number, path, content, confidence=tier, updated_at=day(updated))
        for number, (path, content, tier, updated) in enumerate(rows)
    ]


@given(ROWS, RECORDS, st.integers(0, 600), st.sampled_from(["zh", "en"]))
def test_seed_6_2_the_text_never_exceeds_the_budget(
    rows: list[tuple[str, str, Confidence, int]], records: list[str], max_tokens: int, language: Language
) -> None:
    recent = [memory(1000 + number, None, content) for number, content in enumerate(records)]
    fitted = fit(project(SCHEMA, built(rows), NOW, recent=recent), max_tokens, language)
    title = estimate_tokens(words(language).title)
    estimate = estimate_tokens(profile_text(fitted, language))
    assert estimate <= fitted.tokens <= max(max_tokens, title)


@given(ROWS, st.integers(0, 600))
def test_seed_6_2_nothing_surer_is_cut_for_something_less_sure(
    rows: list[tuple[str, str, Confidence, int]], max_tokens: int
) -> None:
    fitted = fit(project(SCHEMA, built(rows), NOW), max_tokens, "zh").view
    kept = [line.memory for view in fitted.topics for slot in view.slots for line in slot.lines]
    lost = [cut.line.memory for cut in fitted.cut if cut.reason == "over_budget"]
    assert all((a.confidence.weight, a.updated_at) >= (b.confidence.weight, b.updated_at) for a in kept for b in lost)


@given(ROWS, st.integers(0, 600))
def test_every_active_memory_is_either_shown_or_cut(
    rows: list[tuple[str, str, Confidence, int]], max_tokens: int
) -> None:
    memories = built(rows)
    fitted = fit(project(SCHEMA, memories, NOW), max_tokens, "zh").view
    kept = [line.memory.id for view in fitted.topics for slot in view.slots for line in slot.lines]
    assert sorted(kept + [cut.line.memory.id for cut in fitted.cut]) == sorted(row.id for row in memories)


@given(ROWS, st.randoms(use_true_random=False), st.integers(0, 600))
def test_e1_the_text_does_not_depend_on_the_order_of_the_rows(
    rows: list[tuple[str, str, Confidence, int]], chance: random.Random, max_tokens: int
) -> None:
    """Rows that tie in confidence and time keep the order given; all others may come in any order."""
    distinct = [
        memory(number, path, content, confidence=tier, updated_at=f"2026-07-01T00:00:{number:02}Z")
        for number, (path, content, tier, _) in enumerate(rows)
    ]
    shuffled = chance.sample(distinct, len(distinct))
    texts = {profile_text(fit(project(SCHEMA, each, NOW), max_tokens, "zh"), "zh") for each in (distinct, shuffled)}
    assert len(texts) == 1
