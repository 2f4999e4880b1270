"""Who may write what (seed 004 §3.3, §6.1 step 5, §7.2; product C11, F4, P7)."""

import pytest

from mex_pipeline.domain.candidate import About, Action, Candidate, Discarded
from mex_pipeline.domain.memory import Actor, Confidence
from mex_pipeline.domain.rules import Checked, check_candidate, check_write
from mex_pipeline.errors import InvalidContent, InvalidSlot
from tests.domain.examples import proposal, seed_schema

SCHEMA = seed_schema()


def write(slot: str | None, content: str, actor: Actor, confidence: Confidence | None = None) -> Checked:
    topic, _, sub_topic = (slot or "").partition(".")
    return check_write(
        SCHEMA, topic=topic or None, sub_topic=sub_topic or None, content=content, confidence=confidence, actor=actor
    )


def passed(candidate: Candidate) -> Candidate:
    checked = check_candidate(SCHEMA, candidate)
    assert isinstance(checked, Candidate), checked
    return checked


def dropped(candidate: Candidate) -> Discarded:
    checked = check_candidate(SCHEMA, candidate)
    assert isinstance(checked, Discarded), checked
    return checked


@pytest.mark.parametrize("tier", list(Confidence))
def test_seed_3_3_a_person_may_give_any_tier(tier: Confidence) -> None:
    assert write("work.company", "华为", Actor.USER, tier).confidence is tier


def test_seed_5_1_a_person_confirms_unless_told_otherwise_and_a_model_never_does() -> None:
    assert write("work.company", "华为", Actor.USER).confidence is Confidence.CONFIRMED
    assert write("work.company", "华为", Actor.AI).confidence is Confidence.EXPLICIT


@pytest.mark.parametrize("tier", list(Confidence))
def test_f4_a_model_writes_at_most_explicit(tier: Confidence) -> None:
    expected = Confidence.EXPLICIT if tier is Confidence.CONFIRMED else tier
    assert write("work.company", "华为", Actor.AI, tier).confidence is expected


def test_a_write_is_checked_against_schema_and_content() -> None:
    checked = write("work.company", "  华为 ", Actor.USER)
    assert checked.slot is not None
    assert (checked.slot.path, checked.content) == ("work.company", "华为")
    assert write("finance", "今天基金跌了 3%", Actor.USER).slot is None
    with pytest.raises(InvalidSlot):
        write("job.company", "华为", Actor.USER)
    with pytest.raises(InvalidContent):
        write("work.experience", "在华为做后端", Actor.USER)


@pytest.mark.parametrize("action", [Action.NEW, Action.UPDATE])
def test_seed_3_3_a_candidate_is_never_confirmed(action: Action) -> None:
    candidate = proposal("work.company", "华为", action=action, confidence=Confidence.CONFIRMED)
    assert passed(candidate).confidence is Confidence.EXPLICIT


def test_seed_3_3_the_users_own_doubt_keeps_its_tier() -> None:
    checked = passed(proposal(None, "可能有点焦虑", confidence=Confidence.SPECULATED))
    assert (checked.confidence, checked.is_ai_inferred) == (Confidence.SPECULATED, False)


@pytest.mark.parametrize("slot", ["work.company", "work.tech_stack"])
def test_seed_7_2_an_uncertain_update_is_forced_into_review(slot: str) -> None:
    checked = passed(proposal(slot, "华为", action=Action.UNCERTAIN_UPDATE))
    assert checked.action is Action.UNCERTAIN_UPDATE
    assert (checked.confidence, checked.is_ai_inferred) == (Confidence.UNCERTAIN, True)


def test_seed_3_2_a_record_has_nothing_to_update() -> None:
    assert passed(proposal("finance", "基金跌了", action=Action.UPDATE)).action is Action.NEW
    doubtful = passed(proposal(None, "可能去深圳", action=Action.UNCERTAIN_UPDATE))
    assert (doubtful.action, doubtful.confidence) == (Action.NEW, Confidence.UNCERTAIN)
    assert doubtful.is_ai_inferred


def test_seed_7_2_retire_is_for_slots_of_many_only() -> None:
    assert passed(proposal("work.tech_stack", "Rust", action=Action.RETIRE)).action is Action.RETIRE
    assert dropped(proposal("work.company", "华为", action=Action.RETIRE)) == Discarded(
        "华为", "retire_unique", {"slot": "work.company"}
    )
    assert dropped(proposal("finance", "基金", action=Action.RETIRE)).reason == "retire_needs_slot"


def test_seed_7_2_a_structured_candidate_is_stored_canonically_or_discarded() -> None:
    content = '{"company":"华为","start":"2019","end":"至今"}'
    assert passed(proposal("work.experience", content)).content == (
        '{"start": "2019", "end": "至今", "company": "华为"}'
    )
    discarded = dropped(proposal("work.experience", '{"start": "2019", "end": "2020"}'))
    assert (discarded.reason, discarded.facts) == (
        "content_missing_field",
        {"slot": "work.experience", "field": "company"},
    )


def test_seed_adr_6_example_5_an_invalid_slot_is_discarded_with_the_facts_of_the_error() -> None:
    discarded = dropped(proposal("work.income", "两万"))
    assert discarded == Discarded(
        "两万",
        "unknown_sub_topic",
        {
            "topic": "work",
            "sub_topic": "income",
            "nearest": "finance.income",
            "known": "position, company, experience, tech_stack",
        },
    )
    assert dropped(Candidate("华为", topic=None, sub_topic="company")).reason == "sub_topic_without_topic"
    assert dropped(Candidate("华为", topic="work", sub_topic="")).reason == "blank_slot"


def test_c11_only_the_user_fills_the_users_own_slots() -> None:
    assert dropped(proposal("work.company", "华为", about=About.OTHER)) == Discarded(
        "华为", "about_other", {"slot": "work.company"}
    )
    assert passed(proposal("family.members", "妹妹在华为", about=About.OTHER)).about is About.OTHER
    assert passed(proposal("work", "同事小李在华为", about=About.OTHER)).slot is None


@pytest.mark.parametrize("slot", ["work.company", "family.members", "finance", None])
def test_c11_what_is_only_supposed_is_remembered_nowhere(slot: str | None) -> None:
    assert dropped(proposal(slot, "如果中了彩票就辞职", about=About.HYPOTHETICAL)).reason == "hypothetical"


def test_content_that_cannot_be_stored_is_mended_or_discarded() -> None:
    assert passed(proposal(None, "a\ud800")).content == "a\ufffd"
    assert dropped(proposal(None, " \n")).reason == "content_blank"


@pytest.mark.parametrize("content", ['{"name": "华为"}', ' ["Python", "Go"] ', "[]"])
@pytest.mark.parametrize("slot", ["work.company", "work.tech_stack", "finance", None])
def test_seed_3_5_json_where_no_fields_are_declared_is_no_content_of_a_model(slot: str | None, content: str) -> None:
    assert dropped(proposal(slot, content)) == Discarded(content, "content_not_text")


@pytest.mark.parametrize("content", ["[ref] 华为", "{华为", '"华为"', "42"])
def test_what_only_looks_like_json_is_text(content: str) -> None:
    assert passed(proposal("work.company", content)).content == content


def test_seed_3_5_a_person_may_store_json_as_text() -> None:
    assert write(None, '["Python", "Go"]', Actor.USER).content == '["Python", "Go"]'


@pytest.mark.parametrize("actor", list(Actor))
@pytest.mark.parametrize(("content", "code"), [("a\0", "content_has_nul"), ("a\ud800", "content_not_unicode")])
def test_a_write_by_hand_is_stored_exactly_or_refused(actor: Actor, content: str, code: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        write(None, content, actor)
    assert caught.value.code == code
