"""Seed §6.1: the eight steps of an extraction, through a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import (
    active,
    add,
    candidate,
    events,
    get,
    one,
    reasons,
    refused,
    rows,
    said,
    system_and_user,
)
from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, memories, mex, write
from tests.support.sessions import SessionFile

HANGZHOU = candidate("basic_info.location", "杭州", "我住在杭州")


@pytest.mark.parametrize("way", ["text", "stdin", "file", "claude"])
def test_seed_6_1_step_1_reads_text_file_standard_input_and_sessions(
    model: ModelServer, tmp_path: Path, way: str
) -> None:
    """读入对话文本: 纯文本文件 / 标准输入 / --from 指定的会话文件."""
    model.script({"reply": reply(HANGZHOU)})
    if way == "text":
        mex("extract", "我住在杭州")
    elif way == "stdin":
        mex("extract", "-", stdin="我住在杭州")
    elif way == "file":
        mex("extract", "--file", str(write(tmp_path / "a.txt", "用户：我住在杭州", "助手：好")))
    else:
        session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
        mex("extract", "--from", "claude", "--file", str(session.path))
    assert contents() == ["杭州"]
    (request,) = model.requests()
    assert any("我住在杭州" in turn["text"] for turn in turns(request))


def test_seed_6_1_step_2_skips_what_was_processed(model: ModelServer, tmp_path: Path) -> None:
    """只保留新增对话."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"when": "绍兴", "reply": reply()}, {"reply": reply(HANGZHOU)})
    mex("extract", "--from", "claude", "--file", str(session.path))
    session.user("我老家在绍兴")
    mex("extract", "--from", "claude", "--file", str(session.path))
    assert model.asked("我住在杭州") == 1
    assert model.asked("绍兴") == 1


def test_seed_6_1_step_3_the_model_is_told_what_is_known(model: ModelServer) -> None:
    """加载相关现有画像条目，作为"已知事实"; what is forgotten or expired is not known."""
    add("上海的旧地址", "basic_info.location")
    add("Haskell", "work.tech_stack")
    gone = add("喜欢登山", "leisure.hobbies")
    mex("forget", gone["id"])
    add("过期的公司", "work.company", "--expires", "2020-01-01")
    said(model, "我住在杭州，写 Haskell")
    system, user = system_and_user(model.requests()[0])
    assert "上海的旧地址" in system
    assert "Haskell" in system
    assert "喜欢登山" not in system + user
    assert "过期的公司" not in system + user


@pytest.mark.parametrize(
    "bad",
    [
        candidate("job.company", "远光", "远光"),
        candidate("work.employer", "远光", "远光"),
        {**candidate(None, "远光", "远光"), "sub_topic": "company"},
        candidate("job", "远光", "远光"),
        candidate("work.company", "  ", "远光"),
        {**candidate("work.company", "远光", "远光"), "content": None},
        candidate("work.company", "远光", "远光", confidence="confirmed"),
        candidate("work.company", "远光", "远光", action="delete"),
        candidate("work.experience", "在远光工作", "远光"),
    ],
    ids=["topic", "slot", "no_topic", "record_topic", "blank", "null", "confirmed", "action", "structure"],
)
def test_seed_6_1_step_5_a_candidate_against_the_rules_is_dropped_and_told(
    model: ModelServer, bad: dict[str, Any]
) -> None:
    """不合规的丢弃并在输出中说明; the good one beside it is written (§7.3)."""
    result = said(model, "我住在杭州，在远光工作", HANGZHOU | {"evidence": "我住在杭州"}, bad)
    assert contents() == ["杭州"]
    assert len(result["discarded"]) == 1
    assert result["discarded"][0]["reason"]


def test_seed_6_1_step_5_a_missing_action_is_new(model: ModelServer) -> None:
    """缺失默认 new."""
    bare = {**HANGZHOU, "is_ai_inferred": False, "confidence": "explicit"}
    model.script({"reply": json.dumps({"memories": [bare]})})
    mex("extract", "我住在杭州")
    assert contents() == ["杭州"]


def test_seed_6_1_step_6_an_occupied_unique_slot_is_updated_and_its_old_value_goes_to_history(
    model: ModelServer,
) -> None:
    """槽位已存在 → 更新内容，旧值写入 history; action=update keeps the model's confidence."""
    first = said(model, "我住在杭州", HANGZHOU)["added"][0]
    result = said(
        model,
        "我已经搬到苏州了",
        candidate("basic_info.location", "苏州", "搬到苏州了", action="update", confidence="inferred"),
    )
    assert active("basic_info.location") == ["苏州"]
    assert rows("SELECT id, confidence FROM memories") == [(first["id"], "inferred")]
    assert rows("SELECT old_content, new_content, actor FROM history WHERE event = 'update'") == [
        ("杭州", "苏州", "ai")
    ]
    assert (len(result["added"]), len(result["updated"])) == (0, 1)


def test_seed_6_1_step_6_an_update_of_an_empty_slot_adds(model: ModelServer) -> None:
    """不存在 → 新增."""
    result = said(model, "我已经搬到苏州了", candidate("basic_info.location", "苏州", "搬到苏州了", action="update"))
    assert (len(result["added"]), len(result["updated"])) == (1, 0)
    assert active("basic_info.location") == ["苏州"]


@pytest.mark.parametrize("occupied", [True, False], ids=["occupied", "empty"])
def test_seed_6_1_step_6_an_uncertain_update_is_forced_into_review(model: ModelServer, occupied: bool) -> None:
    """强制置信度 uncertain 且置 is_ai_inferred=true（进入 mex review）, whatever the model said."""
    if occupied:
        said(model, "我住在杭州", HANGZHOU)
    doubt = candidate(
        "basic_info.location",
        "深圳",
        "说不定就长住深圳了",
        action="uncertain_update",
        confidence="explicit",
        is_ai_inferred=False,
    )
    result = said(model, "说不定就长住深圳了", doubt)
    assert active("basic_info.location") == ["深圳"]
    assert rows("SELECT confidence, is_ai_inferred FROM memories") == [("uncertain", 1)]
    assert [memory["content"] for memory in mex("review", "list", "--json").json] == ["深圳"]
    assert result["inferred_count"] == 1
    assert mex("stats", "--json").json["pending_review"] == 1


def test_seed_6_1_step_6_many_valued_candidates_are_appended(model: ModelServer) -> None:
    """每条候选直接追加为新记录; equal ones are skipped and counted."""
    add("Haskell", "work.tech_stack")
    result = said(
        model,
        "我会 Haskell、Elixir 和 Julia",
        *(candidate("work.tech_stack", name) for name in ("Haskell", "Elixir", "Julia", "Elixir")),
    )
    assert active("work.tech_stack") == ["Haskell", "Elixir", "Julia"]
    assert sorted(reasons(result)) == ["Elixir", "Haskell"]


def test_seed_6_1_step_6_records_are_appended(model: ModelServer) -> None:
    """事件条目：直接追加."""
    record = candidate("finance", "基金下跌 3%", "基金下跌 3%")
    said(model, "我的基金下跌 3%", record)
    said(model, "又说一遍，我的基金下跌 3%，真烦", record)
    assert contents() == ["基金下跌 3%", "基金下跌 3%"]


def test_seed_6_1_step_7_the_position_moves_with_the_writing(model: ModelServer, tmp_path: Path) -> None:
    """更新 extraction_state 的处理位置（同事务）: path, position, time."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"reply": reply(HANGZHOU)})
    mex("extract", "--from", "claude", "--file", str(session.path))
    ((source, position, at),) = rows("SELECT source_file, last_position, last_extracted_at FROM extraction_state")
    assert source == str(session.path.resolve())
    assert position > 0
    assert at.endswith("Z")


def test_seed_6_1_step_8_the_summary_counts_and_gives_reasons_and_usage(model: ModelServer) -> None:
    """新增 N 条、更新 M 条、丢弃 K 条（附原因），X 条 AI 推断; 用量 (product H9)."""
    said(model, "我住在杭州", HANGZHOU)
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    replies = reply(
        candidate("work.company", "远光软件"),
        candidate("basic_info.location", "苏州", "搬到苏州了", action="update"),
        guess,
        candidate("work.employer", "远光"),
    )
    model.script({"reply": replies})
    text = "我在远光软件上班，搬到苏州了，老家冬天冷"
    result = mex("extract", text, "--json").json
    assert result["state"] == "succeeded"
    assert result["outcome"] == "committed"
    assert sorted(memory["content"] for memory in result["added"]) == ["北方", "远光软件"]
    assert [(pair["before"]["content"], pair["after"]["content"]) for pair in result["updated"]] == [("杭州", "苏州")]
    assert [entry["content"] for entry in result["discarded"]] == ["远光"]
    assert result["inferred_count"] == 1
    assert (result["usage"]["prompt_tokens"], result["usage"]["completion_tokens"]) == (100, 20)
    assert result["usage"]["model"] == "m1"
    assert {"job_id", "retired"} <= set(result)
    assert {"calls", "reused"} <= set(result["usage"])
    assert set(result["cursor"]) == {"from", "to"}
    assert {"user", "assistant", "dropped"} <= set(result["turns"])


def test_seed_6_1_step_8_in_words_the_summary_names_what_was_written(model: ModelServer) -> None:
    """附原因，其中 X 条 AI 推断可用 mex review 查看；附本次 LLM 用量."""
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    model.script({"reply": reply(HANGZHOU, guess, candidate("work.employer", "远光", "在远光"))})
    out = mex("--lang", "zh", "extract", "我住在杭州，老家冬天冷，在远光上班").out
    for words in ("杭州", "employer", "mex review", "100", "20"):
        assert words in out


def test_seed_6_1_the_result_is_the_jobs_result(model: ModelServer) -> None:
    """Product C1, H9: the foreground leaves the same job row, with the same shape."""
    result = said(model, "我住在杭州", HANGZHOU)
    job = mex("jobs", "show", result["job_id"], "--json").json
    assert job["job_id"] == result["job_id"]
    assert (job["state"], job["outcome"]) == ("succeeded", "committed")
    shown = job.get("result") or job
    for key in ("added", "updated", "retired", "discarded"):
        assert shown[key] == result[key]


@pytest.mark.parametrize(
    ("candidates", "outcome"),
    [
        ((), "nothing_to_remember"),
        ((candidate("work.employer", "远光", "在远光"),), "all_rejected"),
        ((HANGZHOU,), "committed"),
    ],
    ids=["nothing", "rejected", "committed"],
)
def test_product_c5_outcomes_are_told_apart(
    model: ModelServer, candidates: tuple[dict[str, Any], ...], outcome: str
) -> None:
    """Silent zero does not exist; all of them exit 0 (product H8)."""
    result = said(model, "我住在杭州，在远光上班", *candidates)
    assert (result["state"], result["outcome"]) == ("succeeded", outcome)


def test_product_c5_a_second_run_is_skipped_with_a_reason(model: ModelServer, tmp_path: Path) -> None:
    """skipped (with reason); no call."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    for _ in range(2):
        result = mex("extract", "--from", "claude", "--file", str(session.path), "--json").json
    assert result["outcome"] == "skipped"
    assert result["reason"]
    assert len(model.requests()) == 1


def test_seed_6_1_text_and_file_exclude_each_other(tmp_path: Path) -> None:
    """位置参数永远是文本，与 --file 二选一 (§8.2); a path given as text is refused (product G10)."""
    path = write(tmp_path / "a.txt", "我住在杭州")
    refused("extract", "我住在杭州", "--file", str(path))
    refused("extract")
    told = refused("extract", str(path)).err
    assert "--file" in told
    assert contents() == []


def test_seed_6_1_empty_text_is_no_success_without_a_word() -> None:
    """Nothing was said: refused, or told as skipped; never a call, never a memory."""
    ran = mex("extract", "   ", ok=False)
    assert ran.code in (0, 1)
    assert (ran.out + ran.err).strip()
    assert memories() == []


def test_product_c6_a_weaker_word_over_a_confirmed_value_goes_to_review(model: ModelServer) -> None:
    """Only a quote verified in a user turn applies as said; the profile shows the earlier value beside it."""
    memory = add("上海", "basic_info.location")
    said(model, "最近老往深圳跑", candidate("basic_info.location", "深圳", "我搬到深圳了", action="update"))
    assert rows("SELECT content, confidence, is_ai_inferred FROM memories") == [("深圳", "uncertain", 1)]
    profile = mex("--lang", "zh", "profile").out
    assert "深圳" in profile
    assert "上海" in profile
    said(model, "我已经搬到苏州了", candidate("basic_info.location", "苏州", "我已经搬到苏州了", action="update"))
    assert rows("SELECT content, confidence, is_ai_inferred FROM memories") == [("苏州", "explicit", 0)]
    assert events(memory["id"]) == ["add", "update", "update"]


def test_product_c9_without_a_model_the_rules_extract() -> None:
    """The embedded default: what the user said in so many words, explicit, with evidence; and that a model finds more."""
    ran = mex("extract", "我叫林晓舟。我对芒果过敏。")
    assert "林晓舟" in contents()
    assert set(rows("SELECT confidence, is_ai_inferred FROM memories")) == {("explicit", 0)}
    assert one("SELECT count(*) FROM memories WHERE evidence IS NULL") == 0
    assert one("SELECT count(*) FROM llm_usage") == 0
    assert "mex config llm" in ran.out + ran.err


def test_product_d2_async_returns_a_job_and_no_memory_yet(model: ModelServer, tmp_path: Path) -> None:
    """{job_id, state, merged, worker}, exit 0."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    ran = mex("extract", "--async", "--file", str(session.path), "--json", MEX_WORKER_AUTOSTART="false")
    assert {"job_id", "state", "merged", "worker"} <= set(ran.json)
    assert ran.json["state"] == "queued"
    assert contents() == []
    plain = mex("extract", "--async", "--file", str(session.path), MEX_WORKER_AUTOSTART="false")
    assert ran.json["job_id"] in plain.out
    assert len(mex("jobs", "list", "--json").json) == 1


def test_product_d3_wait_tells_unknown_cancelled_and_late(model: ModelServer, tmp_path: Path) -> None:
    """1 for an unknown or cancelled job, 2 when the time is up (product H8)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    job = mex("extract", "--async", "--file", str(session.path), "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
    quiet = {"MEX_WORKER_AUTOSTART": "false"}
    assert mex("jobs", "wait", job, "--timeout", "1", ok=False, **quiet).code == 2
    mex("jobs", "cancel", job)
    assert mex("jobs", "wait", job, ok=False, **quiet).code == 1
    assert mex("jobs", "wait", "00000000", ok=False, **quiet).code == 1


def test_seed_6_1_an_extracted_memory_can_be_traced(model: ModelServer) -> None:
    """evidence 始终存储，供人工审查回溯来源 (product B3)."""
    memory = said(model, "我住在杭州，西湖边上", HANGZHOU)["added"][0]
    shown = get(memory["id"])
    assert "我住在杭州" in shown["evidence"]
    (source,) = shown["sources"]
    assert source["verified"] is True
    assert source["quote"] == "我住在杭州"
