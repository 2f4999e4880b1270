"""Seed §7.1 and §7.2: what reaches the model, and what its reply may say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import (
    SEED_SCHEMA,
    active,
    add,
    candidate,
    events,
    one,
    reasons,
    rows,
    said,
    system_and_user,
    use_schema,
)
from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, mex, write
from tests.support.sessions import SessionFile

MANY = "values.principles"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[str, str]:
    """The system and the user message of one request, in Chinese, with the seed's schema and a known value."""
    monkeypatch.setenv("MEX_LANG", "zh")
    use_schema(SEED_SCHEMA)
    model: ModelServer = request.getfixturevalue("model")
    add("青石巷老宅", "basic_info.location")
    add("Haskell", "work.tech_stack")
    said(model, "我搬到竹影湾新居了，还在写 Haskell")
    return system_and_user(model.requests()[0])


def test_seed_7_1_there_is_one_system_and_one_user_message(asked: tuple[str, str], model: ModelServer) -> None:
    """system 消息，外加 user 消息（对话文本）."""
    (request,) = model.requests()
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    system, user = asked
    assert "竹影湾新居" in user
    assert "竹影湾新居" not in system
    assert request["model"] == "m1"


def test_seed_7_1_the_eight_parts_stand_in_order(asked: tuple[str, str]) -> None:
    """任务、字段清单、置信度、已有画像、质量标准、动作、示例、输出格式."""
    system, _ = asked
    places = [system.index("记忆抽取器")]
    for mark in (
        r"startup_status.*创业状态",  # 2 the fields
        r"speculated[^\n]*线索",  # 3 the tiers and their rules
        r"青石巷老宅",  # 4 what is known
        r"具体[\s\S]*独立[\s\S]*有用[\s\S]*不重复",  # 5 the four criteria
        r"uncertain_update",  # 6 the actions
        r'"action": ?"retire"',  # 7 the examples
        r"只输出[^\n]*JSON",  # 8 the form of the answer
    ):
        found = re.compile(mark).search(system, places[-1])
        assert found, mark
        places.append(found.start())
    assert len(places) == 8


def test_seed_7_1_part_1_the_model_is_told_its_role_and_what_to_leave(asked: tuple[str, str]) -> None:
    """个人记忆抽取器；忽略寒暄；画像与画像外."""
    system, _ = asked
    for words in ("个人记忆抽取器", "寒暄", "画像外", "履历"):
        assert words in system


def test_seed_7_1_part_2_the_fields_are_listed_with_what_they_mean(asked: tuple[str, str]) -> None:
    """每个 topic/sub_topic 及其 description、「可多条」、JSON 模板（含 [必填]）."""
    system, _ = asked
    lines = [line for line in system.splitlines() if "技术栈/技能" in line]
    assert any("可多条" in line for line in lines)
    company = [line for line in system.splitlines() if "当前公司" in line]
    assert company
    assert not any("可多条" in line for line in company)
    template = [line for line in system.splitlines() if "department" in line and "必填" in line]
    assert any("JSON" in line and "start" in line and "YYYY" in line for line in template)
    for slot in ("hometown", "birth_year", "oss_projects", "goal_current", "risk_preference"):
        assert slot in system
    assert "hobbies" not in system


def test_seed_7_1_part_3_the_tiers_and_the_ban(asked: tuple[str, str]) -> None:
    """§3.3 的五档定义，且禁止打 confirmed."""
    system, _ = asked
    for tier in ("confirmed", "explicit", "inferred", "speculated", "uncertain"):
        assert tier in system
    assert re.search(r"confirmed[^\n]*(只能由人|不得|禁止|不能)", system)


def test_seed_7_1_part_4_all_values_of_a_many_valued_slot_are_shown(model: ModelServer) -> None:
    """可多条槽位列出全部已有 content，供去重."""
    for name in ("Haskell", "Elixir", "Julia", "Nim"):
        add(name, "work.tech_stack")
    said(model, "我写 Zig")
    system, _ = system_and_user(model.requests()[0])
    for name in ("Haskell", "Elixir", "Julia", "Nim"):
        assert name in system


def test_product_g9_the_known_values_keep_to_a_budget(model: ModelServer) -> None:
    """Fault 24: a thousand notes do not all go into the prompt."""
    mex("init")
    for number in range(3):
        add(f"第{number}条很长的旧笔记" + "一二三四五" * 30)
    said(model, "我写 Zig")
    small = len(system_and_user(model.requests()[0])[0])
    path = Path(mex("config", "show", "--json").json["home"]) / "e.json"
    mex("export", "--output", str(path))
    data = json.loads(path.read_text(encoding="utf-8"))
    pattern = data["memories"][0]
    data["memories"] = [
        pattern | {"id": f"{number:08x}-0000-4000-8000-000000000000", "content": f"笔记{number}" + "一二三四五" * 30}
        for number in range(400)
    ]
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    mex("import", str(path), "--mode", "restore")
    assert one("SELECT count(*) FROM memories") >= 400
    said(model, "我还写 Nim")
    large = len(system_and_user(model.requests()[1])[0])
    assert large < small + 12_000


def test_seed_7_1_parts_5_to_8_hold_the_rules_of_the_document(asked: tuple[str, str]) -> None:
    """四准则、四动作、绝对时间、结构化 JSON 字符串、只输出 JSON."""
    system, _ = asked
    for word in ("具体", "独立", "有用", "不重复", '"update"', '"uncertain_update"', '"new"', '"retire"', "YYYY-MM-DD"):
        assert word in system
    for key in ("action", "topic", "sub_topic", "content", "is_ai_inferred", "confidence", "evidence", "memories"):
        assert key in system


def test_seed_7_1_dialogues_and_documents_share_one_prompt(model: ModelServer, tmp_path: Path) -> None:
    """不区分模式：共用同一套提示词."""
    said(model, "我写 Zig")
    cv = write(tmp_path / "cv.md", "# 简历", "", "技能：Nim")
    mex("import", str(cv), "--mode", "extract")
    first, second = (re.sub(r"\d", "", system_and_user(request)[0]) for request in model.requests())
    assert first == second


def test_seed_7_1_the_dialogue_goes_with_its_speakers(model: ModelServer, tmp_path: Path) -> None:
    """纯对话文本（用户：… 助手：…） becomes turns that a text cannot forge (product C13)."""
    talk = write(tmp_path / "talk.txt", "用户：我写 Zig", "助手：好的")
    mex("extract", "--from", "plain", "--file", str(talk))
    sent = turns(model.requests()[0])
    assert [(turn["role"], turn["text"]) for turn in sent] == [("user", "我写 Zig"), ("assistant", "好的")]


def test_seed_7_1_in_english_the_prompt_is_english(model: ModelServer) -> None:
    """Product A4: prompts follow the language; the contract's words stay."""
    said(model, "I write Zig")
    system, _ = system_and_user(model.requests()[0])
    assert "抽取器" not in system
    for word in ("uncertain_update", "retire", "speculated", "is_ai_inferred", "work.company"):
        assert word in system


@pytest.mark.parametrize("inferred", [True, False])
def test_seed_7_2_the_flag_of_inference_is_kept(model: ModelServer, inferred: bool) -> None:
    """is_ai_inferred 为布尔."""
    said(
        model,
        "我总睡不好",
        candidate("health.concern", "睡不好", "总睡不好", is_ai_inferred=inferred, confidence="speculated"),
    )
    assert rows("SELECT is_ai_inferred FROM memories") == [(int(inferred),)]


def test_seed_7_2_the_documents_own_reply_is_taken(model: ModelServer) -> None:
    """The example of §7.2, word for word."""
    memories: list[dict[str, Any]] = [
        {
            "action": "new", "topic": "work", "sub_topic": "company", "content": "远光软件", "is_ai_inferred": False,
            "confidence": "explicit", "evidence": '用户说："我在远光软件做后端开发"',
        },
        {
            "action": "new", "topic": "work", "sub_topic": "tech_stack", "content": "Rust", "is_ai_inferred": False,
            "confidence": "explicit", "evidence": '用户说："最近在学 Rust"',
        },
        {
            "action": "new", "topic": "finance", "sub_topic": None, "content": "基金单日下跌 3%，用户表达了焦虑",
            "is_ai_inferred": True, "confidence": "speculated", "evidence": '用户提到"今天跌得有点心慌"',
        },
    ]  # fmt: skip
    model.script({"reply": json.dumps({"memories": memories}, ensure_ascii=False)})
    mex("extract", "我在远光软件做后端开发。最近在学 Rust。基金单日下跌 3%，今天跌得有点心慌。")
    columns = "topic, sub_topic, content, is_ai_inferred, confidence, evidence"
    stored = rows(f"SELECT {columns} FROM memories ORDER BY rowid")
    assert sorted(stored, key=str) == sorted(
        [tuple(int(one[k]) if k == "is_ai_inferred" else one[k] for k in columns.split(", ")) for one in memories],
        key=str,
    )


def test_seed_7_2_nothing_worth_keeping_is_a_normal_result(model: ModelServer) -> None:
    """{"memories": []}: exit 0, recorded usage, position moved."""
    assert said(model, "你好呀，在吗")["outcome"] == "nothing_to_remember"
    assert contents() == []
    assert one("SELECT count(*) FROM llm_usage") == 1


def test_seed_7_2_retire_forgets_the_equal_record_softly(model: ModelServer) -> None:
    """槽位 + content 完全相同 → 软删，旧值进 history 可恢复，reason 记 retire; listed (product G4)."""
    words = "我相信早起万能"
    first = said(model, words, candidate(MANY, "早起万能", words))["added"][0]
    add("工作不压过生活", MANY)
    result = said(model, "早起万能那套我不信了", candidate(MANY, "早起万能", "早起万能那套我不信了", action="retire"))
    assert active(MANY) == ["工作不压过生活"]
    assert "retire" in one("SELECT forgotten_reason FROM memories WHERE content = '早起万能'")
    assert events(first["id"]) == ["add", "forget"]
    assert [memory["content"] for memory in result["retired"]] == ["早起万能"]
    assert (result["added"], result["updated"]) == ([], [])
    mex("restore", first["id"])
    assert active(MANY) == ["早起万能", "工作不压过生活"]


def test_seed_7_2_retire_is_told_in_the_summary(model: ModelServer) -> None:
    """Product G4: counted and listed."""
    said(model, "我相信早起万能", candidate(MANY, "早起万能", "我相信早起万能"))
    retire = candidate(MANY, "早起万能", "早起万能那套我不信了", action="retire")
    model.script({"reply": reply(retire)})
    assert "早起万能" in mex("extract", "早起万能那套我不信了").out


@pytest.mark.parametrize(
    ("slot", "content"),
    [(MANY, "早起有用"), (MANY, "没有的"), ("basic_info.location", "杭州"), ("finance", "随手记一条")],
)
def test_seed_7_2_retire_without_an_equal_record_or_on_a_unique_slot_is_discarded(
    model: ModelServer, slot: str, content: str
) -> None:
    """找不到完全相同记录则不删（discarded）；唯一槽位禁用 retire."""
    add("早起万能", MANY)
    add("杭州", "basic_info.location")
    add("随手记一条", "finance")
    result = said(model, "那些我都不认了", candidate(slot, content, "那些我都不认了", action="retire"))
    assert reasons(result) == [content]
    assert result["retired"] == []
    assert len(contents()) == 3


def test_seed_7_2_new_into_an_occupied_unique_slot_updates_it(model: ModelServer) -> None:
    """§6.1 step 6: 槽位已存在 → 更新内容, whichever of new and update the model chose."""
    said(model, "我住在杭州", candidate("basic_info.location", "杭州", "我住在杭州"))
    result = said(model, "我现在住苏州", candidate("basic_info.location", "苏州", "我现在住苏州", action="new"))
    assert active("basic_info.location") == ["苏州"]
    assert len(result["updated"]) == 1


def test_seed_7_2_many_values_in_one_array_are_no_single_value(model: ModelServer) -> None:
    """不合并成数组: an array is split or dropped, never stored as JSON."""
    said(model, "我写 Zig 和 Nim", {**candidate("work.tech_stack", "", "我写 Zig 和 Nim"), "content": ["Zig", "Nim"]})
    assert set(active("work.tech_stack")) <= {"Zig", "Nim"}


def test_product_b3_evidence_that_was_not_said_is_never_explicit(model: ModelServer, tmp_path: Path) -> None:
    """Not found → inferred at best, marked unverified; only the user's turns count (product F1)."""
    session = SessionFile(tmp_path / "s.jsonl").user("帮我改周报").assistant("您住在腾冲，对吧？")
    model.script(
        {
            "reply": reply(
                candidate("basic_info.hometown", "大理", "我是大理人"),
                candidate("basic_info.location", "腾冲", "您住在腾冲"),
            )
        }
    )
    mex("extract", "--from", "claude", "--file", str(session.path))
    assert one("SELECT count(*) FROM memories WHERE confidence IN ('explicit', 'confirmed')") == 0
    assert "腾冲" not in contents()
