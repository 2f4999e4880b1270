"""`mex search --semantic` with an endpoint for the vectors: what is found, what is asked for, and what when it cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the extra `semantic` is not installed")

from tests.semantic.conftest import KEY
from tests.support.model_server import ModelServer
from tests.support.program import mex, opened, worker

SAID = {
    "zh": ("最近失恋了", "爱吃火锅", "在学数据库", "晚上总是低落"),
    "en": ("We broke up in May", "Likes hot pot", "Learns about databases", "Often sad at night"),
}
LOW = {"zh": "低落", "en": "sad"}


def remember(*contents: str, **options: str) -> list[str]:
    more = [word for name, value in options.items() for word in (f"--{name}", value)]
    return [mex("add", "--content", one, *more, "--json").json["id"] for one in contents]


def found(*words: str, **environment: str) -> list[tuple[str, bool]]:
    hits = mex("search", *words, "--semantic", "--json", **environment).json
    return [(one["content"], one["related"]) for one in hits]


def kept(home: Path) -> list[tuple[str, str]]:
    """(content, model) of every vector."""
    with opened(home / "mex.db") as db:
        sql = "SELECT content, model FROM embeddings JOIN memories USING (seq) ORDER BY seq"
        return db.execute(sql).fetchall()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_holds_the_words_comes_first_then_what_is_similar_in_meaning(vectors: ModelServer, lang: str) -> None:
    broke, pot, base, sad = SAID[lang]
    remember(*SAID[lang])
    mex("embed")
    assert found(LOW[lang]) == [(sad, False), (broke, True), (base, True), (pot, True)]
    shown = mex("search", LOW[lang], "--semantic", "--lang", lang).out
    assert shown.count({"zh": "意思相近", "en": "similar in meaning"}[lang]) == 3


def test_some_of_the_words_and_the_meaning_are_one_list(vectors: ModelServer) -> None:
    broke, pot, base, _ = SAID["en"]
    remember(broke, pot, base)
    mex("embed")
    hits = mex("search", "sad about databases yesterday", "--semantic", "--json").json
    assert {(one["content"], one["partial"], one["related"]) for one in hits} == {
        (base, True, False),
        (broke, False, True),
        (pot, False, True),
    }
    assert hits[-1]["content"] == pot


def test_every_filter_holds_for_what_is_only_meant(vectors: ModelServer) -> None:
    broke, pot, base, sad = SAID["zh"]
    ids = remember(broke, sad, topic="health") + remember(pot, base)
    mex("forget", ids[1])
    mex("embed")
    assert found(LOW["zh"], "--topic", "health") == [(broke, True)]
    assert found("低落 -火锅 -数据库") == [(broke, True)]
    assert found('低落 "爱吃"') == [(pot, True)]
    assert found("低落 since:2020-01-01 until:2020-02-01") == []
    assert found("低落", "--limit", "1", "--offset", "1") in ([(pot, True)], [(base, True)])
    mex("restore", ids[1])
    mex("embed")
    assert (sad, False) in found(LOW["zh"])


@pytest.mark.parametrize("query", ["低落", "低落 数据库 yesterday"])
def test_one_page_goes_on_where_another_ended(vectors: ModelServer, query: str) -> None:
    remember(*SAID["zh"], *SAID["en"])
    mex("embed")
    whole = found(query)
    assert len(set(whole)) == 8
    pages = [found(query, "--limit", "3", "--offset", str(offset)) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 2, 0]
    assert [hit for page in pages for hit in page] == whole
    assert "of 8" in mex("search", query, "--semantic", "--limit", "3").out


def test_product_f6_no_other_command_asks_the_endpoint(vectors: ModelServer) -> None:
    remember(*SAID["zh"])
    mex("search", "低落")
    mex("search", "--topic", "work", "--semantic")
    mex("profile")
    mex("list")
    assert vectors.requests() == []
    ran = mex("search", "低落", "--semantic", MEX_SEMANTIC_ENABLED="false")
    assert vectors.requests() == []
    assert ("semantic.enabled" in ran.err, ran.err.count("\n")) == (True, 1)
    assert SAID["zh"][3] in ran.out


def test_vectors_that_are_missing_are_told_and_made_for_the_next_search(vectors: ModelServer) -> None:
    broke, pot, base, sad = SAID["zh"]
    remember(broke, sad)
    mex("embed")
    remember(pot, base)
    first = mex("search", "低落", "--semantic", "--json")
    assert [one["content"] for one in first.json] == [sad, broke]
    (queued,) = [one for one in mex("jobs", "list", "--json").json if one["state"] == "queued"]
    assert ("2 memories" in first.err, queued["job_id"] in first.err) == (True, True)
    mex("search", "低落", "--semantic")
    with worker():
        job = mex("jobs", "wait", queued["job_id"], "--timeout", "60", "--json").json
    assert (job["kind"], job["embedded"], job["merged"], job["usage"]["prompt_tokens"]) == ("embed", 2, 1, 14)
    second = mex("search", "低落", "--semantic", "--json")
    assert (len(second.json), second.err) == (4, "")


REFUSALS: dict[str, dict[str, Any]] = {
    "key": {"status": 401, "body": json.dumps({"error": {"message": f"bad key {KEY}"}})},
    "model": {"status": 404, "body": "{}"},
    "trouble": {"status": 503, "body": "{}"},
    "no JSON": {"body": "<html>"},
    "no vectors": {"body": json.dumps({"data": []})},
    "no numbers": {"body": json.dumps({"data": [{"index": 0, "embedding": ["a"]}]})},
    "no direction": {"body": json.dumps({"data": [{"index": 0, "embedding": [0.0, 0.0]}]})},
    "infinite": {"body": '{"data": [{"index": 0, "embedding": [1e999, 1]}]}'},
}


@pytest.mark.parametrize("rule", REFUSALS.values(), ids=REFUSALS)
def test_an_endpoint_that_does_not_answer_leaves_the_words(vectors: ModelServer, rule: dict[str, Any]) -> None:
    remember(*SAID["zh"])
    vectors.script(rule)
    ran = mex("search", "低落", "--semantic", "--json")
    assert [one["content"] for one in ran.json] == [SAID["zh"][3]]
    assert ran.err.count("\n") == 1
    assert KEY not in ran.err
    assert "section semantic" in ran.err


def test_an_endpoint_that_is_not_there_or_has_no_address_leaves_the_words(vectors: ModelServer) -> None:
    remember(*SAID["zh"])
    for address in ("http://127.0.0.1:9/v1", "", "file:///etc"):
        ran = mex("search", "低落", "--semantic", MEX_SEMANTIC_BASE_URL=address)
        assert (SAID["zh"][3] in ran.out, ran.err.count("\n")) == (True, 1)


def test_the_past_has_no_vectors(vectors: ModelServer) -> None:
    for past in (["--history"], ["--as-of", "2026-01-01"], ["--known-at", "2026-01-01"]):
        refused = mex("search", "x", "--semantic", *past, "--json", ok=False)
        assert (refused.code, json.loads(refused.err)["code"]) == (1, "semantic_and_past")


def test_a_model_may_want_prefixes_and_a_question_is_not_a_memory(
    vectors: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEX_SEMANTIC_QUERY_PREFIX", "query: ")
    monkeypatch.setenv("MEX_SEMANTIC_PASSAGE_PREFIX", "passage: ")
    remember("爱吃火锅")
    mex("embed")
    found("低落 失恋 topic:work -火锅")
    assert vectors.embedded() == ["passage: 爱吃火锅", "query: 低落 失恋"]


def test_vectors_of_another_model_are_not_compared_and_are_replaced(
    vectors: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broke, _, _, sad = SAID["zh"]
    remember(broke, sad)
    mex("embed")
    monkeypatch.setenv("MEX_SEMANTIC_MODEL", "m-2")
    assert found("低落") == [(sad, False)]
    assert mex("embed", "--json").json["embedded"] == 2
    assert kept(home) == [(broke, "m-2"), (sad, "m-2")]
    assert found("低落") == [(sad, False), (broke, True)]


def test_a_database_that_cannot_be_written_is_searched_all_the_same(vectors: ModelServer, home: Path) -> None:
    remember(*SAID["zh"])
    with opened(home / "mex.db") as db:
        db.execute("BEGIN IMMEDIATE")
        ran = mex("search", "低落", "--semantic", stdin="", MEX_TEST_BUSY="0.1")
    assert (SAID["zh"][3] in ran.out, "4 memories" in ran.err, "being made" in ran.err) == (True, True, False)
