"""The table of kept turns: never doubled, in order, found by session, dropped by session and age (product B10)."""

from dataclasses import replace
from pathlib import Path

import pytest

from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.store import migrations, turns
from mex_pipeline.store.turns import Which
from tests.support.gateways import opened, rows

ONE = KeptTurn(
    "claude", "k1", "s1", "m1", "/s.jsonl", "/p", "user", "typed", "2026-03-01T08:00:00Z", "我喜欢绿茶", "j1",
    "2026-03-02T08:00:00Z", 1,
)  # fmt: skip
AGENT = {"agent": "claude", "session": "s1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened("sync", tmp_path / "mex.db") as db:
        migrations.ensure_current(db)
    return tmp_path / "mex.db"


def test_product_b10_a_turn_that_is_kept_is_not_changed(path: Path) -> None:
    with opened("sync", path) as db:
        db.run(turns.insert(ONE))
        db.run(turns.insert(replace(ONE, text="other words", session_id="fork", position=9)))
        assert db.first(turns.one("claude", "k1")) == ONE
        db.run(turns.insert(replace(ONE, agent="codex")))
        assert db.first(turns.one("codex", "k1")) == replace(ONE, agent="codex")


def test_product_b10_room_is_made_in_one_session_alone(path: Path) -> None:
    with opened("sync", path) as db:
        others = [replace(ONE, key=f"k{n}", position=n) for n in (2, 3)]
        db.run(*map(turns.insert, (ONE, *others, replace(ONE, key="x", session_id="s2", position=2))))
        db.run(turns.make_room("claude", "s1", 2, 5))
        assert [(one.key, one.position) for one in db.all(turns.of_session(**AGENT))] == [
            ("k1", 1),
            ("k2", 7),
            ("k3", 8),
        ]
        assert db.first(turns.last_position(**AGENT)) == 8
        assert db.first(turns.last_position("claude", "s2")) == 2
        assert db.first(turns.last_position("claude", "none")) == 0


def test_the_nearest_turn_is_told_apart_by_its_row_where_positions_are_equal(path: Path) -> None:
    """Rows of two homes, once restored into one, may share a position."""
    with opened("sync", path) as db:
        second = replace(ONE, key="k2")
        db.run(turns.insert(ONE), turns.insert(second))
        assert db.first(turns.nearest(ONE, earlier=False)) == second
        assert db.first(turns.nearest(second, earlier=True)) == ONE
        assert db.first(turns.nearest(ONE, earlier=True)) is None


def test_without_a_session_the_file_or_the_job_stands_for_it(path: Path) -> None:
    with opened("sync", path) as db:
        imported = replace(ONE, agent="plain", key="a", session_id=None)
        given = replace(imported, key="b", source_file=None)
        db.run(turns.insert(imported), turns.insert(given))
        assert {one.session for one in db.all(turns.sessions(Which()))} == {"/s.jsonl", "j1"}
        assert (imported.session, given.session) == ("/s.jsonl", "j1")
        assert db.all(turns.of_session("plain", "j1")) == [given]


@pytest.mark.parametrize(("which", "left"), [
    (Which(session="s1"), ["k3", "k4"]),
    (Which(agent="codex"), ["k1", "k2", "k3"]),
    (Which(before="2026-03-05T00:00:00Z"), ["k2", "k4"]),
    (Which(agent="claude", session="s1", before="2026-03-05T00:00:00Z"), ["k2", "k3", "k4"]),
])  # fmt: skip
def test_turns_are_dropped_by_session_agent_and_age(path: Path, which: Which, left: list[str]) -> None:
    """Where nobody knows when it was said, when it was kept counts."""
    with opened("sync", path) as db:
        late = "2026-03-09T00:00:00Z"
        db.run(
            *map(
                turns.insert,
                (
                    ONE,
                    replace(ONE, key="k2", said_at=late),
                    replace(ONE, key="k3", session_id="s2", said_at=None),
                    replace(ONE, key="k4", agent="codex", session_id="s3", said_at=None, kept_at=late),
                ),
            )
        )
        assert db.run(turns.delete(which)) == 4 - len(left)
        assert [row["key"] for row in rows(db, "SELECT key FROM turns ORDER BY key")] == left


def test_sizes_are_bytes_of_the_words_and_pages_of_the_table(path: Path) -> None:
    with opened("sync", path) as db:
        db.run(turns.insert(ONE))
        assert db.all(turns.totals()) == [{"agent": "claude", "turns": 1, "bytes": 15}]
        (listed,) = db.all(turns.sessions(Which()))
        assert (listed.turns, listed.bytes, listed.oldest) == (1, 15, ONE.said_at)
        if db.first(turns.counts_pages()):
            assert (db.first(turns.pages()) or 0) >= 4096 * 2
