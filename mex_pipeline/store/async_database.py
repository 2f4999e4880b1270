"""The asynchronous gateway: the same verbs as `Database`, over aiosqlite, for the extraction pipeline."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self, TypeVar

import aiosqlite

from mex_pipeline.store.database import BUSY_SECONDS, FAILURES, PRAGMAS, translated
from mex_pipeline.store.functions import FUNCTIONS
from mex_pipeline.store.sql import Query, Statement, groups

T = TypeVar("T")


class AsyncDatabase:
    """One connection in its own thread. Every await is one hop, so equal SQL is grouped before it is sent."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        # Chunks are asked concurrently over this one connection: their short transactions take turns.
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Return a gateway to the file at `path`; raises what `Database.open` raises."""
        try:
            connection = await aiosqlite.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise translated(error, str(path)) from error
        connection.row_factory = sqlite3.Row
        for function in FUNCTIONS:
            await connection.create_function(*function, deterministic=True)
        try:
            await connection.executescript(PRAGMAS)
        except sqlite3.Error as error:
            await connection.close()
            raise translated(error, str(path)) from error
        return cls(connection, path)

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and COMMIT."""
        return self._connection.in_transaction

    async def all(self, query: Query[T]) -> list[T]:
        """Return every decoded row."""
        try:
            rows = await self._connection.execute_fetchall(query.sql, dict(query.params))
            return [query.decode(row) for row in rows]
        except FAILURES as error:
            raise translated(error, str(self._path)) from error

    async def first(self, query: Query[T]) -> T | None:
        """Return the first decoded row, or None."""
        rows = await self.all(query)
        return rows[0] if rows else None

    async def run(self, *statements: Statement) -> int:
        """Run the statements in order and return the number of rows the last group changed."""
        changed = 0
        try:
            for sql, params in groups(statements):
                cursor = await self._connection.executemany(sql, params)
                changed = cursor.rowcount
                await cursor.close()
        except FAILURES as error:
            raise translated(error, str(self._path)) from error
        return changed

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """Hold the write lock: commit when the block ends, roll back on anything that leaves it, cancellation included."""
        async with self._turn:
            try:
                await self._execute("BEGIN IMMEDIATE")
                yield self
                await self._execute("COMMIT")
            except BaseException:
                # A cancelled await may have left its statement with the connection's thread: roll back behind it.
                await asyncio.shield(self._roll_back())
                raise

    async def _roll_back(self) -> None:
        await self._connection.rollback()

    async def _execute(self, sql: str) -> None:
        try:
            await (await self._connection.execute(sql)).close()
        except sqlite3.Error as error:
            raise translated(error, str(self._path)) from error

    async def close(self) -> None:
        """Close the connection and end its thread."""
        await self._connection.close()
