"""Shared material of the domain tests: the schema of seed 004 §3.4, its English twin, and short builders."""

from typing import Any

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.conversation import Chunk, Role, Turn
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.schema import Schema, parse

NOW = "2026-08-06T08:30:00Z"

SEED_TOPICS: dict[str, Any] = {
    "basic_info": {
        "description": "基础信息",
        "sub_topics": {"name": {"description": "姓名"}, "location": {"description": "现居地"}},
    },
    "work": {
        "description": "工作与职业（含创业与开源）",
        "sub_topics": {
            "position": {"description": "当前职位"},
            "company": {"description": "当前公司"},
            "experience": {
                "description": "工作经历",
                "unique": False,
                "fields": {
                    "start": {"description": "开始时间", "format": "time", "required": True},
                    "end": {"description": "结束时间", "format": "time", "required": True},
                    "company": {"description": "公司名", "required": True},
                    "position": "职位",
                    "kind": "类型（全职/实习）",
                },
            },
            "tech_stack": {"description": "技术栈/技能", "unique": False},
        },
    },
    "finance": {"description": "财务与理财", "sub_topics": {"income": {"description": "收入状况"}}},
    "family": {"description": "家庭", "sub_topics": {"members": {"description": "家庭成员", "unique": False}}},
    "goals": {
        "description": "目标与计划",
        "sub_topics": {
            "short_term_goal": {
                "description": "短期目标",
                "unique": False,
                "fields": {
                    "goal": {"description": "目标内容", "required": True},
                    "deadline": {"description": "截止时间", "format": "time"},
                },
            }
        },
    },
}

EN_TOPICS: dict[str, Any] = {
    "basic_info": {"description": "Basic information", "sub_topics": {"name": "Name", "location": "Current residence"}},
    "work": {
        "description": "Work and career (incl. start-ups)",
        "sub_topics": {
            "tech_stack": {"description": "Tech stack/skill", "unique": False},
            "experience": {
                "description": "Work experience",
                "unique": False,
                "fields": {
                    "start": {"description": "Start", "format": "time", "required": True},
                    "end": {"description": "End", "format": "time", "required": True},
                    "company": {"description": "Company", "required": True},
                    "position": "Position",
                },
            },
        },
    },
}


def seed_schema() -> Schema:
    """The Chinese schema."""
    return parse({"topics": SEED_TOPICS})[0]


def en_schema() -> Schema:
    """The English schema."""
    return parse({"topics": EN_TOPICS})[0]


def memory(number: int, slot: str | None, content: str, **changes: Any) -> Memory:
    """A memory with the id `m<number>`; `slot` is `work.company`, a bare topic, or None."""
    topic, _, sub_topic = (slot or "").partition(".")
    values: dict[str, Any] = {
        "is_ai_inferred": False,
        "confidence": Confidence.CONFIRMED,
        "evidence": None,
        "created_at": NOW,
        "updated_at": NOW,
        "valid_from": NOW,
        **changes,
    }
    return Memory(id=f"m{number}", topic=topic or None, sub_topic=sub_topic or None, content=content, **values)


def proposal(slot: str | None, content: str, **changes: Any) -> Candidate:
    """A candidate for `work.company`, a bare topic, or a record without a topic."""
    topic, _, sub_topic = (slot or "").partition(".")
    return Candidate(content, topic=topic or None, sub_topic=sub_topic or None, **changes)


def chunk(*turns: tuple[Role, str], context: int = 0) -> Chunk:
    """A chunk of (role, text) turns with the keys k1, k2 …, of which the first `context` are only context."""
    made = tuple(
        Turn(
            key=f"k{number}",
            role=role,
            text=text,
            at=f"2026-08-0{number}T00:00:00Z",
            message_id=f"id{number}",
            session_id="s1",
        )
        for number, (role, text) in enumerate(turns, 1)
    )
    return Chunk(1, made[:context], made[context:])
