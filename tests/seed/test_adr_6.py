"""Seed ADR-6: schema.yaml is the law of every write; its examples 1 to 6, to the letter."""

import json
from pathlib import Path

import pytest

from tests.seed.ground import (
    SEED_SCHEMA,
    active,
    add,
    candidate,
    found,
    home,
    one,
    reasons,
    refused,
    refused_add,
    rows,
    said,
    system_and_user,
    use_schema,
)
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex

PETS = """\
  pets:
    description: 宠物
    sub_topics:
      dog_name: { description: 狗的名字 }
"""


@pytest.fixture(autouse=True)
def zh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed's examples are in Chinese."""
    monkeypatch.setenv("MEX_LANG", "zh")


@pytest.fixture
def schema(zh: None) -> None:
    """The schema the examples assume (§3.4)."""
    use_schema(SEED_SCHEMA)


def test_seed_adr_6_example_1_a_declared_slot_is_written(schema: None) -> None:
    """mex add --topic work --sub-topic company --content 华为 → 通过, and is profile content."""
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "华为")
    assert rows("SELECT topic, sub_topic, content, confidence, is_ai_inferred FROM memories") == [
        ("work", "company", "华为", "confirmed", 0)
    ]
    assert "- 当前公司：华为" in mex("profile").out


def test_seed_adr_6_example_1b_a_record_outside_the_profile_is_written(schema: None) -> None:
    """省略 --sub-topic → sub_topic 为空，不进入画像，按时间索引."""
    mex("add", "--topic", "finance", "--content", "随手记：下周要做一次理财复盘")
    assert rows("SELECT topic, sub_topic FROM memories") == [("finance", None)]
    assert "理财复盘" not in mex("profile", "--recent-limit", "0").out
    assert found("--topic", "finance") == ["随手记：下周要做一次理财复盘"]
    assert found("--since", "1d") == ["随手记：下周要做一次理财复盘"]


def test_seed_adr_6_example_1b_the_topic_may_be_left_out_altogether(schema: None) -> None:
    """也可完全省略 --topic."""
    mex("add", "--content", "今天完成了一件事")
    assert rows("SELECT topic, sub_topic FROM memories") == [(None, None)]


@pytest.mark.parametrize("sub_topic", [("--sub-topic", "company"), ()], ids=["slot", "record"])
def test_seed_adr_6_example_2_an_undeclared_topic_is_refused_with_the_nearest(
    schema: None, sub_topic: tuple[str, ...]
) -> None:
    """topic 'job' 未在 schema.yaml 定义。相近的已有 topic：'work'。如确需新领域，请先编辑 schema.yaml."""
    told = refused("add", "--topic", "job", *sub_topic, "--content", "华为").err
    assert "topic 'job' 未在 schema.yaml 定义" in told
    assert "相近的已有 topic" in told
    assert "'work'" in told
    assert "如确需新领域，请先编辑" in told
    assert contents() == []


def test_seed_adr_6_example_2_in_english_names_the_same_things(schema: None) -> None:
    """The topic that is not there, the one that is near, and the file to edit."""
    told = refused("--lang", "en", "add", "--topic", "job", "--sub-topic", "company", "--content", "Acme").err
    for word in ("job", "work", "schema.yaml"):
        assert word in told


def test_seed_adr_6_example_3_an_undeclared_sub_topic_is_refused_with_the_legal_ones(schema: None) -> None:
    """拒绝，报错并列出 work 下的合法字段."""
    told = refused_add("华为", "work.employer").err
    for name in ("employer", "position", "company", "experience", "tech_stack", "startup_status", "goal_current"):
        assert name in told
    assert contents() == []


def test_seed_adr_6_example_4_a_field_is_added_by_editing_the_schema(schema: None) -> None:
    """编辑 schema.yaml → 再执行 mex add → 通过; before the edit it is refused."""
    refused_add("旺财", "pets.dog_name")
    path = home() / "schema.yaml"
    path.write_text(path.read_text(encoding="utf-8") + PETS, encoding="utf-8")
    mex("add", "--topic", "pets", "--sub-topic", "dog_name", "--content", "旺财")
    assert active("pets.dog_name") == ["旺财"]
    profile = mex("profile").out
    assert "## 宠物\n- 狗的名字：旺财" in profile
    assert "dog_name" in mex("schema").out


def test_seed_adr_6_example_4_works_on_the_default_schema_too() -> None:
    """The file that init wrote takes the same lines at its end."""
    mex("init")
    path = home() / "schema.yaml"
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + "\n" + PETS, encoding="utf-8")
    assert add("旺财", "pets.dog_name")["sub_topic"] == "dog_name"


def test_seed_adr_6_example_5_the_prompt_lists_the_declared_fields(schema: None, model: ModelServer) -> None:
    """第一道（事前引导）: every field with its description, and what may be repeated."""
    said(model, "我在华为工作")
    (request,) = model.requests()
    system, _ = system_and_user(request)
    for words in ("company", "当前公司", "tech_stack", "技术栈/技能", "可多条", "principles", "risk_preference"):
        assert words in system
    assert "hobbies" not in system


def test_seed_adr_6_example_5_candidates_outside_the_schema_are_dropped_and_told(
    schema: None, model: ModelServer
) -> None:
    """第二道（事后校验）: 不合规的丢弃并在命令输出中说明."""
    result = said(
        model,
        "我在华为工作，月薪三万，养了只狗叫旺财。",
        candidate("work.company", "华为", "我在华为工作"),
        candidate("work.salary", "月薪三万"),
        candidate("pets.dog_name", "旺财", "狗叫旺财"),
        candidate("pets", "养了只狗", "养了只狗"),
    )
    assert [memory["content"] for memory in result["added"]] == ["华为"]
    assert sorted(reasons(result)) == ["养了只狗", "旺财", "月薪三万"]
    assert contents() == ["华为"]
    shown = mex("jobs", "show", result["job_id"]).out
    assert "work.salary" in shown or "salary" in shown


def test_seed_adr_6_example_5_the_summary_in_words_names_what_was_dropped(schema: None, model: ModelServer) -> None:
    """丢弃 1 条：work.salary 未定义."""
    said(model, "先说一句别的")
    script = {"reply": json.dumps({"memories": [{"action": "new", **candidate("work.salary", "月薪三万")}]})}
    model.script(script)
    out = mex("extract", "我月薪三万").out
    assert "salary" in out
    assert "1" in out


def test_seed_adr_6_example_6_a_record_is_free_but_its_topic_is_checked(schema: None) -> None:
    """宽松但不放纵."""
    mex("add", "--topic", "finance", "--content", "今天基金跌了 3%，有点焦虑")
    assert found("--topic", "finance") == ["今天基金跌了 3%，有点焦虑"]
    refused_add("今天基金跌了", "money")
    refused_add("x", "finance.fund")
    assert one("SELECT count(*) FROM memories") == 1


def test_seed_adr_6_a_slot_needs_its_topic(schema: None) -> None:
    """sub_topic 非空 → topic 必填."""
    refused("add", "--sub-topic", "company", "--content", "华为")
    assert contents() == []


def test_seed_adr_6_update_and_import_pass_the_same_check(schema: None, tmp_path: Path) -> None:
    """所有写入都必须通过: structured content in update; undeclared topics in import."""
    value = '{"start": "2019", "end": "2023", "company": "星辰软件"}'
    memory = add(value, "work.experience")
    refused("update", memory["id"], "--content", "在星辰软件工作")
    path = tmp_path / "e.json"
    mex("export", "--format", "json", "--output", str(path))
    other = str(tmp_path / "other")
    mex("init", MEX_HOME=other)
    (tmp_path / "other" / "schema.yaml").write_text(SEED_SCHEMA.replace("experience:", "career:"), encoding="utf-8")
    mex("import", str(path), "--mode", "restore", ok=False, MEX_HOME=other)
    assert mex("list", "--json", "--include-forgotten", MEX_HOME=other).json == []


def test_seed_adr_6_mex_schema_prints_the_slots(schema: None) -> None:
    """Product G16."""
    out = mex("schema").out
    for name in ("work", "company", "tech_stack", "risk_preference"):
        assert name in out


def test_seed_3_4_the_default_schema_has_the_twelve_topics_in_both_languages(tmp_path: Path) -> None:
    """聚合为 12 个, under the same keys in zh and en (product A4)."""
    keys = [
        "basic_info",
        "work",
        "edu",
        "research",
        "finance",
        "family",
        "relationship",
        "leisure",
        "health",
        "values",
        "interaction",
        "goals",
    ]
    shown = {}
    for lang in ("zh", "en"):
        place = str(tmp_path / lang)
        mex("--lang", lang, "init", MEX_HOME=place)
        text = (tmp_path / lang / "schema.yaml").read_text(encoding="utf-8")
        shown[lang] = [
            line.strip().rstrip(":") for line in text.splitlines() if line[:2] == "  " and line[2:3].isalpha()
        ]
    assert shown["zh"] == shown["en"] == keys


@pytest.mark.parametrize(
    "slot",
    [
        "basic_info.name",
        "basic_info.gender",
        "basic_info.birth_year",
        "basic_info.hometown",
        "basic_info.location",
        "work.position",
        "work.company",
        "work.startup_status",
        "work.goal_current",
    ],
)
def test_seed_3_4_the_unique_slots_of_the_example_are_in_the_default_schema(slot: str) -> None:
    """省略=唯一 (product G1: work.company too)."""
    add("一", slot)
    refused_add("二", slot)
    assert active(slot) == ["一"]


@pytest.mark.parametrize("slot", ["work.tech_stack", "work.oss_projects", "edu.language"])
def test_seed_3_4_the_many_valued_slots_of_the_example_are_in_the_default_schema(slot: str) -> None:
    """unique: false."""
    add("一", slot)
    add("二", slot)
    assert active(slot) == ["一", "二"]


@pytest.mark.parametrize(
    ("slot", "keys"),
    [
        ("work.experience", "start end company position department summary kind"),
        ("edu.education", "start end degree school major"),
        ("research.paper", "title venue year authors status"),
        ("research.patent", "name type year status"),
    ],
)
def test_seed_3_4_the_structured_slots_of_the_example_are_in_the_default_schema(slot: str, keys: str) -> None:
    """fields: all the keys of the example are taken, in its order."""
    value = dict.fromkeys(reversed(keys.split()), "2020")
    stored = add(json.dumps(value), slot)
    add(json.dumps(value | {keys.split()[2]: "2021"}), slot)
    assert list(json.loads(stored["content"])) == keys.split()
    assert len(active(slot)) == 2
