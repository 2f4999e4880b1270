"""`mex compact` with a real model endpoint: what it writes, what it leaves, and that nothing is paid twice."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.memory import Confidence
from tests.support.model_server import ModelServer
from tests.support.past import add
from tests.support.program import contents, mex, opened, until, worker

DAYS = ("2025-01-10", "2025-01-20", "2025-02-10", "2025-03-10")
TEXTS = {
    "zh": ("和小林去大理骑车三天", "在大理骑车时换了轮胎", "从大理骑车回到昆明", "学会了做豆腐"),
    "en": ("Went to Porto with Alice to paint a boat", "Painted the boat in Porto", "Sold the boat", "Learned to bake"),
}
SUMMARY = {
    "zh": "和小林在大理骑车三天，换了轮胎，回到昆明",
    "en": "Went to Porto with Alice, painted the boat, sold it",
}


def remember(language: str = "zh") -> None:
    for day, text in zip(DAYS, TEXTS[language], strict=True):
        add(f"{day}T08:00:00.000Z", "leisure", text, confidence=Confidence.EXPLICIT)


def summaries(*entries: tuple[str, list[int]]) -> str:
    told = [{"content": content, "records": records, "occurred_at": None} for content, records in entries]
    return json.dumps({"summaries": told}, ensure_ascii=False)


def compact(*options: str, ok: bool = True, **environment: str) -> Any:
    return mex("compact", "--yes", *options, "--json", ok=ok, **environment)


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with opened(home / "mex.db") as db:
        return db.execute(sql).fetchall()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_old_records_become_one_that_has_all_their_sources_and_undo_puts_them_back(
    home: Path, model: ModelServer, language: str
) -> None:
    remember(language)
    before = contents()
    sources = rows(home, "SELECT count(*) FROM memory_sources")[0][0]
    model.script({"reply": summaries((SUMMARY[language], [1, 2, 3]))})
    job = compact("--lang", language).json
    assert (job["kind"], job["outcome"]) == ("compact", "committed")
    assert [one["content"] for one in job["added"]] == [SUMMARY[language]]
    assert [one["content"] for one in job["retired"]] == list(TEXTS[language][:3])
    assert contents() == sorted([SUMMARY[language], TEXTS[language][3]])
    assert rows(home, "SELECT purpose, count(*) FROM llm_usage GROUP BY 1") == [("compact", 1)]
    assert rows(home, "SELECT count(*) FROM kept_replies") == [(0,)]
    (made,) = job["added"]
    of_summary = f"SELECT count(*) FROM memory_sources WHERE memory_id = '{made['id']}'"
    assert rows(home, of_summary)[0][0] == sources * 3 // 4
    told = model.requests()[-1]
    assert told["response_format"]["json_schema"]["name"] == "summaries"
    assert [one["date"] for one in json.loads(told["messages"][1]["content"].split("\n", 1)[1])] == list(DAYS)
    mex("undo", job["job_id"])
    assert contents() == before


def test_a_summary_that_says_more_than_its_records_is_listed_and_the_originals_stay(
    home: Path, model: ModelServer
) -> None:
    remember()
    model.script({"reply": summaries(("和小林在大理骑车九天", [1, 2]))})
    job = compact().json
    assert (job["outcome"], [one["reason"] for one in job["discarded"]]) == ("all_rejected", ["summary_number"])
    assert contents() == sorted(TEXTS["zh"])


def test_an_unusable_answer_is_asked_for_once_more(home: Path, model: ModelServer) -> None:
    remember()
    model.script(
        {"reply": "Let me think.", "times": 1},
        {"reply": summaries((SUMMARY["zh"], [1, 2, 3]))},
    )
    assert compact().json["outcome"] == "committed"
    assert [len(request["messages"]) for request in model.requests()] == [2, 4]


def test_a_record_that_is_edited_while_the_model_answers_keeps_its_group_as_it_is(
    home: Path, model: ModelServer
) -> None:
    remember()
    first = next(one["id"] for one in mex("list", "--json").json if one["content"] == TEXTS["zh"][0])
    model.script({"hold": "go", "reply": summaries((SUMMARY["zh"], [1, 2, 3]))})
    with worker():
        job_id = compact("--async").json["job_id"]
        until(model.requests)
        mex("update", first, "--content", "和小林去丽江骑车三天")
        model.release("go")
        job = mex("jobs", "wait", job_id, "--timeout", "60", "--json").json
    assert [one["reason"] for one in job["discarded"]] == ["summary_original_changed"]
    assert contents() == sorted(["和小林去丽江骑车三天", *TEXTS["zh"][1:]])


@pytest.mark.parametrize("step", ["reply_kept", "memories_written"])
def test_after_kill_9_around_the_reply_it_is_paid_once(home: Path, model: ModelServer, step: str) -> None:
    remember()
    model.script({"reply": summaries((SUMMARY["zh"], [1, 2, 3]))})
    with worker(MEX_TEST_KILL_AT=step) as first:
        job_id = compact("--async").json["job_id"]
        until(lambda: first.poll() == -signal.SIGKILL)
    assert contents() == sorted(TEXTS["zh"]), "nothing is written by halves"
    with worker():
        job = mex("jobs", "wait", job_id, "--timeout", "60", "--json").json
    assert (job["outcome"], job["usage"]["reused"], len(model.requests())) == ("committed", 1, 1)
    assert contents() == sorted([SUMMARY["zh"], TEXTS["zh"][3]])


def test_a_dry_run_tells_what_would_be_sent_and_sends_nothing(home: Path, model: ModelServer) -> None:
    remember()
    shown = mex("compact", "--dry-run", "--json").json
    assert [(one["topic"], one["period"], one["records"]) for one in shown["groups"]] == [("leisure", "2025-Q1", 4)]
    assert (shown["records"], shown["calls"], shown["tokens"] > 0) == (4, 1, True)
    assert mex("compact", "--dry-run", "--topic", "work", "--json").json["groups"] == []
    assert compact("--topic", "work").json["outcome"] == "skipped"
    assert model.requests() == []


def test_what_is_asked_wrongly_is_refused(home: Path) -> None:
    assert json.loads(compact(ok=False).err)["code"] == "compact_needs_model"
    assert json.loads(compact("--older-than", "soon", ok=False).err)["code"] == "compact_bad_age"


def test_without_a_terminal_it_wants_a_yes(home: Path, model: ModelServer) -> None:
    remember()
    ran = mex("compact", "--json", ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (1, "compact_needs_yes")
    assert model.requests() == []
