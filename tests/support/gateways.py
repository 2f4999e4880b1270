"""Both gateways behind one set of plain calls, so that a store case is written once and run twice."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from mex_pipeline.store import migrations
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Query, Statement

T = TypeVar("T")


class Gateway(Protocol):
    """What a case may do with a database."""

    def all(self, query: Query[T]) -> list[T]: ...
    def first(self, query: Query[T]) -> T | None: ...
    def run(self, *statements: Statement) -> int: ...
    def transaction(self) -> Any: ...
    @property
    def in_transaction(self) -> bool: ...


class Blocking:
    """`AsyncDatabase` with its verbs run to their end on a loop of its own."""

    def __init__(self, path: Path) -> None:
        self._runner = asyncio.Runner()
        try:
            self._database = self._runner.run(AsyncDatabase.open(path))
        except BaseException:
            self._runner.close()
            raise

    def all(self, query: Query[T]) -> list[T]:
        return self._runner.run(self._database.all(query))

    def first(self, query: Query[T]) -> T | None:
        return self._runner.run(self._database.first(query))  # type: ignore[arg-type]  # inferred as T | None twice

    def run(self, *statements: Statement) -> int:
        return self._runner.run(self._database.run(*statements))

    @property
    def in_transaction(self) -> bool:
        return self._database.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        block = self._database.transaction()
        self._runner.run(_entered(block))
        try:
            yield self
        except BaseException as error:
            if not self._runner.run(_left(block, error)):
                raise
        else:
            self._runner.run(_left(block, None))

    def close(self) -> None:
        self._runner.run(self._database.close())
        self._runner.close()


async def _entered(block: Any) -> None:
    await block.__aenter__()


async def _left(block: Any, error: BaseException | None) -> Any:
    return await block.__aexit__(type(error) if error else None, error, error.__traceback__ if error else None)


def fresh(path: Path) -> Path:
    """Make an empty meX database."""
    database = Database.open(path)
    migrations.ensure_current(database)
    database.close()
    return path


@contextmanager
def opened(kind: str, path: Path) -> Iterator[Gateway]:
    """Open a gateway of one kind, `sync` or `async`."""
    gateway = Database.open(path) if kind == "sync" else Blocking(path)
    try:
        yield gateway
    finally:
        gateway.close()


def rows(db: Gateway, sql: str, **params: Any) -> list[dict[str, Any]]:
    """Return rows as dicts: a look past the stores at what is really written."""
    return db.all(Query(sql, params, dict))


def one(db: Gateway, sql: str, **params: Any) -> Any:
    """Return the only column of the only row."""
    (row,) = rows(db, sql, **params)
    (value,) = row.values()
    return value
