"""What calls cost, the replies that are kept, and how each endpoint is asked."""

from mex_pipeline.store import usage
from tests.support.gateways import Gateway, rows

NOW = "2026-08-06T08:30:00Z"


def test_seed_7_4_every_call_is_written_down(db: Gateway) -> None:
    db.run(usage.record("extract", "m1", 100, 20, "j1", NOW))
    (row,) = rows(db, "SELECT purpose, model, prompt_tokens, completion_tokens, created_at, job_id FROM llm_usage")
    assert tuple(row.values()) == ("extract", "m1", 100, 20, NOW, "j1")


def test_the_calls_of_a_job_are_added_up(db: Gateway) -> None:
    db.run(*(usage.record("extract", "m1", 100, 20, job, NOW) for job in ("j1", "j1", "j2", None)))
    assert db.first(usage.of_job("j1")) == {"calls": 2, "prompt_tokens": 200, "completion_tokens": 40}
    assert db.first(usage.of_job("none")) == {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}


def test_totals_are_told_by_purpose_and_model(db: Gateway) -> None:
    assert db.all(usage.totals()) == []
    db.run(*(usage.record(*call, "j", NOW) for call in (
        ("extract", "b", 1, 2), ("extract", "a", 3, 4), ("import", "a", 5, 6), ("extract", "a", 7, 8),
    )))  # fmt: skip
    assert [tuple(row.values()) for row in db.all(usage.totals())] == [
        ("extract", "a", 2, 10, 12),
        ("extract", "b", 1, 1, 2),
        ("import", "a", 1, 5, 6),
    ]


def test_product_p4_a_reply_is_kept_and_may_be_replaced(db: Gateway) -> None:
    assert db.first(usage.kept_reply("k")) is None
    db.run(usage.keep_reply("k", "j1", "/s", '{"memories": []}', 1), usage.keep_reply("k", "j2", "/s", "再", 2))
    assert db.first(usage.kept_reply("k")) == "再"
    assert rows(db, "SELECT job_id, kept_at FROM kept_replies") == [{"job_id": "j2", "kept_at": 2}]


def test_product_h5_the_replies_of_a_source_go_together(db: Gateway) -> None:
    db.run(*(usage.keep_reply(key, "j", source, "r", 1) for key, source in (("1", "/a"), ("2", "/a"), ("3", "/b"))))
    assert db.run(usage.drop_replies("/a")) == 2
    assert [db.first(usage.kept_reply(key)) for key in "123"] == [None, None, "r"]


def test_product_c12_how_an_endpoint_is_asked_is_remembered(db: Gateway) -> None:
    assert db.first(usage.response_format("http://a/v1", "m")) is None
    db.run(
        usage.learn_format("http://a/v1", "m", "json_schema", 1), usage.learn_format("http://a/v1", "m", "prompt", 2)
    )
    assert db.first(usage.response_format("http://a/v1", "m")) == "prompt"
    assert db.first(usage.response_format("http://a/v1", "other")) is None
    assert db.first(usage.response_format("http://b/v1", "m")) is None


def test_what_is_kept_beside_the_replies_is_told_apart_and_goes_with_them(db: Gateway) -> None:
    db.run(*(usage.keep_reply(key, "j", "/a", text, at) for at, (key, text) in enumerate((
        (f"{usage.RAW}2", "later"), ("k", "reply"), (f"{usage.SPLIT}k", "{}"), (f"{usage.RAW}1", "last"),
    ))))  # fmt: skip
    db.run(usage.keep_reply(f"{usage.RAW}3", "other", "/b", "foreign", 9))
    assert db.all(usage.raw_answers("j")) == ["later", "last"]
    assert db.run(usage.drop_splits("/a")) == 1
    assert db.first(usage.kept_reply("k")) == "reply"
    assert db.run(usage.drop_replies("/a")) == 3
    assert db.all(usage.raw_answers("j")) == []
