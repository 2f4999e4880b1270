"""The parts of the replay bench: the scorer can tell good from bad, the scripted model errs as told, requests are found."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from benchmarks.replay import book, faults, render, report, score
from benchmarks.replay.faults import MODELS, Item, Known, Model, Tag
from benchmarks.replay.life import Fact, Kind, Life, Op, Said, Session
from benchmarks.replay.state import State
from benchmarks.replay.wording import reworded, same

CITY, LIKED = "location.city", "diet.like"
SLOTS = {CITY: True, LIKED: False}


def a_life(user: str = "u1", final: tuple[Fact, ...] = (Fact(CITY, "青岛"), Fact(LIKED, "酸菜鱼"))) -> Life:
    """A user who moves from 成都 to 青岛 and takes a liking to 酸菜鱼; a friend likes 火锅."""
    first = Session("s1", "2025-01-01", [Said("user", "我人在成都。"), Said("assistant", "好的。")])
    first.ops = [Op(Kind.ASSERT, 0, Fact(CITY, "成都"))]
    second = Session("s2", "2025-02-01")
    second.turns = [
        Said("user", "我从成都搬到青岛了。"), Said("assistant", "好的。"), Said("user", "酸菜鱼是我的最爱。"),
        Said("assistant", "好的。"), Said("user", "朋友爱吃火锅。"),
    ]  # fmt: skip
    second.ops = [
        Op(Kind.UPDATE, 0, Fact(CITY, "青岛"), old="成都"),
        Op(Kind.ASSERT, 2, Fact(LIKED, "酸菜鱼")),
        Op(Kind.TRAP, 4, Fact(LIKED, "火锅"), trap="third_party"),
    ]
    return Life(user, "zh", SLOTS, (first, second), frozenset(final))


def memory(fact: Fact, name: str = "m1", **also: Any) -> dict[str, Any]:
    """The row of an active memory."""
    topic, _, sub_topic = fact.slot.partition(".")
    row = {"id": name, "topic": topic, "sub_topic": sub_topic, "content": fact.value, "forgotten_at": None}
    return row | {"forgotten_reason": None, "expires_at": None, "valid_from": "2025-01-01T09:00:00Z"} | also


def holding(*facts: Fact, **also: Any) -> State:
    """A home that holds these values and nothing else."""
    rows = [memory(fact, f"m{number}") for number, fact in enumerate(facts)]
    return State(rows, also.get("history", []), also.get("sources", []), [], also.get("transcripts", {}))


def rated(state: State, *items: Item) -> dict[str, float | None]:
    """The rates of a home after one answered call with these items."""
    about = {"end": "answered", "prompt_tokens": 10, "known_tokens": 1, "reply_tokens": 1}
    said = [json.loads(json.dumps(item_plain(item))) for item in items]
    return score.rates(score.count(a_life(), state, [about | {"items": said}]))


def item_plain(item: Item) -> dict[str, Any]:
    """An item as the endpoint writes it down."""
    fact = {"slot": item.fact.slot, "value": item.fact.value}
    return {"tag": item.tag.value, "trap": item.trap, "fact": fact, "is_restated": item.is_restated}


def test_a_perfect_state_is_rated_one_and_a_missing_or_a_wrong_value_lowers_it() -> None:
    """Precision, recall and F1 move each for its own reason."""
    whole = rated(holding(Fact(CITY, "青岛"), Fact(LIKED, "酸菜鱼")))
    missing = rated(holding(Fact(CITY, "青岛")))
    wrong = rated(holding(Fact(CITY, "青岛"), Fact(LIKED, "酸菜鱼"), Fact(LIKED, "辣子鸡")))
    assert (whole["P"], whole["R"], whole["F1"], whole["stale"]) == (1, 1, 1, 0)
    assert (missing["P"], missing["R"], missing["many F1"]) == (1, 0.5, 0)
    assert (wrong["P"], wrong["R"], wrong["unique F1"]) == (2 / 3, 1, 1)


def test_a_value_that_was_replaced_and_is_still_there_is_stale() -> None:
    """The one value that an update took away is all there is to be stale."""
    assert rated(holding(Fact(CITY, "成都")))["stale"] == 1


def test_a_second_wording_of_one_value_is_a_duplicate() -> None:
    """Each gold value is matched once only."""
    found = rated(holding(Fact(CITY, "青岛"), Fact(LIKED, "酸菜鱼"), Fact(LIKED, "酸菜鱼。")))
    assert found["duplicates"] == 1 / 3
    assert found["P"] == 2 / 3


@pytest.mark.parametrize(
    ("tag", "trap", "measure"),
    [
        (Tag.FAKE_QUOTE, None, "made up, invented quote"),
        (Tag.REAL_QUOTE, None, "made up, real quote"),
        (Tag.PASSING, None, "passing leak"),
        (Tag.TRAP, "third_party", "third_party leak"),
        (Tag.TRAP, "third_party", "trap leak"),
    ],
)
def test_an_injected_item_counts_as_a_leak_only_when_it_is_held(tag: Tag, trap: str | None, measure: str) -> None:
    """The same reply, let in and kept out."""
    item = Item(Kind.ASSERT, 4, Fact(LIKED, "火锅"), "朋友爱吃火锅。", tag, trap=trap)
    kept_out, let_in = holding(Fact(CITY, "青岛")), holding(Fact(CITY, "青岛"), Fact(LIKED, "火锅"))
    assert rated(kept_out, item)[measure] == 0
    assert (rated(let_in, item)[measure] or 0) > 0


def test_evidence_is_true_only_where_the_quote_stands_in_a_turn_of_the_user() -> None:
    """A shifted place, an assistant's turn and a turn that is nowhere are each false."""
    source = {"verified": True, "source_file": "/x/s1.jsonl", "message_id": "1", "quote": "成都"}
    shown = {"s1.jsonl": {"turns": [{"message_id": "1", "role": "user", "text": "我人在成都。"}]}}
    by_assistant = {"s1.jsonl": {"turns": [{"message_id": "1", "role": "assistant", "text": "我人在成都。"}]}}
    right, shifted = source | {"quote_start": 3, "quote_end": 5}, source | {"quote_start": 2, "quote_end": 4}
    assert rated(holding(sources=[right], transcripts=shown))["evidence"] == 1
    assert rated(holding(sources=[shifted], transcripts=shown))["evidence"] == 0
    assert rated(holding(sources=[right], transcripts=by_assistant))["evidence"] == 0
    assert rated(holding(sources=[right | {"message_id": "2"}], transcripts=shown))["evidence"] == 0


def test_history_must_tell_by_what_when_and_on_what_words_a_value_ended() -> None:
    """The same update with its evidence, without it, and with a time at which nothing was said."""
    before, after = memory(Fact(CITY, "成都")), memory(Fact(CITY, "青岛"), valid_from="2025-02-01T09:00:00Z")
    row = {"memory_id": "m1", "job_id": "j1", "evidence": "x", "created_at": "t"}
    made = row | {"event": "add", "before": None, "after": before}
    ended = row | {"event": "update", "before": before, "after": after}
    sources = [{"memory_id": "m1", "said_at": "2025-02-01T09:00:00Z", "verified": False}]

    def told(entry: dict[str, Any], said: list[dict[str, Any]]) -> float | None:
        return rated(holding(Fact(CITY, "青岛"), history=[made, entry], sources=said))["history"]

    assert told(ended, sources) == 1
    assert told(ended | {"evidence": None}, sources) == 0
    assert told(ended, []) == 0


def test_a_job_that_says_it_wrote_what_is_not_there_has_not_kept_its_word() -> None:
    """Success means committed: the id in the result, its history row, its job."""
    job = {"id": "j1", "state": "succeeded", "result": {"added": [{"id": "m1"}]}}
    row = {"memory_id": "m1", "job_id": "j1", "event": "add"}
    kept, broken = State([], [row], [], [job], {}), State([], [row | {"job_id": "j2"}], [], [job], {})
    assert score.jobs_kept(kept) == Counter(jobs_done=1, jobs_kept=1)
    assert score.jobs_kept(broken)["jobs_kept"] == 0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("VSCode", "vscode.", True), ("Dogs, especially Labradors", "dogs - especially labradors", True),
        ("like Reptiles, except iguanas", "dislike Reptiles, except iguanas", False), ("青岛", "成都", False),
    ],
)  # fmt: skip
def test_wordings_are_the_same_value_but_for_signs_and_never_across_polarity(
    one: str, other: str, expected: bool
) -> None:
    """What the scorer takes for one value."""
    assert same(one, other) is expected


def test_final_states_agree_only_when_each_value_is_there_once() -> None:
    """A double and a missing value are both differences."""
    one, two = [Fact(CITY, "青岛")], [Fact(CITY, "青岛"), Fact(CITY, "青岛。")]
    assert score.agree(one, [Fact(CITY, "青岛。")])
    assert not score.agree(one, two)
    assert not score.agree(two, one)
    assert not score.agree(one, [])


def proposals(model: Model, seed: str = "0/u1/s2/1", known: tuple[Known, ...] = ()) -> list[Item]:
    """What a model reports of the second session."""
    life = a_life()
    others = [Fact(LIKED, "小龙虾"), Fact(CITY, "昆明")]
    return faults.propose(life, life.sessions[1], known, others, model, seed)


def test_a_perfect_model_reports_the_gold_and_nothing_else() -> None:
    """The update with what it replaces when it links, never the trap."""
    linked = proposals(MODELS["perfect+link"])
    assert [(item.tag, item.fact.value) for item in linked] == [(Tag.TRUE, "青岛"), (Tag.TRUE, "酸菜鱼")]
    assert linked[0].replaces == "成都"
    assert proposals(MODELS["perfect"])[0].replaces is None


@pytest.mark.parametrize(
    ("model", "tag"),
    [
        (Model(type_acc=0), Tag.MISTYPED),
        (Model(halluc=1, fake_quote=1), Tag.FAKE_QUOTE),
        (Model(halluc=1, fake_quote=0), Tag.REAL_QUOTE),
        (Model(restate=1), Tag.RESTATED),
        (Model(trap=1), Tag.TRAP),
    ],
)
def test_each_fault_is_made_when_it_is_certain_and_never_when_it_is_impossible(model: Model, tag: Tag) -> None:
    """One probability at a time."""
    known = (Known("abc123", Fact(CITY, "成都")),)
    assert tag in {item.tag for item in proposals(model, known=known)}
    assert tag not in {item.tag for item in proposals(Model(), known=known)}


def test_nothing_is_reported_without_coverage() -> None:
    """And then there is nothing to be wrong about either."""
    assert proposals(Model(coverage=0, halluc=1, restate=1)) == []


def test_faults_depend_on_the_seed_alone_and_differ_between_attempts() -> None:
    """The same for every version of the product, another draw for a repeated call."""
    drawn = [proposals(MODELS["1b"], f"0/u1/s2/{attempt}") for attempt in range(1, 30)]
    assert drawn == [proposals(MODELS["1b"], f"0/u1/s2/{attempt}") for attempt in range(1, 30)]
    assert len({str(one) for one in drawn}) > 5


def test_what_is_shown_as_known_moves_no_other_fault() -> None:
    """Else a change of the product would change the model it is measured with."""
    known = tuple(Known(f"abc{number}", Fact(LIKED, f"菜{number}")) for number in range(9))
    for attempt in range(40):
        seed = f"0/u1/s2/{attempt}"
        shown = [item for item in proposals(MODELS["4b"], seed, known) if item.tag is Tag.TRUE]
        assert shown == [item for item in proposals(MODELS["4b"], seed) if item.tag is Tag.TRUE]


def test_about_is_right_in_four_traps_of_five() -> None:
    """Whatever the product asks for."""
    about = Counter(proposals(Model(trap=1), f"0/u1/s2/{one}")[-1].about for one in range(400))
    assert set(about) == {"other", "user"}
    assert 280 < about["other"] < 360


def test_made_up_values_are_true_of_others_and_were_never_said_by_the_user() -> None:
    """What the user once said, even what no longer holds, is no invention."""
    life, other = a_life(), a_life("u2", (Fact(CITY, "成都"), Fact(CITY, "昆明"), Fact("pet.name", "豆包")))
    assert faults.foreign(life, [life, other]) == [Fact(CITY, "昆明")]


def test_a_reply_is_damaged_in_three_ways_a_third_each() -> None:
    """Fenced, in prose, cut off at four fifths; bare when JSON is certain."""
    text = '{"memories": []}' * 5
    made = [faults.damaged(text, Model(json_ok=0), str(seed), "en") for seed in range(300)]
    shapes = Counter("fenced" if one.startswith("```") else "prose" if text in one else "cut" for one in made)
    assert set(shapes) == {"fenced", "prose", "cut"}
    assert min(shapes.values()) > 70
    assert {len(one) for one in made if one in text} == {int(len(text) * 0.8)}
    assert faults.damaged(text, Model(), "0", "en") == text


def test_a_rewording_stays_near_the_value() -> None:
    """It differs in signs, case or an article only."""
    for seed in range(20):
        assert "labradors" in reworded("Dogs, especially Labradors", random.Random(seed)).lower()


def test_what_is_replaced_is_named_by_its_handle_where_it_was_shown() -> None:
    """Else by its content; a retraction of a many slot retires, a passing statement is a record."""
    update = Item(Kind.UPDATE, 0, Fact(CITY, "青岛"), "我从成都搬到青岛了。", Tag.TRUE, replaces="成都")
    shown = [Known("abc123", Fact(CITY, "成都。"))]
    assert render.entry(update, 7, shown, is_unique=True)["replaces"] == "#abc123"
    plain = render.entry(update, 7, [], is_unique=True)
    assert (plain["replaces"], plain["action"], plain["turn"]) == ("成都", "update", 7)
    gone = Item(Kind.RETRACT, 0, Fact(LIKED, "酸菜鱼"), "不吃了。", Tag.TRUE)
    assert render.entry(gone, 1, [], is_unique=False)["action"] == "retire"
    passing = Item(Kind.TEMPORARY, 0, Fact(CITY, "西安"), "这周在西安出差。", Tag.TRUE)
    assert render.entry(passing, 1, [], is_unique=True)["sub_topic"] is None


def asking(*turns: dict[str, Any], known: str = "") -> list[dict[str, str]]:
    """The messages of a request."""
    system = {"role": "system", "content": f"# Known\n{known}\n# Examples\n#zz0001 {CITY} = Moon (explicit)"}
    return [system, {"role": "user", "content": "<mark>\n" + json.dumps(turns, ensure_ascii=False)}]


def test_a_session_is_found_by_its_words_and_turns_by_their_numbers() -> None:
    """Context turns place the chunk and are not asked about."""
    found = book.asked(
        a_life(),
        asking(
            {"turn": 4, "role": "assistant", "context": True, "text": "好的。"},
            {"turn": 5, "role": "user", "text": "酸菜鱼是我的最爱。"},
        ),
    )
    assert (found.session.name, found.numbers) == ("s2", {2: 5})


def test_a_request_without_a_known_turn_is_a_fault_of_the_harness() -> None:
    """It must not pass as a session with nothing to remember."""
    with pytest.raises(book.Unknown):
        book.asked(a_life(), asking({"turn": 1, "role": "user", "text": "从没说过的话。"}))
    with pytest.raises(book.Unknown):
        book.asked(a_life(), [{"role": "user", "content": "no turns"}])


def test_known_values_are_read_from_the_request_and_examples_are_not() -> None:
    """Handles are hexadecimal; the prompt's own examples have others."""
    shown = book.known(asking({}, known=f"#abc123 {CITY} = 成都 (explicit)\n#abc124 other.slot = x (explicit)"), SLOTS)
    assert shown == [Known("abc123", Fact(CITY, "成都"))]


def test_the_table_has_a_row_for_each_measure_that_was_made() -> None:
    """A dash where one run has none."""
    lines = report.table([("a", {"F1": 1.0, "stale": None}), ("b", {"F1": 0.5, "stale": None})])
    assert [line.split("|")[1].strip() for line in lines] == ["measure", "-------", "F1"]
    assert "0.500" in lines[2]
