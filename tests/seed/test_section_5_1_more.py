"""Seed §5.1: what the other commands promise: review, gc, clear, backup, history search, and the languages."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.seed.ground import (
    add,
    candidate,
    change,
    database,
    found,
    home,
    listed,
    one,
    refused,
    rows,
    said,
    write_lock,
)
from tests.support.model_server import ModelServer, running
from tests.support.program import contents, mex
from tests.support.sessions import SessionFile


@pytest.fixture
def guesses(model: ModelServer) -> ModelServer:
    """Two inferred memories of different tiers."""
    said(
        model,
        "老家冬天冷，钱放着安稳",
        candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred"),
        candidate("values.risk_preference", "稳健", "钱放着安稳", is_ai_inferred=True, confidence="speculated"),
    )
    return model


def test_product_g16_review_list_has_other_orders(guesses: ModelServer) -> None:
    """--sort."""
    help_text = mex("review", "list", "--help").out
    assert "--sort" in help_text
    assert len(mex("review", "list", "--sort", "confidence", "--json").json) == 2
    refused("review", "list", "--sort", "nosuch")


def test_seed_6_3_the_list_names_the_source(model: ModelServer, tmp_path: Path) -> None:
    """显示置信度、证据与来源."""
    session = SessionFile(tmp_path / "talk-7.jsonl").user("老家冬天冷").assistant("好")
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    model.script({"reply": json.dumps({"memories": [{"action": "new", **guess}]}, ensure_ascii=False)})
    mex("extract", "--from", "claude", "--file", str(session.path))
    out = mex("review", "list").out
    assert "claude" in out.lower() or "talk-7" in out
    assert "老家冬天冷" in out


def test_seed_adr_11_gc_tells_what_it_takes() -> None:
    """--dry-run lists, gc reports; nothing to do is no error."""
    memory = add("限时优惠", None, "--expires", "2020-01-01")
    for command in (("gc", "--dry-run"), ("gc",)):
        out = mex(*command).out
        assert memory["id"][:8] in out or "限时优惠" in out
    assert mex("gc").out.strip()
    assert mex("gc", "--json").json is not None


def test_product_h13_clear_asks_backs_up_and_can_be_taken_back() -> None:
    """Without --yes and without a terminal nothing is cleared; with it a backup is made first."""
    add("远光软件", "work.company")
    assert mex("clear", ok=False).code == 1
    assert contents() == ["远光软件"]
    mex("clear", "--yes")
    assert contents() == []
    assert one("SELECT count(*) FROM history") == 0
    (backup,) = [path for path in (home() / "backups").iterdir() if path.suffix == ".json"]
    mex("import", str(backup), "--mode", "restore")
    assert contents() == ["远光软件"]


def test_product_d6_backup_works_while_another_program_writes(tmp_path: Path) -> None:
    """mex backup FILE at any time; the copy is whole."""
    add("远光软件", "work.company")
    target = tmp_path / "copy.db"
    with write_lock():
        mex("backup", str(target))
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(target, other / "mex.db")
    assert [memory["content"] for memory in mex("list", "--json", MEX_HOME=str(other)).json] == ["远光软件"]


def test_seed_12_overwritten_values_can_be_searched() -> None:
    """Roadmap 3, product E2: mex search --history; by default they are not found."""
    memory = add("曾住上海", "basic_info.location")
    mex("update", memory["id"], "--content", "杭州")
    assert found("--keyword", "上海") == []
    out = mex("search", "--keyword", "上海", "--history").out
    assert "上海" in out
    assert memory["id"][:8] in out


def test_product_e2_the_profile_of_a_day_and_what_changed_since() -> None:
    """--as-of DATE; mex diff --since DATE."""
    memory = add("上海", "basic_info.location", "--since", "2026-01-01")
    mex("update", memory["id"], "--content", "杭州")
    assert "上海" in mex("profile", "--as-of", "2026-02-01").out
    assert "杭州" in mex("profile").out
    out = mex("diff", "--since", "1d").out
    assert "上海" in out or "杭州" in out


def test_seed_5_1_forget_json_lists_what_was_hit() -> None:
    """§5.2: for programs too."""
    ids = [add(name, "work.tech_stack")["id"] for name in ("Python", "Go")]
    preview = mex("forget", "--topic", "work", "--dry-run", "--json").out
    done = mex("forget", "--topic", "work", "--json").out
    for memory_id in ids:
        assert memory_id in preview
        assert memory_id in done


def test_seed_5_1_forget_with_a_reason_over_a_batch() -> None:
    """--reason for each."""
    for name in ("Python", "Go"):
        add(name, "work.tech_stack")
    mex("forget", "--topic", "work", "--reason", "改行了")
    assert rows("SELECT DISTINCT forgotten_reason FROM memories") == [("改行了",)]
    assert one("SELECT count(*) FROM history WHERE event = 'forget'") == 2


def test_seed_5_1_forgetting_by_condition_leaves_what_is_out_of_sight_alone() -> None:
    """What is already forgotten keeps its reason and gets no second line."""
    gone = add("Python", "work.tech_stack")
    mex("forget", gone["id"], "--reason", "第一次")
    add("Go", "work.tech_stack")
    mex("forget", "--topic", "work", "--reason", "第二次")
    assert dict(rows("SELECT content, forgotten_reason FROM memories")) == {"Python": "第一次", "Go": "第二次"}


def test_seed_5_1_an_empty_condition_is_no_condition() -> None:
    """A script's unset variable must not forget everything."""
    for name in ("Python", "Go"):
        add(name, "work.tech_stack")
    for empty in (("--keyword", ""), ("--topic", ""), ("--since", ""), ("--topic", "work", "--since", "")):
        ran = mex("forget", *empty, ok=False)
        assert ran.code == 1, empty
    assert len(contents()) == 2


def test_seed_5_1_hard_by_condition_takes_all_that_match() -> None:
    """--hard with conditions and --yes."""
    for name in ("Python", "Go"):
        add(name, "work.tech_stack")
    add("远光软件", "work.company")
    assert mex("forget", "--topic", "work", "--sub-topic", "tech_stack", "--hard", ok=False).code == 1
    mex("forget", "--topic", "work", "--sub-topic", "tech_stack", "--hard", "--yes")
    assert rows("SELECT content FROM memories") == [("远光软件",)]
    assert "Python" not in json.dumps(rows("SELECT * FROM history"))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_product_a4_messages_come_in_both_languages(lang: str) -> None:
    """Outcome, errors and help differ by language; ids and contents do not."""
    memory = add("远光软件", "work.company")
    told = mex("--lang", lang, "get", "00000000", ok=False).err
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told) == (lang == "zh")
    out = mex("--lang", lang, "update", memory["id"], "--confidence", "explicit").out
    assert memory["id"] in out
    helped = mex("add", "--help", "--lang", lang).out
    assert any("\u4e00" <= letter <= "\u9fff" for letter in helped) == (lang == "zh")


def test_seed_5_1_paging_goes_on_where_it_stopped() -> None:
    """Every memory once over all pages."""
    for number in range(7):
        add(f"第{number}条")
    seen = [content for offset in range(0, 9, 3) for content in listed("--limit", "3", "--offset", str(offset))]
    assert seen == [f"第{number}条" for number in reversed(range(7))]


def test_seed_5_1_search_reads_forgotten_ones_only_when_told() -> None:
    """--include-forgotten, expired ones too."""
    gone = add("远光软件", "work.company")
    mex("forget", gone["id"])
    add("远光年会", None, "--expires", "2020-01-01")
    assert found("--keyword", "远光") == []
    assert sorted(found("--keyword", "远光", "--include-forgotten")) == ["远光年会", "远光软件"]


def test_seed_adr_3_structured_contents_are_found_by_their_values() -> None:
    """A value of a field is a substring of the content."""
    add('{"start": "2019", "end": "2023", "company": "星辰软件"}', "work.experience")
    assert len(found("--keyword", "星辰")) == 1


def test_seed_9_the_queue_file_holds_nothing_of_value(model: ModelServer, tmp_path: Path) -> None:
    """Product A2: queue.db is disposable."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    mex("extract", "--async", "--file", str(session.path), MEX_WORKER_AUTOSTART="false")
    for path in home().glob("queue.db*"):
        path.unlink()
    assert len(mex("jobs", "list", "--json").json) == 1
    assert database().is_file()


def test_seed_6_2_old_records_leave_the_profile_but_not_the_search() -> None:
    """画像外记录按时间窗口检索."""
    add("很久以前的事")
    change("UPDATE memories SET created_at = '2026-01-01T00:00:00Z', updated_at = '2026-01-01T00:00:00Z'")
    change("UPDATE memories SET valid_from = '2026-01-01T00:00:00Z', last_seen_at = '2026-01-01T00:00:00Z'")
    assert "很久以前" not in mex("profile").out
    assert found("--keyword", "很久以前") == ["很久以前的事"]
    assert found("--since", "2025-12-31", "--until", "2026-01-02") == ["很久以前的事"]


@pytest.mark.parametrize("name", ["config.yaml", "schema.yaml"])
def test_product_a5_an_unreadable_file_is_one_clear_error(name: str) -> None:
    """A folder in its place: exit 1 or 2, the file named, no traceback."""
    mex("init")
    (home() / name).unlink()
    (home() / name).mkdir()
    failed = mex("add", "--topic", "work", "--content", "x", ok=False)
    assert failed.code in (1, 2)
    assert name in failed.err


def test_product_a5_a_wrong_value_in_the_environment_is_named() -> None:
    """Environment > config.yaml: the same rules hold for it."""
    mex("init")
    told = refused("profile", MEX_PROFILE_MAX_TOKENS="many").err
    assert "MAX_TOKENS" in told.upper()


def test_product_c9_config_llm_offers_what_is_owed_to_a_model_and_reads_nothing_unasked(tmp_path: Path) -> None:
    """What only the rules have read; offered with numbers, extracted when asked."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟，喜欢爬山").assistant("好")
    mex("extract", "--file", str(session.path))
    assert contents() == ["林晓舟"]
    with running(tmp_path / "model") as model:
        told = mex("config", "llm", "--provider", "custom", "--base-url", model.url, "--api-key", "k", "--model", "m1")
        assert "mex " in told.out + told.err
        assert "2" in told.out + told.err
        assert model.requests() == []
        hobby = candidate("leisure.hobbies", "爬山", "喜欢爬山")
        model.script({"reply": json.dumps({"memories": [{"action": "new", "is_ai_inferred": False, **hobby}]})})
        mex("extract", "--file", str(session.path))
        assert len(model.requests()) == 1
    assert contents() == ["林晓舟", "爬山"]


def test_product_g5_forget_prints_what_it_hit_and_how_to_undo_it() -> None:
    """Soft forgetting goes ahead; restore undoes it."""
    memory = add("远光软件", "work.company")
    out = mex("forget", "--keyword", "远光").out
    assert memory["id"] in out
    assert "restore" in out
    mex("restore", memory["id"])
    assert contents() == ["远光软件"]


def test_product_g5_recent_days_is_in_the_config_too() -> None:
    """profile.recent_days."""
    add("十天前的事")
    before = (datetime.now(UTC) - timedelta(days=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    change("UPDATE memories SET created_at = ?, updated_at = ?, valid_from = ?", before, before, before)
    assert "十天前" not in mex("profile").out
    assert "十天前" in mex("profile", "--recent-days", "11").out
    (home() / "config.yaml").write_text("profile:\n  recent_days: 11\n", encoding="utf-8")
    assert "十天前" in mex("profile").out
