"""A chunk that is not taken whole is asked in parts (queue §5.6: context length, refusal, cut-off reply)."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.chunks import smaller
from mex_pipeline.domain.conversation import CONTEXT_TURNS, Chunk, Turn
from mex_pipeline.errors import LLMBadReply, LLMRejected, MexError
from mex_pipeline.services.extractor import Extracted, Task, Turnstile
from mex_pipeline.services.gate import Gate
from mex_pipeline.services.thinking import GIVE_UP_AFTER, Asked, Heard, Skipped, think

TASK = Task("j", "/s", "extract", "today", 0)


def turn(number: int, text: str = "话", role: str = "user") -> Turn:
    return Turn(f"k{number}", role, text, at=f"2026-08-06T08:{number:02}:00Z")  # type: ignore[arg-type]


def chunk(*turns: Turn, context: tuple[Turn, ...] = ()) -> Chunk:
    return Chunk(1, context, turns)


roles = st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=12)


@given(roles, st.lists(st.integers(1, 400), min_size=12, max_size=12), st.integers(0, 2))
def test_parts_lose_and_double_no_turn_of_the_user_and_keep_the_order(
    spoken: list[str], lengths: list[int], context: int
) -> None:
    turns = [turn(n, "话" * lengths[n], role) for n, role in enumerate(spoken)]
    whole = chunk(*turns, context=tuple(turn(90 + n) for n in range(context)))
    parts = smaller(whole)
    if len(turns) == 1:
        assert [(part.context, part.turns) for part in parts] == ([((), whole.turns)] if context else [])
        return
    users = [one for one in turns if one.role == "user"]
    assert [one for part in parts for one in part.turns if one.role == "user"] == users
    for part in parts:
        assert len(part.turns) < len(turns)
        assert any(one.role == "user" for one in part.turns)
        before = [*whole.context, *turns]
        at = before.index(part.turns[0])
        assert list(part.context) == before[max(0, at - CONTEXT_TURNS) : at]


def test_the_cut_is_at_the_turn_end_nearest_to_the_middle_of_the_words() -> None:
    first, second = smaller(chunk(turn(1, "话" * 900), turn(2), turn(3), turn(4)))
    assert ([one.key for one in first.turns], [one.key for one in second.turns]) == (["k1"], ["k2", "k3", "k4"])


class Endpoint:
    """An extractor that takes what `refuses` has nothing against, and notes every question."""

    kind = "model"
    name = "m"
    examples: frozenset[str] = frozenset()

    def __init__(self, refuses: Callable[[Chunk], MexError | None]) -> None:
        self.refuses = refuses
        self.asked: list[list[str]] = []

    async def extract(self, chunk: Chunk, task: Task, turnstile: Turnstile) -> Extracted:
        async with turnstile():
            self.asked.append([one.key for one in chunk.turns])
            error = self.refuses(chunk)
            if error is not None:
                raise error
        return Extracted()

    async def aclose(self) -> None:
        return


def heard(endpoint: Endpoint, *chunks: Chunk, concurrency: int = 1) -> Heard:
    async def on_done(_: int) -> None:
        return

    asked = tuple(Asked(one, TASK, frozenset()) for one in chunks)
    return asyncio.run(think(endpoint, asked, gate=Gate(9), concurrency=concurrency, on_done=on_done))  # type: ignore[arg-type]


def answered(found: Heard) -> list[str]:
    return [one.key for part in found.answered for one in part.asked.chunk.turns]


def too_long(limit: int) -> Callable[[Chunk], MexError | None]:
    def judged(one: Chunk) -> MexError | None:
        size = sum(len(turn.text) for _, turn, _ in one.numbered)
        return LLMRejected("llm_context_length") if size > limit else None

    return judged


def containing(word: str) -> Callable[[Chunk], MexError | None]:
    def judged(one: Chunk) -> MexError | None:
        return LLMBadReply("llm_refusal") if any(word in turn.text for _, turn, _ in one.numbered) else None

    return judged


def test_queue_5_6_a_chunk_beyond_the_context_length_is_split_and_everything_is_asked() -> None:
    endpoint = Endpoint(too_long(40))
    found = heard(endpoint, chunk(*(turn(n, "话" * 10) for n in range(8))))
    assert answered(found) == [f"k{n}" for n in range(8)]
    assert found.skipped == ()
    assert endpoint.asked[0] == [f"k{n}" for n in range(8)]


def test_queue_5_6_one_message_that_is_too_long_by_itself_is_left_out_and_recorded() -> None:
    found = heard(Endpoint(too_long(40)), chunk(turn(1, "a" * 10), turn(2, "b" * 99), turn(3, "c" * 10)))
    assert answered(found) == ["k1", "k3"]
    assert found.skipped == (Skipped("k2", "2026-08-06T08:02:00Z", "too_long"),)


def test_a_turn_that_only_its_context_makes_too_long_is_asked_without_it() -> None:
    """The assistant's endless answer stays context, and must not cost the user's next words."""
    turns = (turn(1, "a"), turn(2, "b" * 99, "assistant"), turn(3, "c"))
    found = heard(Endpoint(too_long(40)), chunk(*turns))
    assert [key for key in answered(found) if key != "k2"] == ["k1", "k3"]
    assert found.skipped == ()


def test_queue_5_6_a_refused_turn_is_left_out_and_recorded_and_the_others_are_kept() -> None:
    turns = [turn(n, "forbidden" if n == 5 else "fine") for n in range(8)]
    endpoint = Endpoint(containing("forbidden"))
    found = heard(endpoint, chunk(*turns))
    assert answered(found) == [f"k{n}" for n in range(8) if n != 5]
    assert [one.reason for one in found.skipped] == ["refused"]
    assert found.skipped[0].message_key == "k5"


def test_queue_5_6_a_cut_off_reply_is_shorter_for_half_the_turns_and_one_turn_is_left_to_the_next_attempt() -> None:
    def judged(one: Chunk) -> MexError | None:
        return LLMBadReply("llm_cut_off") if len(one.turns) > 2 else None

    assert len(heard(Endpoint(judged), chunk(*(turn(n) for n in range(5)))).answered) >= 3
    alone = Endpoint(lambda _: LLMBadReply("llm_cut_off"))
    with pytest.raises(LLMBadReply):
        heard(alone, chunk(turn(1), context=(turn(0),)))
    assert alone.asked == [["k1"]]


def test_when_nothing_at_all_is_taken_the_job_fails_and_no_message_counts_as_read() -> None:
    """A prompt that does not fit by itself would else make every message "too long", and all of them lost."""
    for refuses, code in ((too_long(0), "llm_context_length"), (containing(""), "llm_refusal")):
        with pytest.raises(LLMRejected, match=code):
            heard(Endpoint(refuses), chunk(turn(1)), chunk(turn(2)))


@pytest.mark.parametrize("bad", [range(14), range(30, 44), range(11, 33)])
def test_queue_5_6_many_refused_turns_in_a_row_cost_none_of_the_others(bad: range) -> None:
    """More than are borne of an endpoint that has answered nothing yet."""
    assert len(bad) > GIVE_UP_AFTER
    found = heard(
        Endpoint(containing("forbidden")), chunk(*(turn(n, "forbidden" if n in bad else "fine") for n in range(44)))
    )
    assert answered(found) == [f"k{n}" for n in range(44) if n not in bad]
    assert [one.message_key for one in found.skipped] == [f"k{n}" for n in bad]


def test_an_endpoint_that_takes_nothing_is_not_asked_about_every_turn() -> None:
    endpoint = Endpoint(containing(""))
    with pytest.raises(LLMRejected, match="llm_refusal"):
        heard(endpoint, chunk(*(turn(n) for n in range(400))))
    assert len(endpoint.asked) < 6 * GIVE_UP_AFTER


def test_product_p4_after_a_failure_no_further_call_begins_not_even_of_a_part() -> None:
    def judged(one: Chunk) -> MexError | None:
        if one.turns[0].key == "k9":
            return LLMRejected("llm_auth")
        return LLMRejected("llm_context_length") if len(one.turns) > 1 else None

    endpoint = Endpoint(judged)
    with pytest.raises(LLMRejected, match="llm_auth"):
        heard(endpoint, chunk(turn(9)), chunk(turn(1), turn(2)))
    assert endpoint.asked == [["k9"]]
