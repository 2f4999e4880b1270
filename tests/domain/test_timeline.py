"""What was known at a moment, what held then, and what changed between two (product B8, B11, E2)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.memory import Actor, Confidence, Event, HistoryEntry, Memory
from mex_pipeline.domain.timeline import Step, Then, as_of, difference, known_at, superseded, tracks
from tests.domain.examples import memory

D = [f"2026-07-{day:02}T12:00:00Z" for day in range(1, 30)]


def line(at: str, event: Event, before: Memory | None, after: Memory | None) -> HistoryEntry:
    """A row of history with whole states, as the store writes it."""
    subject = after or before
    assert subject is not None
    return HistoryEntry(
        subject.id, event, before.content if before else None, after.content if after else None, Actor.USER, None, at,
        before=before._asdict() if before else None, after=after._asdict() if after else None,
    )  # fmt: skip


def bare(entry: HistoryEntry) -> HistoryEntry:
    """The same row without states, as an older database kept it."""
    return entry._replace(before=None, after=None)


class Life:
    """One memory through its changes: `row` is what it is now, `lines` its history."""

    def __init__(self, number: int, content: str, at: str, slot: str | None = "work.company", **columns: Any) -> None:
        values = {"created_at": at, "updated_at": at, "valid_from": at, "last_seen_at": at} | columns
        self.row = memory(number, slot, content, **values)
        self.lines = [line(at, Event.ADD, None, self.row)]

    def then(self, at: str, event: Event = Event.UPDATE, **columns: Any) -> "Life":
        if "content" in columns:
            columns = {"valid_from": at} | columns
        after = self.row._replace(**({"updated_at": at} | columns))
        self.lines.append(line(at, event, self.row, after))
        self.row = after
        return self


def world(*lives: Life) -> list[list[Step]]:
    """What was known when, from all rows and all history in the order in which it was written."""
    entries = sorted((entry for life in lives for entry in life.lines), key=lambda entry: entry.created_at)
    return tracks([life.row for life in lives], entries)


def held(at: str, *lives: Life) -> list[str]:
    return [one.content for one in as_of(world(*lives), at).memories]


def known(at: str, *lives: Life) -> list[str]:
    return [one.content for one in known_at(world(*lives), at).memories if one.is_active(at)]


def test_b11_what_was_known_is_the_last_state_written_by_then() -> None:
    life = Life(1, "远光", D[1]).then(D[5], content="前进云").then(D[9], Event.FORGET, forgotten_at=D[9])
    assert [known(D[day], life) for day in (0, 1, 4, 5, 8, 9, 20)] == [
        [], ["远光"], ["远光"], ["前进云"], ["前进云"], [], [],
    ]  # fmt: skip


def test_b9_of_changes_in_one_second_the_later_in_history_counts() -> None:
    life = Life(1, "甲", D[1]).then(D[1], content="乙").then(D[1], content="丙")
    assert known(D[1], life) == ["丙"]
    assert held(D[1], life) == ["丙"]


def test_b11_what_held_asks_when_it_was_said_and_not_when_it_was_learned() -> None:
    life = Life(1, "上海", D[9], valid_from=D[2]).then(D[12], content="杭州", valid_from=D[6])
    assert [held(D[day], life) for day in (1, 2, 5, 6, 20)] == [[], ["上海"], ["上海"], ["杭州"], ["杭州"]]
    assert [known(D[day], life) for day in (8, 9, 12)] == [[], ["上海"], ["杭州"]]


def test_b11_an_older_statement_that_arrived_late_held_in_its_time() -> None:
    now = Life(1, "杭州", D[9])
    past = Life(2, "上海", D[20], valid_from=D[3], valid_to=D[9], forgotten_at=D[20], forgotten_reason="superseded")
    assert [held(D[day], now, past) for day in (2, 3, 8, 9)] == [[], ["上海"], ["上海"], ["杭州"]]
    shown = as_of(world(now, past), D[4]).memories[0]
    assert (shown.valid_from, shown.valid_to, shown.forgotten_at) == (D[3], D[9], None)


def test_a_value_taken_back_held_until_it_was_and_a_mark_never_did() -> None:
    life = Life(1, "Java", D[1], "work.tech_stack")
    life.then(D[10], Event.FORGET, valid_to=D[7], forgotten_at=D[10], forgotten_reason="retire")
    mark = Life(2, "Perl", D[10], "work.tech_stack", valid_to=D[10], forgotten_at=D[10], forgotten_reason="retire")
    assert [held(D[day], life, mark) for day in (1, 6, 7, 10)] == [["Java"], ["Java"], [], []]


def test_a_forgotten_value_held_until_it_was_forgotten_and_a_restored_one_throughout() -> None:
    life = Life(1, "a", D[1], None).then(D[5], Event.FORGET, forgotten_at=D[5])
    assert [held(D[day], life) for day in (4, 5, 9)] == [["a"], [], []]
    life.then(D[8], Event.RESTORE, forgotten_at=None)
    assert [held(D[day], life) for day in (4, 5, 9)] == [["a"], ["a"], ["a"]]


def test_an_expiry_ends_what_holds_also_in_the_future() -> None:
    life = Life(1, "a", D[1], None).then(D[3], expires_at="2027-01-01T00:00:00Z")
    assert held("2026-12-31T23:59:59Z", life) == ["a"]
    assert held("2027-01-01T00:00:00Z", life) == []


def test_a_value_is_shown_with_its_newest_tier() -> None:
    life = Life(1, "a", D[1], confidence=Confidence.INFERRED).then(D[5], confidence=Confidence.CONFIRMED)
    life.then(D[9], content="b", confidence=Confidence.EXPLICIT)
    assert as_of(world(life), D[2]).memories[0].confidence is Confidence.CONFIRMED
    assert known_at(world(life), D[2]).memories[0].confidence is Confidence.INFERRED


def test_a_change_that_was_undone_never_held() -> None:
    life = Life(1, "上海", D[1]).then(D[5], content="深圳").then(D[6], Event.UNDO, content="上海", valid_from=D[1])
    assert [held(D[day], life) for day in (1, 5, 6, 9)] == [["上海"]] * 4
    assert known(D[5], life) == ["深圳"]


def test_several_values_of_one_slot_are_all_returned() -> None:
    assert held(D[5], Life(1, "a", D[1]), Life(2, "b", D[2])) == ["a", "b"]


def test_c6_a_doubt_carries_the_confirmed_value_it_stands_in_for() -> None:
    doubt = {"confidence": Confidence.UNCERTAIN, "is_ai_inferred": True}
    life = Life(1, "上海", D[1]).then(D[5], content="深圳", **doubt).then(D[7], content="广州", **doubt)
    assert known_at(world(life), D[2]).earlier == {}
    for at in (D[5], D[7]):
        assert known_at(world(life), at).earlier == as_of(world(life), at).earlier == {"m1": "上海"}
    unsure = Life(2, "甲", D[1], confidence=Confidence.EXPLICIT).then(D[5], content="乙", **doubt)
    assert known_at(world(unsure), D[9]).earlier == {}


def test_b6_what_was_deleted_for_good_is_at_no_moment_known() -> None:
    life = Life(1, "secret", D[1])
    gone = HistoryEntry("m1", Event.DELETE, None, None, Actor.USER, None, D[3])
    assert known_at(tracks([], [*life.lines, gone]), D[2]).memories == ()
    assert as_of(tracks([], [*life.lines, gone]), D[2]).memories == ()
    assert superseded(tracks([], [*life.lines, gone])) == []


def test_history_of_contents_alone_gives_contents_and_times() -> None:
    life = Life(1, "甲", D[1]).then(D[5], content="乙").then(D[7], Event.FORGET, forgotten_at=D[7])
    life.then(D[8], Event.RESTORE, forgotten_at=None)
    found = tracks([life.row], [bare(entry) for entry in life.lines])

    def read(day: int) -> list[list[str]]:
        active = [one.content for one in known_at(found, D[day]).memories if one.is_active(D[day])]
        return [active, [one.content for one in as_of(found, D[day]).memories]]

    assert [read(day) for day in (0, 1, 5, 7, 8)] == [
        [[], []], [["甲"], ["甲"]], [["乙"], ["乙"]], [[], ["乙"]], [["乙"], ["乙"]],
    ]  # fmt: skip
    assert [one.content for one in superseded(found)] == ["甲"]


def test_history_of_contents_alone_has_no_gaps_where_only_the_tier_changed() -> None:
    life = Life(1, "甲", D[1]).then(D[5], confidence=Confidence.EXPLICIT).then(D[9], content="乙")
    found = tracks([life.row], [bare(entry) for entry in life.lines])
    contents = [[one.content for one in as_of(found, D[day]).memories] for day in (0, 1, 4, 5, 9)]
    assert contents == [[], ["甲"], ["甲"], ["甲"], ["乙"]]


def test_a_memory_without_its_beginning_in_history_was_there_before() -> None:
    life = Life(1, "甲", D[1]).then(D[5], content="乙")
    for entries in ([], life.lines[1:], [bare(life.lines[1])]):
        contents = [known_at(tracks([life.row], entries), at).memories[0].content for at in (D[1], D[6])]
        assert contents == (["甲", "乙"] if entries else ["乙", "乙"])
    assert known_at(tracks([life.row], []), D[0]).memories == ()


def test_states_of_a_newer_program_are_read_for_what_is_known_of_them() -> None:
    life = Life(1, "甲", D[1])
    state = life.lines[0].after
    assert state is not None
    entries = [life.lines[0]._replace(after=state | {"colour": "red", "is_ai_inferred": 0})]
    assert known_at(tracks([life.row], entries), D[1]).memories == (life.row,)


def test_roadmap_2_superseded_values_are_dated() -> None:
    life = Life(1, "上海", D[1]).then(D[5], content="杭州")
    taken_back = Life(2, "Java", D[2], "work.tech_stack")
    taken_back.then(D[9], Event.FORGET, valid_to=D[7], forgotten_at=D[9], forgotten_reason="retire")
    forgotten = Life(3, "b", D[1], None).then(D[3], content="c").then(D[4], Event.FORGET, forgotten_at=D[4])
    found = {one.content: (one.valid_from, one.valid_to) for one in superseded(world(life, taken_back, forgotten))}
    assert found == {"上海": (D[1], D[5]), "Java": (D[2], D[7]), "b": (D[1], D[3])}


def test_a_value_that_came_back_is_not_superseded() -> None:
    life = Life(1, "甲", D[1]).then(D[2], content="乙").then(D[3], content="甲")
    assert [one.content for one in superseded(world(life))] == ["乙"]


def test_e2_a_difference_tells_added_changed_and_gone_with_the_reason() -> None:
    lives = [
        Life(1, "new", D[10], None),
        Life(2, "甲", D[1]).then(D[10], content="乙"),
        Life(3, "hand", D[1], None).then(D[10], Event.FORGET, forgotten_at=D[10]),
        Life(4, "Java", D[1], "work.tech_stack").then(
            D[10], Event.FORGET, valid_to=D[10], forgotten_at=D[10], forgotten_reason="retire"
        ),
        Life(5, "old", D[1]).then(D[10], Event.FORGET, forgotten_at=D[10], forgotten_reason="superseded"),
        Life(6, "ttl", D[1], None, expires_at=D[10]),
        Life(7, "gc", D[1], None, expires_at=D[9]).then(D[11], Event.EXPIRE, forgotten_at=D[11], forgotten_reason="x"),
        Life(8, "again", D[1]).then(D[10], Event.REINFORCE, times_seen=2, last_seen_at=D[10], evidence="x"),
        Life(9, "surer", D[1], confidence=Confidence.INFERRED).then(
            D[10], Event.APPROVE, confidence=Confidence.CONFIRMED
        ),
        Life(10, "came and went", D[8], None).then(D[9], Event.FORGET, forgotten_at=D[9]),
        Life(11, "late", D[9], valid_to=D[2], forgotten_at=D[9], forgotten_reason="superseded"),
    ]
    old, new = (known_at(world(*lives), at) for at in (D[5], D[20]))
    found = difference(old, new, D[5], D[20])
    assert [one.content for one in found.added] == ["new"]
    assert [(one.content, two.content) for one, two in found.changed] == [("甲", "乙"), ("surer", "surer")]
    assert {one.memory.content: one.reason for one in found.gone} == {
        "hand": "forgotten", "Java": "retired", "old": "superseded", "ttl": "expired", "gc": "expired",
    }  # fmt: skip


CHANGES = st.lists(
    st.tuples(st.sampled_from(["甲", "乙", "forget", "restore", "again"]), st.integers(0, 3)), max_size=12
)


@given(st.lists(CHANGES, min_size=1, max_size=4), st.integers(0, 28))
def test_from_now_the_past_looks_like_now_and_a_moment_like_itself(
    changes: list[list[tuple[str, int]]], day: int
) -> None:
    """Replaying a life up to a moment gives what is known at that moment; at the end it gives the rows."""
    lives = []
    then: list[Memory] = []
    for number, wishes in enumerate(changes):
        life, at = Life(number, "始", D[0]), 0
        snapshot = life.row
        for wish, days in wishes:
            at = min(at + days, 28)
            if wish == "forget" and life.row.forgotten_at is None:
                life.then(D[at], Event.FORGET, forgotten_at=D[at])
            elif wish == "restore" and life.row.forgotten_at is not None:
                life.then(D[at], Event.RESTORE, forgotten_at=None)
            elif wish == "again":
                life.then(D[at], Event.REINFORCE, times_seen=life.row.times_seen + 1)
            elif life.row.forgotten_at is None and wish not in ("forget", "restore"):
                life.then(D[at], content=wish)
            if at <= day:
                snapshot = life.row
        lives.append(life)
        then.append(snapshot)
    found, rows = world(*lives), [life.row for life in lives]
    assert list(known_at(found, D[day]).memories) == then
    assert list(known_at(found, D[28]).memories) == rows
    active = [row for row in rows if row.forgotten_at is None]
    now = as_of(found, D[28]).memories
    assert list(now) == active
    assert difference(Then((), {}), Then(tuple(rows), {}), D[0], D[28]).added == tuple(active)
