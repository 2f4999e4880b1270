"""Seed §6.1 step 6 at its edges: which row a candidate meets when values are forgotten, expired, doubted or repeated."""

from pathlib import Path

import pytest

from tests.seed.ground import active, add, at, candidate, listed, one, reasons, refused, refused_add, rows, said
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, until, worker, write
from tests.support.sessions import SessionFile

LOCATION = "basic_info.location"
PAST = ("--expires", "2020-01-01")
QUIET = {"MEX_WORKER_AUTOSTART": "false"}


@pytest.mark.parametrize("action", ["new", "update", "uncertain_update"])
@pytest.mark.parametrize("state", ["forgotten", "expired"])
def test_seed_6_1_a_value_out_of_sight_is_no_existing_one(model: ModelServer, action: str, state: str) -> None:
    """不存在 → 新增: neither a forgotten nor an expired row is updated, and both stay as they are."""
    old = add("上海", LOCATION, *(PAST if state == "expired" else ()))
    if state == "forgotten":
        mex("forget", old["id"])
    before = rows("SELECT * FROM memories WHERE id = ?", old["id"])
    result = said(model, "我住在杭州", candidate(LOCATION, "杭州", "我住在杭州", action=action))
    assert (len(result["added"]), len(result["updated"])) == (1, 0)
    assert rows("SELECT * FROM memories WHERE id = ?", old["id"]) == before
    assert contents() == ["杭州"]


def test_seed_adr_11_restoring_what_gc_took_into_a_taken_slot_is_refused() -> None:
    """Product B7 holds for gc too."""
    old = add("上海", LOCATION, *PAST)
    add("杭州", LOCATION)
    mex("gc")
    refused("restore", old["id"])
    assert contents() == ["杭州"]


def test_seed_6_4_an_expired_holder_is_no_conflict(tmp_path: Path) -> None:
    """§3.1: 过期记录由查询统一过滤 — import sees a free slot."""
    add("上海", LOCATION, *PAST)
    other = str(tmp_path / "other")
    add("杭州", LOCATION, MEX_HOME=other)
    mex("export", "--output", str(tmp_path / "e.json"), MEX_HOME=other)
    mex("import", str(tmp_path / "e.json"), "--mode", "restore")
    assert contents() == ["杭州"]


@pytest.mark.parametrize("action", ["new", "update"])
def test_seed_6_1_a_many_valued_slot_is_appended_to_whatever_the_action(model: ModelServer, action: str) -> None:
    """可多条槽位：每条候选直接追加为新记录."""
    add("Haskell", "work.tech_stack")
    said(model, "我还写 Zig", candidate("work.tech_stack", "Zig", "我还写 Zig", action=action))
    assert active("work.tech_stack") == ["Haskell", "Zig"]


@pytest.mark.parametrize("action", ["new", "update"])
def test_seed_6_1_a_record_is_appended_whatever_the_action(model: ModelServer, action: str) -> None:
    """事件条目：直接追加."""
    said(model, "我把周报写完了", candidate("work", "周报写完了", "周报写完了", action=action))
    assert rows("SELECT topic, sub_topic, content FROM memories") == [("work", None, "周报写完了")]


def test_seed_7_2_an_empty_sub_topic_is_never_stored(model: ModelServer) -> None:
    """画像外记录：sub_topic 必须为 null."""
    said(model, "我把周报写完了", {**candidate("work", "周报写完了", "周报写完了"), "sub_topic": ""})
    assert one("SELECT count(*) FROM memories WHERE sub_topic = '' OR topic = ''") == 0


def test_seed_6_1_two_values_for_one_unique_slot_in_one_reply_leave_one(model: ModelServer) -> None:
    """唯一槽位只允许一条有效条目: the later statement stands, nothing is lost from history."""
    said(
        model,
        "我住在杭州。不对，上个月已经搬到苏州了。",
        candidate(LOCATION, "杭州", "我住在杭州"),
        candidate(LOCATION, "苏州", "已经搬到苏州了", action="update"),
    )
    assert active(LOCATION) == ["苏州"]


def test_product_c5_source_gone_and_unparseable_are_told_apart(model: ModelServer, tmp_path: Path) -> None:
    """Failed jobs exit 2 from wait (product H8)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    gone = mex("extract", "--async", "--file", str(session.path), "--json", **QUIET).json["job_id"]
    session.path.unlink()
    model.script({"reply": "no json"})
    assert mex("extract", "我写 Zig", ok=False, **QUIET).code == 2
    jobs = {job["job_id"]: job for job in mex("jobs", "list", "--json").json}
    failed = next(job for job_id, job in jobs.items() if job_id != gone)
    assert (failed["state"], failed["outcome"]) == ("failed", "unparseable")
    with worker():
        ended = mex("jobs", "wait", gone, "--timeout", "30", "--json", ok=False)
    assert ended.code == 2
    assert (ended.json["state"], ended.json["outcome"]) == ("failed", "source_gone")


def test_product_c1_the_background_writes_what_the_foreground_would(model: ModelServer, tmp_path: Path) -> None:
    """One pipeline: same memories, same history, same cursor, same shape of the result."""
    model.script({"reply": reply(candidate(LOCATION, "杭州", "我住在杭州"))})
    results = []
    for name in ("front", "back"):
        session = SessionFile(tmp_path / f"{name}.jsonl", name).user("我住在杭州").assistant("好")
        home = {"MEX_HOME": str(tmp_path / name)}
        settings = home | {"MEX_LLM_BASE_URL": model.url, "MEX_LLM_MODEL": "m1", "MEX_LLM_API_KEY": "k"}
        if name == "front":
            shown = mex("extract", "--file", str(session.path), "--json", **settings).json
        else:
            job = mex("extract", "--async", "--file", str(session.path), "--json", **settings, **QUIET).json["job_id"]
            with worker(**settings):
                mex("jobs", "wait", job, "--timeout", "30", **settings)
            shown = mex("jobs", "show", job, "--json", **settings).json
        results.append(shown.get("result") or shown)
    front, back = results
    for shown in results:
        assert [memory["content"] for memory in shown["added"]] == ["杭州"]
        assert {"discarded", "retired", "updated", "usage", "cursor", "turns", "inferred_count"} <= set(shown)
    assert front["turns"] == back["turns"]
    assert front["usage"] == back["usage"]
    assert set(front["added"][0]) == set(back["added"][0])


def test_product_c1_imports_run_in_the_background_too(model: ModelServer, tmp_path: Path) -> None:
    """--mode extract --async and --mode restore --async end with what the foreground would write."""
    cv = write(tmp_path / "cv.md", "# 简历", "", "现居杭州。")
    other = str(tmp_path / "other")
    add("Haskell", "work.tech_stack", MEX_HOME=other)
    mex("export", "--output", str(tmp_path / "e.json"), MEX_HOME=other)
    model.script({"reply": reply(candidate(LOCATION, "杭州", "现居杭州"))})
    jobs = [
        mex("import", str(path), "--mode", mode, "--async", "--json", **QUIET).json["job_id"]
        for path, mode in ((cv, "extract"), (tmp_path / "e.json", "restore"))
    ]
    with worker():
        mex("jobs", "wait", *jobs, "--timeout", "30")
    assert contents() == ["Haskell", "杭州"]
    assert rows("SELECT purpose FROM llm_usage") == [("import",)]


def test_product_d2_async_starts_a_worker_that_does_the_job(model: ModelServer, tmp_path: Path) -> None:
    """worker.autostart: nothing else has to be run."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"reply": reply(candidate(LOCATION, "杭州", "我住在杭州"))})
    try:
        mex("extract", "--async", "--file", str(session.path), MEX_WORKER_IDLE_EXIT="2s")
        assert until(contents) == ["杭州"]
    finally:
        mex("worker", "stop", ok=False)


def test_product_d4_a_second_request_for_a_source_joins_the_first(model: ModelServer, tmp_path: Path) -> None:
    """Many requests for one session are one job."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    first, second = (mex("extract", "--async", "--file", str(session.path), "--json", **QUIET).json for _ in range(2))
    assert first["job_id"] == second["job_id"]
    assert second["merged"]


def test_product_g10_text_forces_what_looks_like_a_path(model: ModelServer, tmp_path: Path) -> None:
    """--text."""
    path = write(tmp_path / "a.txt", "x")
    mex("extract", str(path), "--text")
    assert len(model.requests()) == 1


def test_product_c10_a_dry_run_calls_nothing(model: ModelServer) -> None:
    """Turns, tokens, calls; no job, no memory."""
    shown = mex("extract", "我住在杭州", "--dry-run").out
    assert "1" in shown
    assert model.requests() == []
    assert mex("jobs", "list", "--json").json == []


def test_product_b3_a_doubtful_source_may_be_told_with_subject_other(model: ModelServer) -> None:
    """Text without speakers counts as the user's words about the user; --subject other says otherwise."""
    model.script({"reply": reply(candidate(LOCATION, "杭州", "住在杭州"))})
    mex("extract", "住在杭州", "--subject", "other")
    assert contents() == []


def test_seed_7_2_people_of_the_family_are_not_the_user(model: ModelServer) -> None:
    """Product C11: only `about: user` may fill the user's own slots."""
    result = said(model, "我同事住在杭州", candidate(LOCATION, "杭州", "我同事住在杭州", about="other"))
    assert active(LOCATION) == []
    assert reasons(result) == ["杭州"]
    said(model, "要是我住在海边就好了", candidate(LOCATION, "海边", "我住在海边", about="hypothetical"))
    assert active(LOCATION) == []


def test_product_c11_replaces_takes_the_old_of_a_many_valued_slot_away(model: ModelServer) -> None:
    """`replaces`: content of the active value it supersedes."""
    add("每天喝三杯咖啡", "health.diet")
    said(
        model,
        "咖啡改成一天一杯了",
        candidate("health.diet", "一天一杯咖啡", "咖啡改成一天一杯了", replaces="每天喝三杯咖啡"),
    )
    assert listed(*at("health.diet")) == ["一天一杯咖啡"]


def test_seed_3_5_an_extraction_never_adds_beside_a_value_a_person_added_meanwhile(model: ModelServer) -> None:
    """Product C3: the slots are read again inside the commit."""
    said(model, "随便说说")
    refused_add(" ", LOCATION)
    add("上海", LOCATION)
    said(model, "我住在杭州", candidate(LOCATION, "杭州", "我住在杭州"))
    assert len(active(LOCATION)) == 1
