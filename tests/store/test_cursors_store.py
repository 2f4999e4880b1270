"""How far each source is read, and which messages, per extractor."""

import pytest

from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.errors import ExternalError
from mex_pipeline.store import cursors
from tests.support.gateways import Gateway, rows

NOW = "2026-08-06T08:30:00Z"
WHOLE = Cursor(off=120, resume=80, size=200, head_len=64, head_sha="aa", tail_sha="bb", content_sha="cc")


def advance(db: Gateway, source: str, extractor: str, cursor: Cursor, **changes) -> None:
    facts = {"looked_size": 200, "agent": "claude", "session_id": "s", "project": "/p", "now": NOW} | changes
    db.run(cursors.advance(source, extractor, cursor, **facts))


def test_a_cursor_comes_back_as_it_was_moved(db: Gateway) -> None:
    assert db.first(cursors.position("/s.jsonl", "model", "claude")) is None
    advance(db, "/s.jsonl", "model", WHOLE)
    assert db.first(cursors.position("/s.jsonl", "model", "claude")) == WHOLE


def test_moving_a_cursor_replaces_everything_that_is_known_of_the_source(db: Gateway) -> None:
    advance(db, "/s.jsonl", "model", WHOLE)
    advance(
        db,
        "/s.jsonl",
        "model",
        Cursor(off=300),
        looked_size=310,
        agent="codex",
        session_id=None,
        project=None,
        now="later",
    )
    assert rows(db, "SELECT * FROM extraction_state") == [
        {
            "source_file": "/s.jsonl",
            "extractor": "model",
            "last_position": 300,
            "last_extracted_at": "later",
            "agent": "codex",
            "session_id": None,
            "project": None,
            "cursor": Cursor(off=300).to_json(),
            "looked_size": 310,
        }
    ]


def test_the_last_look_tells_how_long_the_source_was_for_that_extractor(db: Gateway) -> None:
    advance(db, "/s.jsonl", "model", WHOLE, looked_size=200)
    advance(db, "/s.jsonl", "rules", WHOLE, looked_size=90)
    assert db.first(cursors.last_look("/s.jsonl", "model")) == (200, NOW)
    assert db.first(cursors.last_look("/s.jsonl", "rules")) == (90, NOW)
    assert db.first(cursors.last_look("/other", "rules")) is None


def test_a_source_read_as_another_format_begins_anew(db: Gateway) -> None:
    advance(db, "/s.jsonl", "model", WHOLE)
    assert db.first(cursors.position("/s.jsonl", "model", "plain")) is None


def test_product_c9_each_extractor_has_its_own_cursor(db: Gateway) -> None:
    advance(db, "/s.jsonl", "rules", Cursor(off=1))
    assert db.first(cursors.position("/s.jsonl", "model", "claude")) is None
    advance(db, "/s.jsonl", "model", Cursor(off=2))
    advance(db, "/other", "model", Cursor(off=3))
    assert db.first(cursors.position("/s.jsonl", "rules", "claude")) == Cursor(off=1)
    assert db.first(cursors.position("/s.jsonl", "model", "claude")) == Cursor(off=2)


def seen(db: Gateway, extractor: str, *keys: str, agent: str = "claude") -> set[str]:
    return set(db.all(cursors.seen(agent, keys, extractor)))


def test_product_c9_what_only_the_rules_have_read_is_owed_to_a_model(db: Gateway) -> None:
    db.run(
        cursors.mark_seen("claude", "by rules", "rules", "j", 1),
        cursors.mark_seen("claude", "by model", "model", "j", 1),
    )
    assert seen(db, "model", "by rules", "by model", "new") == {"by model"}
    assert seen(db, "rules", "by rules", "by model", "new") == {"by rules", "by model"}


def test_a_key_belongs_to_its_agent_and_is_given_once(db: Gateway) -> None:
    db.run(*(cursors.mark_seen("claude", "k", extractor, "j", 1) for extractor in ("rules", "model")))
    assert db.all(cursors.seen("claude", ["k"], "rules")) == ["k"]
    assert seen(db, "model", "k", agent="codex") == set()
    assert seen(db, "model") == set()


def test_marking_a_message_twice_keeps_the_first(db: Gateway) -> None:
    db.run(cursors.mark_seen("claude", "k", "model", "j1", 1), cursors.mark_seen("claude", "k", "model", "j2", 2))
    assert rows(db, "SELECT job_id, seen_at FROM seen_messages") == [{"job_id": "j1", "seen_at": 1}]


def test_thousands_of_keys_are_asked_in_one_query(db: Gateway) -> None:
    keys = [f'key "{number}" 消息' for number in range(5_000)]
    db.run(*(cursors.mark_seen("claude", key, "model", "j", 1) for key in keys[::2]))
    assert seen(db, "model", *keys) == set(keys[::2])


def test_an_unknown_extractor_is_refused(db: Gateway) -> None:
    with pytest.raises(ExternalError, match="internal"):
        advance(db, "/s", "guess", Cursor())
    with pytest.raises(ExternalError, match="internal"):
        db.run(cursors.mark_seen("claude", "k", "guess", "j", 1))
