"""What a compaction must not lose, invent, repeat or keep: summaries that are believed too easily, and what stays of them."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.compact import Group, Proposed, condensed, groups, judge
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.errors import InvalidInput
from mex_pipeline.llm.summaries import parse_summaries
from mex_pipeline.services.compact import cutoff
from tests.support.memories import memory
from tests.support.model_server import ModelServer
from tests.support.past import add
from tests.support.program import contents, mex, opened, until, worker

DAYS = ("2025-01-03", "2025-02-10", "2025-03-12")
ENGLISH = (
    "Went running with Anna along the river Isar in the morning, 5 km, felt good afterwards",
    "Went running with Anna in the English Garden, 7 km, it rained the whole time",
    "Took the cat Miso to the vet because of a swollen paw, got an ointment for it",
)
CHINESE = (
    "和安娜沿着伊萨尔河晨跑，跑了5公里，感觉很好",
    "和安娜在英国花园跑步，跑了7公里，一路下雨",
    "带猫咪味噌去看兽医，爪子肿了，开了药膏",
)
RUNNING = {
    "en": "Went running with Anna along the river Isar and in the English Garden",
    "zh": "和安娜沿着伊萨尔河晨跑，又在英国花园跑步",
}


def record(day: str, content: str, **given: Any) -> Memory:
    at = f"{day}T08:00:00Z"
    return memory(content, "leisure", **({"valid_from": at, "created_at": at} | given))


def group(*told: str) -> Group:
    records = [record(day, one) for day, one in zip(DAYS, told, strict=True)]
    now = "2026-06-01T00:00:00Z"
    (found,) = groups(records, before="2026-01-01", now=now, limit=6000, day_of=lambda moment: moment[:10])
    return found


def flaw(content: str, numbers: tuple[int, ...], told: tuple[str, ...]) -> str | None:
    accepted, discarded = judge([Proposed(content, numbers)], group(*told), holds_secret=lambda _: False)
    return None if accepted else str(discarded[0].reason)


@pytest.mark.parametrize(("language", "told"), [("en", ENGLISH), ("zh", CHINESE)])
def test_a_record_that_is_named_but_not_told_is_not_replaced(language: str, told: tuple[str, ...]) -> None:
    whole = group(*told)
    (summary,), _ = judge([Proposed(RUNNING[language], (1, 2, 3))], whole, holds_secret=lambda _: False)
    assert summary.originals == whole.records[:2]
    assert flaw(told[0][:-6], (1, 3), told) == "summary_too_few"


@pytest.mark.parametrize(
    ("content", "numbers", "reason"),
    [
        ("和安娜沿伊萨尔河、在英国花园跑步，分别5公里和7公里", (1, 2), None),
        ("2025年1月和2月和安娜沿着伊萨尔河晨跑，后来在英国花园跑步", (1, 2), None),
        ("和安娜、张伟沿着伊萨尔河晨跑，在英国花园跑步", (1, 2), "summary_name"),
        ("和安娜沿着伊萨尔河晨跑，在上海英国花园跑步", (1, 2), "summary_name"),
        ("上周和安娜沿着伊萨尔河晨跑，在英国花园跑步", (1, 2), "summary_date"),
        ("2月3日和安娜沿着伊萨尔河晨跑，在英国花园跑步", (1, 2), "summary_number"),
        ("和安娜沿着伊萨尔河晨跑，在英国花园跑步，跑了12公里", (1, 2, 3), "summary_number"),
    ],
)
def test_chinese_names_days_and_distances_are_those_of_the_records(
    content: str, numbers: tuple[int, ...], reason: str | None
) -> None:
    assert flaw(content, numbers, CHINESE) == reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Went running with Anna along the Isar (5 km) and in the English Garden (7 km)", None),
        ("Went running with Anna along the river Isar and in the English Garden last week", "summary_date"),
        ("Went running twice with Anna along the river Isar and in the English Garden", "summary_number"),
        ("Went running with Anna along the Isar on 2025-02-03 and in the English Garden", "summary_number"),
    ],
)
def test_english_counts_and_days_are_those_of_the_records(content: str, reason: str | None) -> None:
    assert flaw(content, (1, 2), ENGLISH) == reason


def test_a_summary_was_learned_when_its_newest_original_was() -> None:
    whole = group(*ENGLISH)
    (summary,), _ = judge([Proposed(RUNNING["en"], (1, 2))], whole, holds_secret=lambda _: False)
    made = condensed(summary, now="2026-06-01T00:00:00Z", new_id="s")
    assert (made.created_at, made.updated_at) == ("2025-02-10T08:00:00Z", "2026-06-01T00:00:00Z")


def test_a_record_of_the_day_itself_is_not_old_enough_whatever_its_precision() -> None:
    plain = [record(day, one) for day, one in zip(DAYS, ENGLISH, strict=True)]
    for at, size in (("2025-03-11", 0), ("2025-03-12", 0), ("2025-03-13", 1), ("2025-03", 0), ("2025", 0)):
        found = groups(plain, before=at, now="2026-06-01T00:00:00Z", limit=6000, day_of=lambda moment: moment[:10])
        assert len(found) == size, at
    vague = [one._replace(occurred_at="2025-03") for one in plain]
    assert groups(vague, before="2025-03-31", now="2026-06-01T00:00:00Z", limit=6000, day_of=lambda m: m[:10]) == ()


@pytest.mark.parametrize(
    ("older_than", "before"),
    [
        ("6m", "2026-02-28"),
        ("1m", "2026-07-31"),
        ("8m", "2025-12-31"),
        ("1y", "2025-08-31"),
        ("2w", "2026-08-17"),
        ("1d", "2026-08-30"),
    ],
)
def test_months_are_those_of_the_calendar(older_than: str, before: str) -> None:
    assert cutoff(date(2026, 8, 31), older_than) == before


@pytest.mark.parametrize("older_than", ["", "6", "0m", "m", "6M", "9999y", "-6m", "6 m", "half"])
def test_what_is_no_age_is_refused(older_than: str) -> None:
    with pytest.raises(InvalidInput, match="compact_bad_age"):
        cutoff(date(2026, 8, 31), older_than)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"note": "two", "summaries": [{"content": "a b", "records": [1, 2]}]}', (Proposed("a b", (1, 2)),)),
        ('So:\n{"note": "two", "summaries": [{"content": "a b", "records": [1, 2]}]}', (Proposed("a b", (1, 2)),)),
        ('{"summaries": [{"content": "a </think> b", "records": [1, 2]}]}', (Proposed("a </think> b", (1, 2)),)),
        ('{"summaries": [{"content": "a", "records": [1.0, 2.7, true, "3"]}]}', (Proposed("a", (1, 0, 0, 3)),)),
    ],
)
def test_a_reply_is_read_for_what_it_says(text: str, read: tuple[Proposed, ...]) -> None:
    assert parse_summaries(text) == read


def remember(topic: str = "leisure", year: int = 2025) -> None:
    for day, text in zip(DAYS, ENGLISH, strict=True):
        at = f"{day.replace('2025', str(year))}T08:00:00Z"
        add(at, topic, text, confidence=Confidence.EXPLICIT)


def reply(*numbers: int) -> str:
    return json.dumps({"summaries": [{"content": RUNNING["en"], "records": numbers or (1, 2), "occurred_at": None}]})


def test_a_summary_is_no_news_and_is_not_condensed_again(home: Path, model: ModelServer) -> None:
    for year in (2023, 2023, 2023):
        remember(year=year)
    model.script({"reply": json.dumps({"summaries": [
        {"content": RUNNING["en"], "records": pair, "occurred_at": None} for pair in ([1, 4], [2, 5], [3, 6])
    ]})})  # fmt: skip
    assert len(mex("compact", "--yes", "--json").json["added"]) == 3
    assert RUNNING["en"] not in mex("profile").out
    mex("forget", "--keyword", "vet")
    assert contents() == [RUNNING["en"]] * 3
    assert mex("compact", "--dry-run", "--json").json["groups"] == []


def test_a_group_that_is_not_taken_stays_and_the_others_are_written(home: Path, model: ModelServer) -> None:
    remember("family")
    remember("leisure")
    model.script({"reply": "", "finish": "content_filter", "times": 1}, {"reply": reply()})
    job = mex("compact", "--yes", "--json").json
    assert (job["outcome"], [one["topic"] for one in job["added"]]) == ("committed", ["leisure"])
    facts = {"topic": "family", "period": "2025-Q1"}
    assert job["discarded"] == [{"content": "", "reason": "summary_not_taken", "facts": facts}]
    assert len(contents()) == 5


def test_when_no_group_is_taken_the_job_fails_and_nothing_changes(home: Path, model: ModelServer) -> None:
    remember()
    model.script({"reply": "", "finish": "content_filter"})
    ran = mex("compact", "--yes", "--json", ok=False)
    assert (ran.code, ran.json["state"], ran.json["error"]["code"]) == (2, "failed", "llm_refusal")
    assert contents() == sorted(ENGLISH)


def test_what_another_topic_has_paid_for_is_kept(home: Path, model: ModelServer) -> None:
    remember("family", 2023)
    remember("family", 2024)
    remember("leisure")
    model.script({"reply": reply(), "times": 1}, {"status": 500, "body": "down", "times": 1}, {"reply": reply()})
    quick = {"MEX_LLM_MAX_RETRIES": "0"}
    failed = mex("compact", "--yes", "--topic", "family", "--json", ok=False, **quick).json
    assert (failed["state"], failed["usage"]["calls"]) == ("failed", 1)
    assert mex("compact", "--yes", "--topic", "leisure", "--json").json["outcome"] == "committed"
    asked = len(model.requests())
    mex("jobs", "retry", failed["job_id"], MEX_WORKER_AUTOSTART="false")
    with worker():
        done = mex("jobs", "wait", failed["job_id"], "--timeout", "60", "--json").json
    assert (done["outcome"], done["usage"]["reused"], len(model.requests()) - asked) == ("committed", 1, 1)


def test_a_summary_that_is_forgotten_for_good_takes_its_originals_along(home: Path, model: ModelServer) -> None:
    remember()
    model.script({"reply": reply()})
    (made,) = mex("compact", "--yes", "--json").json["added"]
    meant = mex("forget", "--hard", made["id"], "--dry-run", "--json").json
    assert sorted(one["content"] for one in meant) == sorted([RUNNING["en"], *ENGLISH[:2]])
    mex("forget", "--hard", made["id"], "--yes")
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT content FROM memories").fetchall() == [(ENGLISH[2],)]
        assert db.execute("SELECT count(*) FROM history WHERE old_content LIKE '%Anna%'").fetchall() == [(0,)]


def test_of_a_record_forgotten_for_good_while_the_model_answers_nothing_is_told(home: Path, model: ModelServer) -> None:
    remember()
    first = next(one["id"] for one in mex("list", "--json").json if one["content"] == ENGLISH[0])
    model.script({"hold": "go", "reply": reply()})
    with worker():
        job_id = mex("compact", "--yes", "--async", "--json").json["job_id"]
        until(model.requests)
        mex("forget", "--hard", first, "--yes")
        model.release("go")
        job = mex("jobs", "wait", job_id, "--timeout", "60", "--json").json
    assert job["discarded"] == [{"content": "", "reason": "summary_original_changed"}]
    assert contents() == sorted(ENGLISH[1:])


def test_nor_by_a_summary_that_is_rejected(home: Path, model: ModelServer) -> None:
    remember()
    first = next(one["id"] for one in mex("list", "--json").json if one["content"] == ENGLISH[0])
    model.script({"hold": "go", "reply": reply().replace("with Anna", "with Anna 42 times")})
    with worker():
        job_id = mex("compact", "--yes", "--async", "--json").json["job_id"]
        until(model.requests)
        mex("forget", "--hard", first, "--yes")
        model.release("go")
        job = mex("jobs", "wait", job_id, "--timeout", "60", "--json").json
    assert job["discarded"] == [{"content": "", "reason": "summary_number"}]


def test_a_topic_that_nobody_has_declared_is_refused(home: Path, model: ModelServer) -> None:
    ran = mex("compact", "--dry-run", "--topic", "liesure", "--json", ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (1, "unknown_topic")
