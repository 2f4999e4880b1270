"""Seed §4.3 and §5.1 (writing and paging): connections, and each command with each of its options."""

import json
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.seed.ground import (
    add,
    at,
    candidate,
    database,
    events,
    found,
    get,
    home,
    listed,
    one,
    refused,
    refused_add,
    rows,
    said,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened


@pytest.fixture
def dozen() -> list[str]:
    """Twelve records, newest first."""
    for number in range(12):
        add(f"第{number:02}条")
    return [f"第{number:02}条" for number in reversed(range(12))]


def test_seed_4_3_init_makes_the_database_a_wal_one() -> None:
    """mex init 时执行 PRAGMA journal_mode=WAL."""
    mex("init")
    assert one("PRAGMA journal_mode") == "wal"


def test_seed_4_3_a_batch_is_written_whole_or_not_at_all(model: ModelServer) -> None:
    """要么全部成功要么回滚，不留中间态: a history that cannot be written takes the memories with it."""
    mex("init")
    with opened(database()) as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON history WHEN (SELECT count(*) FROM history) >= 1"
            " BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    model.script({"reply": reply(candidate("work.company", "远光软件"), candidate("basic_info.location", "杭州"))})
    failed = mex("extract", "我在远光软件工作，住在杭州", ok=False)
    assert failed.code == 2
    assert one("SELECT count(*) FROM memories") == one("SELECT count(*) FROM history") == 0
    assert one("SELECT count(*) FROM extraction_state") == 0


def test_seed_4_3_no_command_leaves_a_lock_behind() -> None:
    """命令结束关闭: another program may write at once."""
    add("远光软件", "work.company")
    mex("list")
    with sqlite3.connect(database(), timeout=0.2) as db:
        db.execute("BEGIN EXCLUSIVE")
        db.execute("ROLLBACK")
    db.close()


def test_seed_5_1_init_makes_three_files_and_is_idempotent() -> None:
    """建库、生成默认 schema.yaml / config.yaml (product A2, A3)."""
    out = mex("init").out
    for name in ("mex.db", "schema.yaml", "config.yaml"):
        assert name in out
        assert stat.S_IMODE((home() / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home().stat().st_mode) == 0o700
    add("远光软件", "work.company")
    (home() / "schema.yaml").write_text((home() / "schema.yaml").read_text(encoding="utf-8") + "# mine\n", "utf-8")
    assert mex("init").code == 0
    assert (home() / "schema.yaml").read_text(encoding="utf-8").endswith("# mine\n")
    assert contents() == ["远光软件"]


def test_seed_5_1_init_makes_what_is_missing_again() -> None:
    """A deleted schema.yaml or config.yaml comes back with its defaults."""
    mex("init")
    for name in ("schema.yaml", "config.yaml"):
        (home() / name).unlink()
    mex("init")
    assert add("远光软件", "work.company")["content"] == "远光软件"
    assert (home() / "config.yaml").is_file()


def test_product_a3_any_command_makes_the_home_and_says_so_once_on_stderr() -> None:
    """Defaults, no questions."""
    first = mex("list")
    assert str(home()) in first.err
    assert (home() / "schema.yaml").is_file()
    second = mex("list")
    assert second.err == ""
    assert mex("gc").code == 0


def test_product_a6_a_mistyped_home_never_becomes_a_new_memory(tmp_path: Path) -> None:
    """A reading command on a home whose parent does not exist is an error."""
    wrong = tmp_path / "nosuch" / "home"
    for command in (("list",), ("profile",), ("search", "--keyword", "x"), ("stats",)):
        refused(*command, MEX_HOME=str(wrong))
    assert not wrong.parent.exists()


def test_seed_5_1_add_prints_id_and_content() -> None:
    """§5.2: stdout 输出受影响条目的摘要（id + 内容）— add, update, forget, restore."""
    out = mex("add", "--content", "远光软件").out
    memory = mex("list", "--json").json[0]
    for text in (
        out,
        mex("update", memory["id"], "--confidence", "explicit").out,
        mex("forget", memory["id"]).out,
        mex("restore", memory["id"]).out,
    ):
        assert memory["id"] in text
        assert "远光软件" in text


def test_seed_5_1_update_changes_content_confidence_and_end() -> None:
    """mex update <id> --content --confidence --expires, each alone and together."""
    memory = add("远光软件", "work.company")
    mex("update", memory["id"], "--confidence", "speculated")
    assert (get(memory["id"])["content"], get(memory["id"])["confidence"]) == ("远光软件", "speculated")
    mex("update", memory["id"], "--content", "前进云", "--confidence", "confirmed", "--expires", "2099-01-01")
    shown = get(memory["id"])
    assert (shown["content"], shown["confidence"], shown["topic"], shown["sub_topic"]) == (
        "前进云", "confirmed", "work", "company",
    )  # fmt: skip
    assert shown["expires_at"]
    assert shown["created_at"] == memory["created_at"]
    assert events(memory["id"]) == ["add", "update", "update"]


def test_seed_5_1_update_without_a_change_asked_for_is_refused() -> None:
    """参数非法; also an unknown or forgotten memory; the slot cannot be changed here (槽位不可变)."""
    memory = add("远光软件", "work.company")
    refused("update", memory["id"])
    refused("update", "00000000-0000-4000-8000-000000000000", "--content", "x")
    refused("update", memory["id"], "--topic", "edu", "--content", "x")
    mex("forget", memory["id"])
    refused("update", memory["id"], "--content", "x")
    assert events(memory["id"]) == ["add", "forget"]


def test_seed_5_1_list_shows_the_newest_ten_and_tells_what_is_left(dozen: list[str]) -> None:
    """文本输出默认最近 10 条; the hint names how to go on."""
    out = mex("list").out
    assert [content for content in dozen if content in out] == dozen[:10]
    assert "--offset 10" in out
    assert "12" in out
    rest = mex("list", "--offset", "10").out
    assert [content for content in dozen if content in rest] == dozen[10:]
    assert "--offset" not in rest


def test_seed_5_1_list_limit_and_offset_page(dozen: list[str]) -> None:
    """--limit 每页条数、--offset 跳过前 N 条翻页，末页提示剩余条数."""
    page = mex("list", "--limit", "5", "--offset", "5").out
    assert [content for content in dozen if content in page] == dozen[5:10]
    assert "2" in page.splitlines()[-1]
    assert "--offset 10" in page
    assert mex("list", "--offset", "99").code == 0


@pytest.mark.parametrize("everything", [("--limit", "0"), ("--all",)], ids=" ".join)
def test_seed_5_1_list_limit_0_and_all_print_everything(dozen: list[str], everything: tuple[str, ...]) -> None:
    """--limit 0 或 --all 打印全部."""
    out = mex("list", *everything).out
    assert [content for content in dozen if content in out] == dozen
    assert "--offset" not in out
    assert listed(*everything) == dozen


def test_seed_5_1_list_json_is_everything_unless_limited(dozen: list[str]) -> None:
    """--json 模式默认输出全部、显式 --limit/--offset 仍生效."""
    assert listed() == dozen
    assert listed("--limit", "3") == dozen[:3]
    assert listed("--offset", "10") == dozen[10:]
    assert listed("--limit", "3", "--offset", "3") == dozen[3:6]


@pytest.mark.parametrize(
    "wrong",
    [("--limit", "-1"), ("--offset", "-1"), ("--limit", "x"), ("--all", "--limit", "3"), ("--sub-topic", "name")],
)
def test_seed_5_1_list_refuses_options_that_make_no_sense(wrong: tuple[str, ...]) -> None:
    """参数非法."""
    refused("list", *wrong)


def test_seed_5_1_list_filters_by_slot_and_by_state() -> None:
    """--topic --sub-topic --include-forgotten."""
    add("远光软件", "work.company")
    add("周报", "work")
    gone = add("Python", "work.tech_stack")
    add("小陈", "basic_info.name")
    mex("forget", gone["id"])
    assert sorted(listed("--topic", "work")) == ["周报", "远光软件"]
    assert listed("--topic", "work", "--sub-topic", "company") == ["远光软件"]
    assert "Python" in listed("--topic", "work", "--include-forgotten")
    assert "Python" in mex("list", "--include-forgotten").out
    assert listed("--topic", "nosuch") == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--topic", "work"), ["年会很热闹", "Go 语言", "远光软件"]),
        (("--topic", "work", "--sub-topic", "tech_stack"), ["Go 语言"]),
        (("--keyword", "软件"), ["远光软件"]),
        (("--keyword", "语言", "--topic", "work"), ["Go 语言"]),
        (("--keyword", "软件", "--topic", "basic_info"), []),
        (("--since", "1d"), ["小陈", "年会很热闹", "Go 语言", "远光软件"]),
        (("--until", "2020-01-01"), []),
        (("--limit", "2"), ["小陈", "年会很热闹"]),
        (("--limit", "1", "--keyword", "软件"), ["远光软件"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_seed_5_1_search_combines_conditions(options: tuple[str, ...], expected: list[str]) -> None:
    """多条件检索: 画像槽位与画像外记录统一检索."""
    add("远光软件", "work.company")
    add("Go 语言", "work.tech_stack")
    add("年会很热闹", "work")
    add("小陈", "basic_info.name")
    assert found(*options) == expected


def test_seed_5_1_search_without_a_hit_is_no_error() -> None:
    """Exit 0; JSON []."""
    ran = mex("search", "--keyword", "没有")
    assert ran.code == 0
    assert ran.out.strip()
    assert found("--keyword", "没有") == []


def test_seed_5_1_search_takes_keyword_text_literally() -> None:
    """Product E4: operators belong to the positional query, never to --keyword."""
    add('他说 "topic:work" 和 50% 以及 a_b', None)
    for word in ('"topic:work"', "50%", "a_b", "topic:work"):
        assert len(found("--keyword", word)) == 1
    for word in ("-他说", "a%b", "NEAR(他说", "他说*", '"'):
        assert mex("search", "--keyword", word).code == 0


def test_seed_5_1_get_prints_json_always() -> None:
    """恒定 JSON 输出 (product G16): with and without --json, forgotten ones too, by a prefix (B9)."""
    memory = add("远光软件", "work.company")
    mex("forget", memory["id"])
    shown = json.loads(mex("get", memory["id"]).out)
    assert shown == mex("get", memory["id"], "--json").json == mex("get", memory["id"][:8]).json
    assert (shown["content"], shown["topic"], shown["is_ai_inferred"]) == ("远光软件", "work", False)
    refused("get", "00000000")
    refused("get", memory["id"][:4])


def test_seed_5_1_stats_counts_both_kinds_review_size_and_usage(model: ModelServer) -> None:
    """画像内/画像外条目数、待审查数、库大小、LLM 累计用量."""
    add("远光软件", "work.company")
    add("记一笔")
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    said(model, "老家冬天冷", guess)
    shown = mex("stats", "--json").json
    assert shown["profile"] == {"profile": 2, "outside": 1}
    assert shown["pending_review"] == 1
    assert shown["db_size_bytes"] > 0
    usage = shown["llm_usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["calls"]) == (100, 20, 1)
    text = mex("stats").out
    assert "100" in text
    assert "20" in text


def test_seed_5_1_forgotten_and_expired_are_not_counted() -> None:
    """Statistics are of what is active."""
    gone = add("远光软件", "work.company")
    mex("forget", gone["id"])
    add("过期", None, "--expires", "2020-01-01")
    assert mex("stats", "--json").json["profile"] == {"profile": 0, "outside": 0}


def test_product_b9_a_prefix_of_eight_serves_every_command_that_takes_an_id() -> None:
    """get, update, history, forget, restore, move; an ambiguous or short one is refused."""
    memory = add("远光软件", "work.company")
    short = memory["id"][:8]
    mex("update", short, "--content", "前进云")
    mex("forget", short)
    mex("restore", short)
    mex("move", short, *at("work.position"))
    assert len(mex("history", short, "--json").json) == 5
    refused("forget", memory["id"][:7])
    assert rows("SELECT content, sub_topic FROM memories") == [("前进云", "position")]


def test_seed_5_1_a_structured_value_is_updated_as_one() -> None:
    """§3.5 applies to update as to add."""
    memory = add('{"start": "2019", "end": "2023", "company": "星辰"}', "work.experience")
    mex("update", memory["id"], "--content", '{"end": "至今", "start": "2019", "company": "星辰"}')
    assert list(json.loads(get(memory["id"])["content"])) == ["start", "end", "company"]
    refused_add("x", "work.experience")
