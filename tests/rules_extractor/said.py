"""What the tests of the rule extractor share: the shipped schema, turns, and findings written as "slot = content"."""

from pathlib import Path

import yaml

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.conversation import Kind, Role, Turn
from mex_pipeline.domain.schema import Schema, parse
from mex_pipeline.rules_extractor.extract import extract

_FILE = Path(__file__).resolve().parents[2] / "config" / "schema" / "zh.yaml"

SCHEMA: Schema = parse(yaml.safe_load(_FILE.read_text("utf-8")))[0]


def has_slot(topic: str, sub_topic: str) -> bool:
    return SCHEMA.find(topic, sub_topic) is not None


def turn(text: str, role: Role = "user", kind: Kind = "typed") -> Turn:
    return Turn(key="k", role=role, text=text, kind=kind)


def candidates(text: str, role: Role = "user", kind: Kind = "typed") -> list[Candidate]:
    return extract([(1, turn(text, role, kind))], has_slot)


def found(text: str, kind: Kind = "typed") -> list[str]:
    """What one user turn yields: "work.company = 青禾科技"; a record is "record = …"."""
    return [
        f"{'.'.join(candidate.slot) if candidate.slot else 'record'} = {candidate.content}"
        for candidate in candidates(text, kind=kind)
    ]
