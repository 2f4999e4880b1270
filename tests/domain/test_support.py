"""The evidence lock over the candidates of one answer (product B3, C11; peers rows 1, 3, 4, 19)."""

from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, verify
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.support import in_own_language, out_of_place, supported
from tests.domain.examples import chunk, proposal, seed_schema

ORIGIN = Origin("claude", job_id="j1")
TALK = chunk(("user", "我在远光软件做后端，每天早上跑五公里。"), ("user", "I don't eat meat."))


def sourced(slot: str | None, content: str, quote: str, turn: int = 1, talk: Chunk = TALK, **more: object) -> Candidate:
    return verify(proposal(slot, content, quote=quote, turn=turn, **more), talk, ORIGIN)


def weighed(*candidates: Candidate) -> list[Confidence | str]:
    verdicts = supported(candidates, TALK, beside=candidates)
    return [one.reason if isinstance(one, Discarded) else one.confidence for one in verdicts]


COMPANY = sourced("work.company", "远光软件", "我在远光软件做后端")


def test_b3_a_value_in_its_words_stays_explicit() -> None:
    assert weighed(COMPANY) == [Confidence.EXPLICIT]


def test_b3_a_paraphrase_alone_is_kept_and_only_inferred() -> None:
    assert weighed(sourced("health.diet", "vegetarian", "I don't eat meat.", 2)) == [Confidence.INFERRED]


def test_b3_a_paraphrase_beside_a_proven_value_is_kept_where_its_words_are_its_own() -> None:
    running = sourced("health.exercise", "坚持晨间锻炼", "每天早上跑五公里")
    assert weighed(COMPANY, running) == [Confidence.EXPLICIT, Confidence.INFERRED]


def test_b3_words_that_prove_one_value_prove_no_other() -> None:
    fishing = sourced("leisure.hobbies", "钓鱼", "我在远光软件做后端")
    assert weighed(COMPANY, fishing) == [Confidence.EXPLICIT, "unsupported"]


def test_b3_an_invented_quote_beside_a_proven_value_of_its_turn_is_an_invention() -> None:
    fishing = sourced("leisure.hobbies", "钓鱼", "我告诉过你我爱钓鱼")
    assert weighed(COMPANY, fishing) == [Confidence.EXPLICIT, "unsupported"]
    assert weighed(fishing) == [Confidence.INFERRED]


def test_b3_a_botched_quote_of_a_value_that_was_said_is_kept_unverified() -> None:
    position = sourced("work.position", "后端", "我是做后端的工程师")
    assert position.source is not None
    assert not position.source.verified
    assert weighed(COMPANY, position) == [Confidence.EXPLICIT, Confidence.INFERRED]


def test_b3_what_says_of_itself_that_it_is_inferred_needs_no_covered_value() -> None:
    inferred = sourced(
        "health.status", "注重健康", "每天早上跑五公里", is_ai_inferred=True, confidence=Confidence.INFERRED
    )
    assert weighed(COMPANY, inferred) == [Confidence.EXPLICIT, Confidence.INFERRED]


def test_peers_row_19_a_translated_value_gives_way_to_the_user_s_words() -> None:
    translated = sourced("work.company", "Yuanguang Software", "我在远光软件做后端")
    kept = in_own_language(translated)
    assert isinstance(kept, Candidate)
    assert kept.content == "我在远光软件做后端"


def test_peers_row_19_a_translated_object_is_discarded() -> None:
    translated = sourced("work.experience", '{"company": "Yuanguang Software"}', "我在远光软件做后端")
    assert in_own_language(translated) == Discarded('{"company": "Yuanguang Software"}', "other_language")


def test_c11_words_of_others_fill_slots_about_others_only() -> None:
    talk = chunk(("user", "我爸爸在远光软件工作，住在青岛"))
    schema = seed_schema()
    for slot, reason in (("work.company", "about_other"), ("family.members", None)):
        candidate = sourced(slot, "远光软件", "我爸爸在远光软件工作", talk=talk)
        assert out_of_place(candidate, schema.find(*slot.split(".")), talk.turns) == reason
    record = sourced(None, "远光软件", "我爸爸在远光软件工作", talk=talk)
    assert out_of_place(record, None, talk.turns) is None


def test_b3_a_record_may_retell_the_words_that_prove_a_value() -> None:
    record = sourced(None, "坚持锻炼、从事软件行业", "我在远光软件做后端")
    assert weighed(COMPANY, record) == [Confidence.EXPLICIT, Confidence.INFERRED]
