"""The two values the stores make and the gateways run: a Query reads rows, a Statement writes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Row(Protocol):
    """A row by column name: `sqlite3.Row` in both gateways."""

    def __getitem__(self, name: str, /) -> Any:
        """Return one column."""
        ...

    def keys(self) -> Any:
        """Return the column names."""
        ...


class Query(NamedTuple, Generic[T]):
    """A SELECT (or a `… RETURNING` inside a transaction) with its values and the decoder of one row."""

    sql: str
    params: Mapping[str, Any]
    decode: Callable[[Row], T]


class Statement(NamedTuple):
    """A write with its values. Statements of equal SQL are sent as one `executemany`."""

    sql: str
    params: Mapping[str, Any] = {}


def where(conditions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return `WHERE …` (or nothing) and the values, from {SQL condition with one :name: value}; a None value drops it.

    The name in the condition is the key of its value: {"topic = :topic": "work"}.
    """
    kept = {sql: value for sql, value in conditions.items() if value is not None}
    if not kept:
        return "", {}
    values = {sql.split(":", 1)[1].split(" ")[0].rstrip(")"): value for sql, value in kept.items()}
    return "WHERE " + " AND ".join(kept), values


def groups(statements: Sequence[Statement]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return consecutive statements of equal SQL together, in order: the lock is held for as few calls as possible."""
    grouped: list[tuple[str, list[Mapping[str, Any]]]] = []
    for statement in statements:
        if grouped and grouped[-1][0] == statement.sql:
            grouped[-1][1].append(statement.params)
        else:
            grouped.append((statement.sql, [statement.params]))
    return grouped


def value(name: str) -> Callable[[Row], Any]:
    """Return a decoder that takes one column."""
    return lambda row: row[name]
