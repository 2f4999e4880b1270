"""What the tests of the seed share: short ways to write a memory, to be refused, to ask the model, to read the tables."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer, reply
from tests.support.program import Ran, mex, opened

SEED_SCHEMA = """\
topics:
  basic_info:
    description: 基础信息
    sub_topics:
      name: { description: 姓名 }
      gender: { description: 性别 }
      birth_year: { description: 出生年份 }
      hometown: { description: 籍贯 }
      location: { description: 现居地 }
  work:
    description: 工作与职业（含创业与开源）
    sub_topics:
      position: { description: 当前职位 }       # 省略=唯一：当前职位
      company: { description: 当前公司 }
      experience:                               # 可多条 + 结构化 JSON 字段
        description: 工作经历
        unique: false
        fields:
          start:
            description: 开始时间
            format: time
            required: true
          end:
            description: 结束时间
            format: time
            required: true
          company:
            description: 公司名
            required: true
          position: 职位
          department: 部门
          summary: 内容概要
          kind: 类型（全职/实习）
      tech_stack: { description: 技术栈/技能, unique: false }
      startup_status: { description: 创业状态 }
      oss_projects: { description: 开源项目, unique: false }
      goal_current: { description: 当前职业目标 }
  finance:
    description: 理财
    sub_topics:
      income: { description: 收入 }
  values:
    description: 三观与原则
    sub_topics:
      principles: { description: 原则, unique: false }
      risk_preference: { description: 风险偏好 }
"""
"""The schema of seed §3.4, as far as its examples need it."""

EXPERIENCE = (
    '{"start": "2019", "end": "2023", "company": "星辰软件", "position": "后端工程师", '
    '"department": "交易平台部", "summary": "订单系统重构与性能优化", "kind": "全职"}'
)
"""The structured value of seed §3.4."""


def home() -> Path:
    """The home of this test."""
    return Path(os.environ["MEX_HOME"])


def database() -> Path:
    """The one file of seed ADR-2."""
    return home() / "mex.db"


def use_schema(text: str) -> None:
    """Edit schema.yaml as a person does (seed ADR-6)."""
    mex("init")
    (home() / "schema.yaml").write_text(text, encoding="utf-8")


def use_config(text: str) -> None:
    """Write a config.yaml of one's own."""
    mex("init")
    (home() / "config.yaml").write_text(text, encoding="utf-8")


def at(slot: str) -> tuple[str, ...]:
    """The options that name a slot, or a topic alone."""
    topic, _, sub_topic = slot.partition(".")
    return ("--topic", topic, "--sub-topic", sub_topic) if sub_topic else ("--topic", topic)


def add(content: str, slot: str | None = None, *options: str, **environment: str) -> dict[str, Any]:
    """Add a memory by hand and return it."""
    where = at(slot) if slot else ()
    return dict(mex("add", *where, "--content", content, *options, "--json", **environment).json)


def refused(*arguments: str, **environment: str) -> Ran:
    """Run what has to be refused as the user's error: exit 1, said on stderr, nothing on stdout (seed §5.2)."""
    ran = mex(*arguments, ok=False, **environment)
    assert ran.code == 1, ran
    assert ran.out == "", ran
    assert ran.err.strip()
    return ran


def refused_add(content: str, slot: str | None = None, *options: str) -> Ran:
    """An `add` that has to be refused."""
    return refused("add", *(at(slot) if slot else ()), "--content", content, *options)


def get(memory_id: str) -> dict[str, Any]:
    """One memory."""
    return dict(mex("get", memory_id).json)


def found(*options: str) -> list[str]:
    """The contents a search finds, in its order."""
    return [one["content"] for one in mex("search", *options, "--json").json]


def listed(*options: str) -> list[str]:
    """The contents a listing shows, in its order."""
    return [one["content"] for one in mex("list", *options, "--json").json]


def history(memory_id: str) -> list[dict[str, Any]]:
    """What happened to a memory, oldest first."""
    return list(mex("history", memory_id, "--json").json)


def events(memory_id: str) -> list[str]:
    """The events of a memory's history, from the table, oldest first."""
    return [row[0] for row in rows("SELECT event FROM history WHERE memory_id = ? ORDER BY rowid", memory_id)]


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """What a query of the tables gives."""
    with opened(database()) as db:
        return list(db.execute(sql, parameters))


def one(sql: str, *parameters: Any) -> Any:
    """The single value a query of the tables gives."""
    ((value,),) = rows(sql, *parameters)
    return value


def change(sql: str, *parameters: Any) -> None:
    """Change a table behind the program's back, to make something old."""
    with opened(database()) as db:
        db.execute(sql, parameters)


def active(slot: str) -> list[str]:
    """The active contents of a slot, from the table."""
    topic, _, sub_topic = slot.partition(".")
    return [
        row[0]
        for row in rows(
            "SELECT content FROM memories WHERE topic = ? AND sub_topic = ? AND forgotten_at IS NULL"
            " ORDER BY created_at, rowid",
            topic,
            sub_topic,
        )
    ]


def candidate(slot: str | None, content: str, quote: str | None = None, **more: Any) -> dict[str, Any]:
    """A candidate of seed §7.2; the quote is the content unless told."""
    topic, _, sub_topic = (slot or "").partition(".")
    words = content if quote is None else quote
    return {
        "topic": topic or None,
        "sub_topic": sub_topic or None,
        "content": content,
        "evidence": f'用户说："{words}"',
    } | more


def said(model: ModelServer, text: str, *candidates: dict[str, Any], **environment: str) -> dict[str, Any]:
    """Extract a text that the model answers with these candidates; return the result (product H9)."""
    model.script({"reply": reply(*candidates)})
    return dict(mex("extract", text, "--json", **environment).json)


def reasons(result: dict[str, Any]) -> list[str]:
    """The contents a result lists as discarded."""
    return [entry["content"] for entry in result["discarded"] if entry["reason"]]


def system_and_user(request: dict[str, Any]) -> tuple[str, str]:
    """The two messages of a request."""
    by_role = {message["role"]: message["content"] for message in request["messages"]}
    return by_role["system"], by_role["user"]


@contextmanager
def write_lock() -> Iterator[None]:
    """Another program holds the database's write lock, with a change it has not committed."""
    with opened(database()) as db:
        db.isolation_level = None
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE memories SET evidence = 'not committed'")
        try:
            yield
        finally:
            db.execute("ROLLBACK")
