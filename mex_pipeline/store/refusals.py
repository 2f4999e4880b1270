"""SQL of `refusals`: what must not be learned again (product B6, C6)."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from mex_pipeline.domain.refusal import Refusal, RefusalKind
from mex_pipeline.store.sql import Query, Row, Statement

_COLUMNS = ("kind", "slot", "length", "checksum", "salt", "hash", "created_at")


def insert(refusal: Refusal) -> Statement:
    """Remember a refusal."""
    return Statement(
        f"INSERT INTO refusals ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)}) "
        "ON CONFLICT DO NOTHING",
        asdict(refusal),
    )


def of_kinds(*kinds: RefusalKind) -> Query[Refusal]:
    """Every refusal of these kinds, oldest first."""
    return Query(
        f"SELECT {', '.join(_COLUMNS)} FROM refusals WHERE kind IN (SELECT value FROM json_each(:kinds)) ORDER BY seq",
        {"kinds": json.dumps(kinds)},
        _decode,
    )


def by_slot(kind: RefusalKind) -> Query[tuple[str, int]]:
    """(slot, number of refusals) of one kind."""
    return Query(
        "SELECT slot, count(*) AS n FROM refusals WHERE kind = :kind GROUP BY slot ORDER BY slot",
        {"kind": kind},
        lambda row: (row["slot"], row["n"]),
    )


def lift(refusals: Iterable[Refusal]) -> Statement:
    """Let what was refused be learned again."""
    return Statement(
        "DELETE FROM refusals WHERE hash IN (SELECT value FROM json_each(:hashes))",
        {"hashes": json.dumps([one.hash for one in refusals])},
    )


def _decode(row: Row) -> Refusal:
    return Refusal(**{name: row[name] for name in _COLUMNS} | {"kind": RefusalKind(row["kind"])})
