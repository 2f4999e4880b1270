"""Whether the words were said, and by whom (product B3, F1), and the echo of the prompt (peers row 3)."""

from dataclasses import replace

import pytest

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, is_echo, rests_on_assistant, verify
from mex_pipeline.domain.memory import Confidence, Source
from tests.domain.examples import chunk, proposal, seed_schema

ORIGIN = Origin("claude", session_id="s0", project="/p", source_file="/f.jsonl", job_id="j1")
TALK = chunk(
    ("user", "早上好，我想换工作"),
    ("assistant", "好的，您现在在远光软件做后端开发，对吗？"),
    ("user", "对，我在远光\n软件做“后端”开发，最近在学 Rust"),
    ("user", "I moved to Berlin last year"),
    context=1,
)


def checked(candidate: Candidate, talk: Chunk = TALK, origin: Origin = ORIGIN) -> tuple[Candidate, Source]:
    result = verify(candidate, talk, origin)
    assert result.source is not None
    return result, result.source


def test_b3_a_quote_is_kept_as_it_stands_with_its_message_and_place() -> None:
    candidate, source = checked(proposal("work.company", "远光软件", quote="我在远光软件做后端开发。", turn=3))
    words = "我在远光\n软件做“后端”开发"
    assert source == Source(
        agent="claude",
        session_id="s1",
        message_id="id3",
        message_key="k3",
        role="user",
        said_at="2026-08-03T00:00:00Z",
        quote=words,
        quote_start=2,
        quote_end=2 + len(words),
        verified=True,
        project="/p",
        source_file="/f.jsonl",
        job_id="j1",
    )
    assert TALK.turns[1].text[2 : source.quote_end] == words
    assert candidate.confidence is Confidence.EXPLICIT


def test_b3_a_quote_is_found_in_another_turn_than_the_one_named() -> None:
    _, source = checked(proposal("work.tech_stack", "Rust", quote="最近在学Rust", turn=4))
    assert (source.message_key, source.verified) == ("k3", True)


def test_b3_the_named_turn_comes_before_an_earlier_one_with_the_same_words() -> None:
    talk = chunk(("user", "我喜欢爬山"), ("user", "真的，我喜欢爬山"))
    assert checked(proposal(None, "爬山", quote="我喜欢爬山", turn=2), talk)[1].message_key == "k2"
    assert checked(proposal(None, "爬山", quote="我喜欢爬山"), talk)[1].message_key == "k1"


@pytest.mark.parametrize(
    ("evidence", "quote"),
    [
        ('用户说："我在远光软件做后端开发"', "我在远光\n软件做“后端”开发"),
        ("用户说：“最近在学 Rust”", "最近在学 Rust"),
        ("用户提到「最近在学 Rust」，助手说「好」", "最近在学 Rust"),
        ("用户说：最近在学 Rust", "最近在学 Rust"),
        ("用户提到最近在学 Rust", "最近在学 Rust"),
        ("最近在学 Rust", "最近在学 Rust"),
        ('The user mentioned "I moved to Berlin".', "I moved to Berlin"),
        ("User said: I moved to Berlin", "I moved to Berlin"),
        ("the user explicitly stated that I moved to Berlin", "I moved to Berlin"),
        ("User: 'I moved to Berlin last year'", "I moved to Berlin last year"),
        ("User wrote ‘I moved to Berlin’", "I moved to Berlin"),
        ("“没说过的话”，但是“最近在学”", "最近在学"),
    ],
)
def test_b3_without_a_quote_the_words_of_the_evidence_are_verified(evidence: str, quote: str) -> None:
    _, source = checked(proposal(None, "x", evidence=evidence))
    assert (source.quote, source.verified) == (quote, True)


def test_b3_apostrophes_are_no_quotation_marks() -> None:
    talk = chunk(
        ("user", "I'm a dev at Acme's lab"),
    )
    _, source = checked(proposal(None, "x", evidence="User said: I'm a dev at Acme's lab"), talk)
    assert source.quote == "I'm a dev at Acme's lab"


def test_b3_of_several_quotations_the_longest_that_was_said_counts() -> None:
    evidence = "用户说“后端”，也说“最近在学 Rust”"
    assert checked(proposal(None, "x", evidence=evidence))[1].quote == "最近在学 Rust"


def test_b3_a_quote_that_was_never_said_demotes_to_inferred_and_stays_unverified() -> None:
    said = proposal("work.company", "华为", quote="我在华为上班", turn=3, evidence="用户说：“最近在学 Rust”")
    candidate, source = checked(said)
    assert candidate.confidence is Confidence.INFERRED
    assert (source.verified, source.quote, source.quote_start, source.quote_end) == (False, "我在华为上班", None, None)
    assert (source.message_key, source.role) == ("k3", "user")


def test_b3_demotion_never_raises_a_tier() -> None:
    candidate, _ = checked(proposal(None, "x", quote="没说过这句话", confidence=Confidence.SPECULATED))
    assert candidate.confidence is Confidence.SPECULATED


@pytest.mark.parametrize("turn", [1, 9, None])
def test_b3_without_a_new_turn_to_point_to_the_source_names_the_session_and_its_last_moment(turn: int | None) -> None:
    _, source = checked(proposal(None, "x", quote="没说过这句话", turn=turn))
    assert source == Source(
        agent="claude",
        session_id="s0",
        said_at="2026-08-04T00:00:00Z",
        quote="没说过这句话",
        project="/p",
        source_file="/f.jsonl",
        job_id="j1",
    )


def test_h6_context_is_never_evidence() -> None:
    candidate, source = checked(proposal("goals", "换工作", quote="我想换工作", turn=1))
    assert not source.verified
    assert candidate.confidence is Confidence.INFERRED


def test_f1_the_assistants_words_are_no_evidence_of_what_the_user_said() -> None:
    talk = chunk(("user", "你猜我在哪上班"), ("assistant", "您在华为上班"))
    candidate, source = checked(proposal("work.company", "华为", quote="您在华为上班", turn=2), talk)
    assert (candidate.confidence, source.verified, source.role) == (Confidence.INFERRED, False, "assistant")


def test_f1_an_inference_may_rest_on_the_assistants_words_but_is_not_explicit() -> None:
    talk = chunk(("user", "帮我改这个 Go 程序"), ("assistant", "已经修好了这个竞态"))
    said = proposal(None, "修好了竞态", quote="修好了这个竞态", is_ai_inferred=True)
    candidate, source = checked(said, talk)
    assert (candidate.confidence, source.verified, source.role) == (Confidence.INFERRED, True, "assistant")


def test_f1_an_inference_prefers_the_users_words() -> None:
    talk = chunk(("assistant", "你喜欢爬山"), ("user", "是的，你喜欢爬山这话没错"))
    said = proposal(None, "爬山", quote="你喜欢爬山", is_ai_inferred=True)
    assert checked(said, talk)[1].message_key == "k2"


def test_b3_text_without_speakers_is_the_users_words() -> None:
    origin = replace(ORIGIN, has_speakers=False)
    note = chunk(("assistant", "张三，后端工程师，现居杭州"))
    candidate, source = checked(proposal("basic_info.location", "杭州", quote="现居杭州"), note, origin)
    assert (candidate.confidence, source.verified, source.role) == (Confidence.EXPLICIT, True, "user")


@pytest.mark.parametrize("quote", ["我", "I", "学R", "hi", "“我”", "...", "한"])
def test_b3_a_quote_too_short_to_prove_anything_verifies_nothing(quote: str) -> None:
    talk = chunk(("user", "我 I 学R hi ... 한"))
    candidate, source = checked(proposal(None, "x", quote=quote), talk)
    assert not source.verified
    assert candidate.confidence is Confidence.INFERRED


@pytest.mark.parametrize("quote", ["我学", "SQL", "我用Go", "1990", "한국"])
def test_b3_two_characters_or_three_letters_are_enough(quote: str) -> None:
    assert checked(proposal(None, "x", quote=quote), chunk(("user", f"嗯 {quote} 嗯")))[1].verified


def test_a_candidate_without_any_words_is_not_verified() -> None:
    candidate, source = checked(proposal(None, "x", quote="  ", evidence=None, turn=3))
    assert not source.verified
    assert candidate.confidence is Confidence.INFERRED


def echo(candidate: Candidate, *said: str, examples: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> bool:
    talk = chunk(*[("user", text) for text in said])
    return is_echo(candidate, examples=frozenset(examples), known=frozenset(known), chunk=talk, schema=seed_schema())


@pytest.mark.parametrize("action", [Action.NEW, Action.UPDATE, Action.UNCERTAIN_UPDATE])
def test_b3_a_prompted_value_nobody_said_is_an_echo(action: Action) -> None:
    candidate = proposal("work.company", "远光软件。", action=action)
    assert echo(candidate, "今天天气不错", examples=("远光 软件",))
    assert echo(candidate, "今天天气不错", known=("远光软件",))


def test_b3_a_prompted_value_that_was_said_is_none() -> None:
    assert not echo(proposal("work.company", "远光软件"), "我还在远光\n软件", known=("远光软件",))
    assert not echo(proposal("work.tech_stack", "Rust"), "still learning rust", examples=("Rust",))
    assert echo(proposal("work.tech_stack", "Rust"), "I trust you", examples=("Rust",))


def test_h6_a_prompted_value_said_in_the_context_is_none() -> None:
    talk = chunk(("user", "我在远光软件"), ("user", "嗯"), context=1)
    candidate = proposal("work.company", "远光软件")
    known = frozenset({"远光软件"})
    assert not is_echo(candidate, examples=frozenset(), known=known, chunk=talk, schema=seed_schema())


def test_b3_a_value_of_the_models_own_is_none() -> None:
    assert not echo(proposal("work.company", "华为"), "今天天气不错", examples=("远光软件",))


def test_b3_retire_replaces_and_dates_are_exempt() -> None:
    assert not echo(proposal("work.tech_stack", "Rust", action=Action.RETIRE), "不学了", known=("Rust",))
    assert not echo(proposal("work.company", "华为", replaces="远光软件"), "换到新公司了", known=("远光软件",))
    assert not echo(proposal("goals", "2026-09-01"), "下个月一号", known=("2026-09-01",))
    assert not echo(proposal("goals", "1990年"), "九零年", known=("1990年",))


def test_b3_of_a_structured_value_every_field_must_be_prompted() -> None:
    known = ('{"start": "2019", "end": "至今", "company": "星辰软件", "position": "后端"}',)
    same = '{"start": "2020", "end": "2021", "company": "星辰软件", "position": "后端"}'
    other = '{"start": "2019", "end": "至今", "company": "星辰软件", "position": "架构师"}'
    assert echo(proposal("work.experience", same), "聊聊天气", known=known)
    assert not echo(proposal("work.experience", same), "我在星辰软件做过", known=known)
    assert not echo(proposal("work.experience", other), "聊聊天气", known=known)
    assert not echo(proposal("work.experience", '{"start": "2019", "end": "至今"}'), "聊聊天气", known=known)


@pytest.mark.parametrize(
    ("asked", "reply", "is_assistants"),
    [
        ("Do you work at Globex?", "No, not at all.", True),
        ("Do you work at Globex?", "I don't.", True),
        ("As you work at Globex, take the shuttle.", "ok thanks", True),
        ("你是在 Globex 上班吗？", "不是，我没在那儿。", True),
        ("您在 Globex 上班，可以坐班车。", "好的，谢谢！", True),
        ("Do you work at Globex?", "Yes, exactly.", False),
        ("Do you work at Globex?", "No doubt about it", False),
        ("Shall I write down Globex?", "ok thanks", False),
        ("Globex or Initech?", "the first one", False),
        ("你是在 Globex 上班吗？", "没错，是的", False),
        ("您在 Globex 上班，可以坐班车。", "对，是的", False),
        ("Do you work at Globex?", "No, I left Globex for the Globex bank", False),
    ],
)
def test_f1_a_no_or_a_thank_you_makes_the_assistants_words_no_words_of_the_user(
    asked: str, reply: str, *, is_assistants: bool
) -> None:
    talk = chunk(("assistant", asked), ("user", reply))
    candidate = verify(proposal("work.company", "Globex", quote=reply, turn=2), talk, ORIGIN)
    assert rests_on_assistant(candidate, talk, ORIGIN) is is_assistants


def test_f1_what_the_assistant_put_into_another_language_is_the_users_still() -> None:
    talk = chunk(("assistant", "Do you live in Beijing, or in Shanghai?"), ("user", "不，我在上海"))
    candidate = verify(proposal("basic_info.location", "Shanghai", quote="我在上海", turn=2), talk, ORIGIN)
    assert not rests_on_assistant(candidate, talk, ORIGIN)
