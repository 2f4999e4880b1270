"""Seed §3.4 to §3.6 and §8.3 at their edges: schemas people write, files of the original, sources that move."""

import json
from pathlib import Path

import pytest

from tests.seed.ground import SEED_SCHEMA, active, add, at, found, home, one, rows, use_schema
from tests.support.model_server import ModelServer, turns
from tests.support.program import contents, mex, opened, write
from tests.support.sessions import SessionFile

GOAL = "goal_current: { description: 当前职业目标 }"
STRUCTURED_GOAL = "goal_current: { description: 目标, fields: { goal: 内容 } }"
TEXTS = ["-x", "--help", "a\nb\nc", "'; DROP TABLE memories; --", "🐈 é ﬁ", "长" * 5000, "%s {0} \\n"]

ORIGINAL = {
    "id": "0123456789abcdef0123456789abcdef", "topic": "work", "sub_topic": "company", "content": "远光软件",
    "is_ai_inferred": False, "confidence": "confirmed", "evidence": None, "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z", "forgotten_at": None, "forgotten_reason": None, "expires_at": None,
}  # fmt: skip


def test_seed_6_4_an_export_of_the_original_is_restored(tmp_path: Path) -> None:
    """{version: 1, exported_at, memories: [12 keys]}, ids of 32 hex digits; the second time it is skipped."""
    data = {"version": 1, "exported_at": "2026-01-02T00:00:00Z", "memories": [ORIGINAL]}
    path = write(tmp_path / "old.json", json.dumps(data, ensure_ascii=False))
    mex("import", str(path), "--mode", "restore")
    assert rows("SELECT content, confidence, created_at FROM memories") == [
        ("远光软件", "confirmed", "2026-01-01T00:00:00Z")
    ]
    mex("import", str(path), "--mode", "restore")
    assert contents() == ["远光软件"]
    assert found("--keyword", "远光") == ["远光软件"]
    assert mex("get", ORIGINAL["id"][:8]).json["content"] == "远光软件"


def test_seed_3_4_topics_and_fields_with_chinese_names_work_or_are_told() -> None:
    """编辑 schema.yaml: what a person writes as a key is taken, or refused with the file named."""
    use_schema("topics:\n  宠物:\n    description: 我的宠物\n    sub_topics:\n      狗名: { description: 狗的名字 }\n")
    ran = mex("add", *at("宠物.狗名"), "--content", "旺财", ok=False)
    if ran.code == 0:
        assert "- 狗的名字：旺财" in mex("--lang", "zh", "profile").out
    else:
        assert ran.code == 1
        assert "schema.yaml" in ran.err


def test_seed_3_4_a_topic_without_fields_takes_records() -> None:
    """A domain for retrieval only."""
    use_schema("topics:\n  diary:\n    description: 日记\n")
    add("今天很好", "diary")
    assert found("--topic", "diary") == ["今天很好"]
    assert mex("add", *at("diary.mood"), "--content", "x", ok=False).code == 1


def test_seed_3_4_a_description_may_be_left_out() -> None:
    """The key serves as the label."""
    use_schema("topics:\n  pets:\n    sub_topics:\n      dog_name: {}\n")
    ran = mex("add", *at("pets.dog_name"), "--content", "旺财", ok=False)
    assert ran.code in (0, 1)
    if ran.code == 0:
        assert "旺财" in mex("profile").out
    else:
        assert "schema.yaml" in ran.err


def test_seed_3_5_the_order_of_the_fields_in_the_schema_is_the_order_shown() -> None:
    """键序即展示顺序: also after the schema was reordered."""
    use_schema(
        "topics:\n  goals:\n    description: 目标\n    sub_topics:\n      plan:\n        description: 计划\n"
        "        unique: false\n        fields:\n          what: 内容\n          when: 时间\n"
    )
    add('{"when": "明年", "what": "考试"}', "goals.plan")
    assert "内容：考试；时间：明年" in mex("--lang", "zh", "profile").out
    text = (home() / "schema.yaml").read_text(encoding="utf-8")
    use_schema(
        text.replace("          what: 内容\n          when: 时间\n", "          when: 时间\n          what: 内容\n")
    )
    assert "时间：明年；内容：考试" in mex("--lang", "zh", "profile").out
    assert "时间：明年；内容：考试" in mex("--lang", "zh", "list").out


def test_seed_3_6_values_that_no_longer_fit_are_shown_without_a_crash() -> None:
    """遗留的旧纯文本记录, a key that is gone, a slot that became unique: profile, list, search, export go on."""
    use_schema(SEED_SCHEMA)
    add("写开源", "work.oss_projects")
    add("写文档", "work.oss_projects")
    add("考证", "work.goal_current")
    add('{"start": "2019", "end": "2023", "company": "星辰", "kind": "全职"}', "work.experience")
    changed = (
        SEED_SCHEMA.replace(
            "oss_projects: { description: 开源项目, unique: false }", "oss_projects: { description: 开源项目 }"
        )
        .replace("          kind: 类型（全职/实习）\n", "")
        .replace(GOAL, STRUCTURED_GOAL)
    )
    use_schema(changed)
    for command in (("profile",), ("list",), ("search",)):
        out = mex(*command).out
        for words in ("写文档", "考证", "星辰", *(() if command == ("profile",) else ("写开源",))):
            assert words in out, command
        assert '{"' not in out, command
    told = mex("doctor", ok=False).out
    for content in ("考证", "写开源"):
        memory_id = one("SELECT id FROM memories WHERE content = ?", content)
        assert memory_id[:8] in told
    mex("export", "--format", "markdown", "--output", str(home() / "e.md"))
    assert mex("add", *at("work.oss_projects"), "--content", "又一个", ok=False).code == 1


def test_seed_3_6_a_structured_value_that_doctor_found_is_repaired_by_update() -> None:
    """由用户手动处理——mex update 迁移到结构化格式."""
    use_schema(SEED_SCHEMA)
    memory = add("考证", "work.goal_current")
    use_schema(SEED_SCHEMA.replace(GOAL, STRUCTURED_GOAL))
    assert memory["id"][:8] in mex("doctor", ok=False).out
    mex("update", memory["id"], "--content", '{"goal": "考证"}')
    assert memory["id"][:8] not in mex("doctor").out


def test_product_h12_a_long_document_is_never_cut(model: ModelServer, tmp_path: Path) -> None:
    """Split at paragraphs; every paragraph reaches the model once."""
    paragraphs = [f"第{number:03}段：" + "这里写了很多经历和项目。" * 30 for number in range(60)]
    path = write(tmp_path / "cv.md", "\n\n".join(paragraphs))
    mex("extract", "--file", str(path))
    assert len(model.requests()) > 1
    sent = [turn["text"] for request in model.requests() for turn in turns(request) if not turn.get("context")]
    for number in range(60):
        assert sum(f"第{number:03}段" in text for text in sent) == 1
    assert sum(len(text) for text in sent) >= sum(len(text) for text in paragraphs)


def test_seed_8_3_one_file_is_one_source_whatever_its_path(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """会话文件绝对路径: relative, absolute and through a link it is the same file."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.jsonl").symlink_to(session.path)
    for path in ("s.jsonl", "./s.jsonl", str(session.path), "link.jsonl"):
        mex("extract", "--from", "claude", "--file", path)
    assert len(model.requests()) == 1
    assert rows("SELECT source_file FROM extraction_state") == [(str(session.path.resolve()),)]


def test_seed_8_3_an_empty_file_is_told_and_not_sent(model: ModelServer, tmp_path: Path) -> None:
    """Nothing there yet; what is written later is read."""
    path = write(tmp_path / "a.txt", "")
    ran = mex("extract", "--file", str(path), ok=False)
    assert ran.code in (0, 1)
    assert (ran.out + ran.err).strip()
    assert model.requests() == []
    write(tmp_path / "a.txt", "用户：我住在杭州")
    mex("extract", "--file", str(path))
    assert model.asked("我住在杭州") == 1


@pytest.mark.parametrize("content", TEXTS, ids=range(len(TEXTS)))
def test_seed_5_1_any_text_can_be_remembered_and_found(content: str) -> None:
    """content is text, whatever it looks like."""
    memory = dict(mex("add", f"--content={content}", "--json").json)
    assert memory["content"] == content
    assert one("SELECT content FROM memories") == content
    assert found(f"--keyword={content[:40]}") == [content]
    assert mex("list").code == mex("profile").code == 0


@pytest.mark.parametrize("limit", ["1", "5", "20"])
def test_seed_6_2_a_tiny_budget_still_gives_a_profile(limit: str) -> None:
    """Never a crash, never more than asked for beyond the heading."""
    add("小陈" * 30, "basic_info.name")
    add("记一笔" * 30)
    out = mex("--lang", "zh", "profile", "--max-tokens", limit).out
    assert out.startswith("# ")
    assert "小陈" not in out


def test_seed_3_1_a_database_made_by_the_document_holds_its_foreign_words(tmp_path: Path) -> None:
    """Another program may read the tables by the document's names while mex is used."""
    add("远光软件", "work.company")
    with opened(home() / "mex.db") as db:
        sql = "SELECT m.content, h.event FROM memories m JOIN history h ON h.memory_id = m.id WHERE m.forgotten_at IS NULL"
        assert list(db.execute(sql)) == [("远光软件", "add")]


@pytest.mark.parametrize("mark", ["CLAUDECODE", "OPENCODE", "CODEX_SANDBOX", "GEMINI_CLI"])
def test_product_f4_inside_an_agent_a_write_is_the_agents(mark: str) -> None:
    """Without --by: ai when an agent's variable is set and stdin is no terminal; --by user overrules it."""
    memory = add("远光软件", "work.company", **{mark: "1"})
    assert memory["confidence"] == "explicit"
    assert one("SELECT actor FROM history") == "ai"
    assert add("杭州", "basic_info.location", "--by", "user", **{mark: "1"})["confidence"] == "confirmed"


def test_product_b9_an_ambiguous_prefix_is_refused() -> None:
    """An unambiguous prefix of 8 or more characters."""
    for number, content in enumerate(("甲", "乙")):
        memory = add(content)
        fresh = f"abcdef12-000{number}-4000-8000-000000000000"
        with opened(home() / "mex.db") as db:
            db.execute("UPDATE memories SET id = ? WHERE id = ?", (fresh, memory["id"]))
            db.execute("UPDATE history SET memory_id = ? WHERE memory_id = ?", (fresh, memory["id"]))
    for command in ("get", "history", "forget"):
        ran = mex(command, "abcdef12", ok=False)
        assert ran.code == 1
        assert "abcdef12" in ran.err
    assert mex("get", "abcdef12-0001").json["content"] == "乙"
    assert contents() == ["乙", "甲"]


@pytest.mark.parametrize(
    ("said", "slot", "content"),
    [
        ("记住：我对花生过敏", "health.allergy", "花生"),
        ("My name is Lin Xiao.", "basic_info.name", "Lin Xiao"),
        ("I work at Acme Robotics.", "work.company", "Acme Robotics"),
        ("我在青禾科技工作", "work.company", "青禾科技"),
    ],
)
def test_product_c9_the_rules_read_both_languages(said: str, slot: str, content: str) -> None:
    """What the user said in so many words, tier explicit, evidence attached."""
    mex("extract", said)
    assert active(slot) == [content]
    assert rows("SELECT confidence, is_ai_inferred, evidence IS NOT NULL FROM memories") == [("explicit", 0, 1)]


def test_product_c9_the_rules_do_not_guess() -> None:
    """Questions, other people, plans and negations write nothing into the user's slots."""
    mex("extract", "我同事在腾讯工作。你叫什么名字？如果我住在海边就好了。I do not work at Acme. Do I live in Paris?")
    assert rows("SELECT topic, sub_topic, content FROM memories WHERE sub_topic IS NOT NULL") == []


def test_product_h8_of_several_jobs_the_worst_counts(model: ModelServer) -> None:
    """wait: 1 for an unknown one, whatever the others."""
    job = mex("extract", "我住在杭州", "--json").json["job_id"]
    assert mex("jobs", "wait", job).code == 0
    assert mex("jobs", "wait", job, "00000000-0000-4000-8000-000000000000", ok=False).code == 1
