"""SQL of `proposals`: what waits for a person and is no memory yet (product B5, F5)."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from mex_pipeline.domain.proposal import Proposal, ProposalKind, decode, encode
from mex_pipeline.store.sql import Query, Row, Statement, value

_COLUMNS = ("id", "kind", "reason", "created_at", "memory_id", "other_id", "candidate", "job_id")
_SELECT = "SELECT " + ", ".join(f"p.{column}" for column in _COLUMNS) + " FROM proposals p"

# The pair that is turned round is the same question, and so is the same value for the same place.
_INSERT = (
    f"INSERT INTO proposals ({', '.join(_COLUMNS)}) SELECT {', '.join(':' + column for column in _COLUMNS)} "
    "WHERE NOT EXISTS (SELECT 1 FROM proposals WHERE kind = :kind AND ((memory_id, other_id) IN "
    "((:memory_id, :other_id), (:other_id, :memory_id)) OR "
    + " AND ".join(
        f"json_extract(candidate, '$.{key}') IS json_extract(:candidate, '$.{key}')"
        for key in ("content", "topic", "sub_topic", "action")
    )
    + "))"
)


def insert(proposal: Proposal) -> Statement:
    """Ask a person; nothing is written when the same is asked already."""
    candidate = None if proposal.candidate is None else encode(proposal.candidate)
    values = {column: getattr(proposal, column) for column in _COLUMNS if column != "candidate"}
    return Statement(_INSERT, values | {"candidate": candidate})
