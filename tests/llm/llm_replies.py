"""Replies of a model, and what the contract makes of them."""

import json
from typing import Any

from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.contract import parse_reply

TEA = {"action": "new", "topic": "hobby", "sub_topic": "drink", "content": "绿茶", "evidence": "用户说「我爱喝绿茶」"}
RUST = {"action": "new", "topic": "work", "sub_topic": "tech_stack", "content": "Rust"}
TEA_REPLY = json.dumps({"memories": [TEA]}, ensure_ascii=False)


def reply(*memories: Any) -> str:
    return json.dumps({"memories": memories}, ensure_ascii=False)


def contents(text: str) -> list[str]:
    return [candidate.content for candidate in parse_reply(text).candidates]


def read_or_code(text: str) -> Any:
    """The parsed reply, or the code of the named error; anything else it raises is raised."""
    try:
        return parse_reply(text)
    except LLMBadReply as error:
        return error.code
