"""Cutting a conversation at turn ends (product C2, F1, H6)."""

from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import CONTEXT_TURNS, Chunk, Role, Turn


def turns(*texts: str) -> tuple[Turn, ...]:
    """Turns with the keys k0, k1 …; a text that begins with `a:` is the assistant's."""
    return tuple(
        Turn(f"k{number}", "assistant" if text.startswith("a:") else "user", text) for number, text in enumerate(texts)
    )


def keys(chunks: tuple[Chunk, ...]) -> list[tuple[list[str], list[str]]]:
    """(context keys, new keys) of each chunk."""
    return [([turn.key for turn in chunk.context], [turn.key for turn in chunk.turns]) for chunk in chunks]


def all_of(talk: tuple[Turn, ...]) -> frozenset[str]:
    return frozenset(turn.key for turn in talk)


def test_what_fits_is_one_chunk_without_context() -> None:
    talk = turns("我在远光软件", "a:好的", "最近在学 Rust")
    (chunk,) = cut(talk, all_of(talk), 1_000)
    assert (chunk.number, chunk.context, chunk.turns) == (1, (), talk)


def test_a_chunk_ends_at_a_turn_and_carries_two_earlier_turns() -> None:
    talk = turns(*["中" * 10] * 6)
    assert estimate_tokens(talk[0].text) == 15
    assert keys(cut(talk, all_of(talk), 30)) == [
        ([], ["k0", "k1"]),
        (["k0", "k1"], ["k2", "k3"]),
        (["k2", "k3"], ["k4", "k5"]),
    ]


def test_chunks_are_numbered_from_one_without_a_gap() -> None:
    talk = turns("中" * 10, "a:" + "中" * 10, "中" * 10)
    chunks = cut(talk, all_of(talk), 16)
    assert [chunk.number for chunk in chunks] == [1, 2]


def test_a_turn_longer_than_the_limit_is_a_chunk_of_its_own_and_never_cut() -> None:
    talk = turns("短", "中" * 1_000, "短")
    assert keys(cut(talk, all_of(talk), 50)) == [([], ["k0"]), (["k0"], ["k1"]), (["k0", "k1"], ["k2"])]


def test_product_h6_only_new_turns_are_asked_and_old_ones_are_context() -> None:
    talk = turns("old", "a:old", "new", "a:new", "new")
    assert keys(cut(talk, {"k2", "k3", "k4"}, 1_000)) == [(["k0", "k1"], ["k2", "k3", "k4"])]
    assert keys(cut(talk, {"k4"}, 1_000)) == [(["k2", "k3"], ["k4"])]
    assert cut(talk, frozenset(), 1_000) == ()


def test_a_turn_that_is_not_new_is_left_out_of_the_middle() -> None:
    talk = turns("new", "old", "new")
    assert keys(cut(talk, {"k0", "k2"}, 1_000)) == [([], ["k0", "k2"])]


def test_product_f1_a_chunk_in_which_no_user_speaks_is_left_out() -> None:
    talk = turns("a:答" + "答" * 40, "我叫小陈", "a:" + "答" * 40)
    assert keys(cut(talk, all_of(talk), 30)) == [(["k0"], ["k1"])]
    assert cut(talk[:1], {"k0"}, 30) == ()


def test_nothing_gives_nothing() -> None:
    assert cut((), frozenset(), 10) == ()


_roles: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
_talks = st.lists(st.tuples(_roles, st.text("中a ", max_size=40), st.booleans()), max_size=25)


@given(_talks, st.integers(1, 60))
def test_every_new_turn_of_the_user_is_asked_exactly_once_and_in_order(
    talk: list[tuple[Role, str, bool]], limit: int
) -> None:
    made = tuple(Turn(f"k{number}", role, text) for number, (role, text, _) in enumerate(talk))
    new = {turn.key for turn, (_, _, is_new) in zip(made, talk, strict=True) if is_new}
    chunks = cut(made, new, limit)
    asked = [turn for chunk in chunks for turn in chunk.turns]
    assert [turn.key for turn in asked if turn.role == "user"] == [
        turn.key for turn in made if turn.key in new and turn.role == "user"
    ]
    assert all(turn.key in new for turn in asked)
    for chunk in chunks:
        assert any(turn.role == "user" for turn in chunk.turns)
        assert len(chunk.turns) == 1 or sum(estimate_tokens(turn.text) for turn in chunk.turns) <= limit
        first = made.index(chunk.turns[0])
        assert chunk.context == made[max(0, first - CONTEXT_TURNS) : first]
