"""The job that makes vectors: killed, cancelled, refused; who queues it; and that vectors go where their words go."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.vector import LONGEST_TEXT, packed
from tests.semantic.conftest import KEY, MEANINGS
from tests.support.model_server import ModelServer
from tests.support.program import mex, opened, until, worker

SAID = ("最近失恋了", "爱吃火锅", "Learns about databases", "Often sad at night", "养了一只猫")


def remember(*contents: str) -> list[str]:
    return [mex("add", "--content", one, "--json").json["id"] for one in contents]


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with opened(home / "mex.db") as db:
        return db.execute(sql).fetchall()


def kept(home: Path) -> int:
    return int(rows(home, "SELECT count(*) FROM embeddings")[0][0])


def queued() -> list[dict[str, Any]]:
    return [one for one in mex("jobs", "list", "--kind", "embed", "--json").json if one["state"] == "queued"]


def waited(job_id: str) -> dict[str, Any]:
    return dict(mex("jobs", "wait", job_id, "--timeout", "60", "--json", ok=False).json)


def test_after_kill_9_it_goes_on_where_it_was(vectors: ModelServer, home: Path) -> None:
    remember(*SAID)
    with worker(MEX_TEST_AT_ONCE="2", MEX_TEST_KILL_AT="embedded:4") as first:
        job_id = mex("embed", "--async", "--json").json["job_id"]
        until(lambda: first.poll() == -signal.SIGKILL)
    assert kept(home) == 4
    assert mex("jobs", "list", "--json").json[0]["progress"] == {
        "done": 2, "total": 5, "unit": "memories", "note": "embedding",
    }  # fmt: skip
    with worker(MEX_TEST_AT_ONCE="2"):
        job = waited(job_id)
    assert (job["state"], job["outcome"], job["embedded"], job["crashes"]) == ("succeeded", "committed", 1, 1)
    assert sorted(vectors.embedded()) == sorted(SAID), "nothing is asked for twice"
    assert mex("embed", "--json").json["reason"] == "nothing_to_embed"
    assert mex("doctor", "--json").code == 0


def test_it_ends_in_the_middle_when_it_is_cancelled_and_keeps_what_it_has(vectors: ModelServer, home: Path) -> None:
    remember(*SAID)
    vectors.script({"times": 1}, {"hold": "go"})
    with worker(MEX_TEST_AT_ONCE="2"):
        job_id = mex("embed", "--async", "--json").json["job_id"]
        until(lambda: len(vectors.requests()) == 2)
        shown = mex("jobs", "show", job_id).out
        mex("jobs", "cancel", job_id)
        assert waited(job_id)["state"] == "cancelled"
        vectors.release("go")
    assert "2 of 5 vectors made" in shown
    assert kept(home) == 2
    assert mex("embed", "--json").json["embedded"] == 3


def test_what_is_edited_while_the_endpoint_answers_gets_a_vector_of_its_new_words(
    vectors: ModelServer, home: Path
) -> None:
    (one,) = remember("爱吃火锅")
    vectors.script({"when": "火锅", "hold": "go"})
    with worker():
        job_id = mex("embed", "--async", "--json").json["job_id"]
        until(vectors.requests)
        mex("update", one, "--content", "在学数据库")
        vectors.release("go")
        assert waited(job_id)["outcome"] == "committed"
    assert vectors.embedded() == ["爱吃火锅", "在学数据库"]
    assert rows(home, "SELECT vector FROM embeddings") == [(packed(MEANINGS["数据库"]).values,)]


@pytest.mark.parametrize(("status", "code"), [(401, "llm_auth"), (404, "llm_unknown_model")])
def test_an_endpoint_that_refuses_ends_the_job_and_pauses_no_extraction(
    vectors: ModelServer, home: Path, status: int, code: str
) -> None:
    remember("爱吃火锅")
    vectors.script({"status": status, "body": json.dumps({"error": {"message": f"no {KEY}"}})})
    with worker():
        job = waited(mex("embed", "--async", "--json").json["job_id"])
    assert (job["state"], job["error"]["code"], job["attempt"]) == ("failed", code, 1)
    assert rows(home, "SELECT reason FROM queue_control WHERE scope <> 'upkeep'") == []
    assert "section semantic" in mex("jobs", "show", job["job_id"]).out
    for path in (home / "logs").glob("*"):
        assert KEY not in path.read_text(encoding="utf-8")
    with opened(home / "mex.db") as db:
        assert not [line for line in db.iterdump() if KEY in line]


def test_an_endpoint_in_trouble_is_asked_again(vectors: ModelServer, home: Path) -> None:
    remember("爱吃火锅")
    quick = {"MEX_TEST_BACKOFF": "0.1", "MEX_LLM_MAX_RETRIES": "1"}
    vectors.script({"status": 503, "body": "{}", "times": 3})
    with worker(**quick):
        job = waited(mex("embed", "--async", "--json").json["job_id"])
    assert (job["state"], job["attempt"], kept(home)) == ("succeeded", 2, 1)


def test_an_endpoint_that_takes_fewer_texts_or_shorter_ones_is_given_them(vectors: ModelServer, home: Path) -> None:
    remember(*SAID, "火锅" * 300)
    many = json.dumps({"error": {"message": "batch size is invalid, it should not be larger than 2"}})
    long = json.dumps({"error": {"message": "input must have less than 512 tokens"}})
    vectors.script({"when": "\n", "over": 650, "status": 400, "body": many}, {"over": 512, "status": 413, "body": long})
    assert mex("embed", "--json").json["embedded"] == 6
    assert kept(home) == 6
    assert "火锅" * 150 in vectors.embedded()


def test_in_front_of_a_person_it_fails_at_once_and_says_where_to_look(vectors: ModelServer) -> None:
    remember("爱吃火锅")
    ran = mex("embed", ok=False, MEX_SEMANTIC_BASE_URL="http://127.0.0.1:9/v1")
    assert (ran.code, "section semantic" in ran.err) == (2, True)
    off = mex("embed", "--json", ok=False, MEX_SEMANTIC_ENABLED="false")
    assert (off.code, json.loads(off.err)["code"]) == (1, "semantic_off")


@pytest.mark.parametrize(("enabled", "follows"), [("true", 1), ("false", 0)])
def test_what_an_extraction_writes_gets_its_vector_when_search_by_meaning_is_on(
    vectors: ModelServer, enabled: str, follows: int
) -> None:
    job = mex("extract", "我对花生过敏。", "--text", "--json", MEX_SEMANTIC_ENABLED=enabled).json
    assert job["added"]
    assert len(queued()) == follows
    mex("extract", "我在远光软件工作。", "--text", MEX_SEMANTIC_ENABLED=enabled)
    assert len(queued()) == follows, "one waits for all of them"
    if follows:
        with worker():
            assert waited(queued()[0]["job_id"])["embedded"] == 2
    assert len(vectors.embedded()) == 2 * follows


def test_keys_and_passwords_do_not_leave_and_long_texts_are_cut(vectors: ModelServer) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3"
    remember(f"token {secret}", "火锅" * LONGEST_TEXT)
    mex("embed")
    sent = vectors.embedded()
    assert not [one for one in sent if secret in one]
    assert max(map(len, sent)) == LONGEST_TEXT


def test_the_vector_of_what_is_forgotten_for_good_is_nowhere_in_the_file(vectors: ModelServer, home: Path) -> None:
    word = [0.137, -0.731, 0.419, 0.977, -0.253, 0.611, 0.059, -0.877]
    vectors.mean(猫=word, 火锅=word[::-1])
    gone, _ = remember("养了一只猫", "爱吃火锅")
    mex("embed")
    mark = packed(word).values
    assert mark in _bytes(home)
    mex("forget", gone, "--hard", "--yes")
    assert (kept(home), mark in _bytes(home)) == (1, False)


def _bytes(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.glob("mex.db*")))


def test_clear_takes_every_vector_an_export_has_none_and_a_backup_all(
    vectors: ModelServer, home: Path, tmp_path: Path
) -> None:
    remember(*SAID)
    mex("embed")
    mex("export", "--output", str(tmp_path / "all.json"))
    assert "vector" not in (tmp_path / "all.json").read_text(encoding="utf-8")
    mex("backup", str(tmp_path / "copy.db"))
    with opened(tmp_path / "copy.db") as copy:
        assert copy.execute("SELECT count(*) FROM embeddings").fetchone() == (5,)
    mex("clear", "--yes")
    assert kept(home) == 0
    mex("import", str(tmp_path / "all.json"))
    assert (kept(home), len(queued())) == (0, 1), "what is restored gets its vectors anew"


def test_what_is_put_back_after_it_was_forgotten_still_has_its_vector(vectors: ModelServer, home: Path) -> None:
    (one,) = remember("爱吃火锅")
    mex("embed")
    mex("forget", one)
    mex("restore", one)
    assert mex("embed", "--json").json["embedded"] == 0
    assert kept(home) == 1


def test_a_job_that_begins_after_search_by_meaning_was_turned_off_makes_nothing(
    vectors: ModelServer, home: Path
) -> None:
    remember("爱吃火锅")
    job_id = mex("embed", "--async", "--json").json["job_id"]
    with worker(MEX_SEMANTIC_ENABLED="false"):
        job = waited(job_id)
    assert (job["state"], job["reason"], job["embedded"]) == ("succeeded", "semantic_off", 0)
    assert "no vectors were made" in mex("jobs", "show", job_id).out
    assert vectors.requests() == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_job_that_failed_in_front_of_a_program_says_why(vectors: ModelServer, lang: str) -> None:
    remember("爱吃火锅")
    vectors.script({"status": 401, "body": "{}"})
    ran = mex("embed", "--json", "--lang", lang, ok=False)
    assert (ran.code, json.loads(ran.err)["code"], ran.json["state"]) == (2, "llm_auth", "failed")


def test_what_was_made_before_an_endpoint_refused_stays_and_is_not_denied(vectors: ModelServer, home: Path) -> None:
    remember(*SAID)
    vectors.script({"times": 1}, {"status": 401, "body": "{}"})
    ran = mex("embed", ok=False, MEX_TEST_AT_ONCE="2")
    assert (kept(home), "made so far stay" in ran.err, "Nothing was written" in ran.err) == (2, True, False)


@pytest.mark.parametrize("content", ["hot pot", "猫", "爱吃火锅"])
def test_an_error_repeats_no_content_however_short(vectors: ModelServer, home: Path, content: str) -> None:
    remember(content)
    said = json.dumps({"error": {"message": f"cannot embed {content} with {KEY}"}})
    vectors.script({"status": 400, "body": said})
    ran = mex("embed", ok=False)
    assert "cannot embed … with ***" in ran.err
    assert (content in ran.err, KEY in ran.err) == (False, False)
    errors = str(rows(home, "SELECT errors FROM jobs"))
    assert ("cannot embed" in errors, content in errors, KEY in errors) == (True, False, False)


@pytest.mark.parametrize("gone", [("forget", "{id}", "--hard", "--yes"), ("clear", "--yes")])
def test_what_is_gone_for_good_while_an_endpoint_is_in_trouble_is_not_sent_again(
    vectors: ModelServer, home: Path, gone: tuple[str, ...]
) -> None:
    one, _ = remember("爱吃火锅", "养了一只猫")
    vectors.script({"status": 503, "body": "{}", "hold": "go", "times": 1})
    with worker():
        job_id = mex("embed", "--async", "--json").json["job_id"]
        until(vectors.requests)
        mex(*(word.format(id=one) for word in gone), ok=False)
        vectors.release("go")
        if gone[0] == "clear":
            until(lambda: mex("embed", "--json").json["reason"] == "nothing_to_embed")
        else:
            assert waited(job_id)["embedded"] == 1
    assert vectors.embedded().count("爱吃火锅") == 1
    assert kept(home) == int(gone[0] != "clear")


def test_vectors_of_another_length_are_told_as_missing_and_made_anew(vectors: ModelServer, home: Path) -> None:
    *_, over = remember(*SAID, "不爱火锅")
    mex("embed")
    mex("forget", over)
    vectors.mean(**{word: [*vector, 0.0] for word, vector in MEANINGS.items()}, 猫=[0.0, 0.0, 0.0, 1.0])
    told = mex("search", "低落", "--semantic").err
    assert "5 memories" in told
    assert mex("embed", "--json").json["embedded"] == 5
    assert rows(home, "SELECT DISTINCT length(vector) FROM embeddings") == [(4,)]
    assert len(mex("search", "低落", "--semantic", "--json").json) == 5


def test_an_endpoint_whose_vectors_change_their_length_meanwhile_is_believed_no_further(
    vectors: ModelServer, home: Path
) -> None:
    remember(*SAID)
    longer = json.dumps({"data": [{"index": place, "embedding": [1.0, 2.0]} for place in range(2)]})
    vectors.script({"times": 1}, {"body": longer})
    ran = mex("embed", "--json", ok=False, MEX_TEST_AT_ONCE="2")
    assert (json.loads(ran.err)["code"], kept(home)) == ("llm_not_an_api", 2)


def test_doctor_and_config_show_tell_of_search_by_meaning(vectors: ModelServer) -> None:
    remember(*SAID)
    before, shown = mex("doctor").out, mex("config", "show", "--json").json["semantic"]
    mex("embed")
    assert ("5 memories have no vector" in before, "mex embed" in before) == (True, True)
    assert "[ok] Search by meaning: 5 vectors by m-1" in mex("doctor").out
    assert "Search by meaning" not in mex("doctor", MEX_SEMANTIC_ENABLED="false").out
    assert (shown["enabled"], shown["model"], shown["base_url"]) == (True, "m-1", vectors.url)
    assert KEY not in str(shown)


@pytest.mark.parametrize("cap", ["DAILY_TOKENS", "JOB_TOKENS"])
def test_vectors_of_an_endpoint_are_on_the_books_and_pass_no_budget(vectors: ModelServer, home: Path, cap: str) -> None:
    remember(*SAID)
    with worker(MEX_TEST_AT_ONCE="2", **{f"MEX_BUDGET_{cap}": "20"}):
        job = waited(mex("embed", "--async", "--json").json["job_id"])
    assert (job["state"], job["error"]["code"]) == ("failed", f"budget_{'daily' if cap.startswith('D') else 'job'}")
    assert (kept(home), len(vectors.requests())) == (2, 1)
    assert rows(home, "SELECT reason FROM queue_control WHERE scope <> 'upkeep'") == []
    assert rows(home, "SELECT purpose, model, prompt_tokens, job_id FROM llm_usage") == [
        ("embed", "m-1", 14, job["job_id"])
    ]
    assert mex("stats", "--json").json["llm_usage"]["prompt_tokens"] == 14
    assert mex("embed", "--json").json["embedded"] == 3
