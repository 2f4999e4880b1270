"""The profile reads the best of each slot alone, and shows what it would show if it read everything."""

import random
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.services import profile
from mex_pipeline.store import history, memories
from mex_pipeline.store.sql import Query

NOW = "2026-12-01T00:00:00Z"
SCHEMA = """\
topics:
  work:
    description: Work
    sub_topics:
      company: {description: Company, unique: true}
      skills: {description: Skills, unique: false}
      tools: {description: Tools, unique: false, max_items: 7, priority: high}
      salary: {description: Salary, sensitive: true}
  health:
    description: Health
    sensitive: true
    sub_topics:
      diet: {description: Diet, unique: false}
      sport: {description: Sport, unique: false, sensitive: false}
  notes:
    description: Notes
"""
PLACES = (
    ("work", "company"), ("work", "skills"), ("work", "tools"), ("work", "salary"), ("work", "gone"), ("health", "diet"),
    ("health", "sport"), ("health", "gone"), ("lost", "gone"), ("work", None), ("health", None), ("notes", None), (None, None),
)  # fmt: skip
ASKED: tuple[dict[str, Any], ...] = (
    {}, {"include_sensitive": True}, {"topics": ["work"]}, {"topics": ["health", "notes"]}, {"recent_limit": 0},
    {"recent_limit": 2, "recent_days": 1}, {"max_tokens": 60}, {"topics": ["notes"], "include_sensitive": True},
)  # fmt: skip


def some(rng: random.Random) -> Memory:
    topic, sub_topic = rng.choice(PLACES)
    at = f"2026-{rng.choice(('10', '11', '12'))}-{rng.randint(1, 28):02}T08:00:00Z"
    return Memory(
        id=new_id(),
        topic=topic,
        sub_topic=sub_topic,
        content=f"{rng.choice(('骑车', 'rides a bike', '做饭'))} {rng.random()}",
        is_ai_inferred=rng.random() < 0.3,
        confidence=rng.choice(list(Confidence)),
        evidence=None,
        created_at=at,
        updated_at=at,
        valid_from=at,
        forgotten_at=at if rng.random() < 0.1 else None,
        expires_at=rng.choice((None, None, None, "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z")),
        is_pinned=rng.random() < 0.1,
    )


@pytest.mark.parametrize("seed", range(6))
def test_what_is_shown_and_withheld_is_what_reading_everything_would_show(seed: int, home: Path) -> None:
    rng = random.Random(seed)
    home.mkdir()
    (home / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    with open_app("en") as app:
        with app.db.transaction() as tx:
            tx.run(*(memories.insert(some(rng)) for _ in range(rng.choice((3, 40, 150)))))
        for asked in ASKED:
            best = profile.show(app, **asked)
            whole = profile.show(app, **asked, is_explained=True)
            assert unexplained(best) == unexplained(whole), asked


def unexplained(shown: profile.Profile) -> profile.Profile:
    """The same without the explanation."""
    return shown._replace(lines=())


def test_a_slot_of_many_is_counted_and_three_of_it_are_read(home: Path) -> None:
    home.mkdir()
    (home / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    one = some(random.Random(1))._replace(topic="work", sub_topic="skills", forgotten_at=None, expires_at=None)
    with open_app("en") as app:
        with app.db.transaction() as tx:
            tx.run(*(memories.insert(one._replace(id=new_id(), content=f"skill {number}")) for number in range(300)))
        best = app.db.all(memories.best_of_slots([("work", "skills"), ("work", "tools")], 3, NOW))
        assert [one.content for one in best] == ["skill 299", "skill 298", "skill 297"]
        assert "(300 " in profile.show(app).text


def plan(app: App, query: Query[Any]) -> str:
    return " ".join(app.db.all(Query(f"EXPLAIN QUERY PLAN {query.sql}", query.params, lambda row: row["detail"])))


def test_the_profile_walks_through_indexes_alone(home: Path) -> None:
    """None of its reads sorts the memories or walks through their rows."""
    with open_app("en") as app:
        assert plan(app, memories.slot_counts(NOW)) == "SCAN memories USING INDEX memories_slot"
        best = plan(app, memories.best_of_slots([("work", "skills")], 3, NOW))
        assert "memories_slot (topic=? AND sub_topic=?)" in best
        newest = plan(app, memories.recent_records(NOW, "2026-11-24T00:00:00Z", 5, None))
        assert "SCAN memories USING INDEX memories_pinned" in newest
        assert "memories_created (created_at>?)" in newest
        assert history.confirmed_before_doubt(NOW, ["x"]).params["ids"] == '["x"]'
