"""The report of `mex doctor` as values: checks, their findings, and the command that resolves each (seed 004 §3.6)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.errors import MexError

FIX = "mex doctor --fix"


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Item:
    """One finding: what it is (a message id below `doctor`) with its facts, the memory it is about, what resolves it.

    `error` says why in its own words, where a rule was broken.
    """

    code: str
    facts: dict[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    memory: Memory | None = None
    error: MexError | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check by its name: its status, what there is to say of it (a message id, or an error), and its findings."""

    name: str
    status: Status
    items: tuple[Item, ...] = ()
    code: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    error: MexError | None = None


@dataclass(frozen=True, slots=True)
class LLMState:
    """The model's endpoint; `reachable` and the number of `models` are None when it was not asked."""

    configured: bool = False
    reachable: bool | None = None
    models: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Every check in the order in which they are shown, and what was put right: {name of the check: how much}.

    `is_new` says that the home was made just now, `copies` where the files of an earlier meX lie that it took over.
    """

    checks: tuple[Check, ...]
    llm: LLMState
    fixed: dict[str, int]
    is_new: bool
    copies: tuple[Path, ...]

    def dangling(self) -> Iterator[tuple[Memory, str]]:
        """Yield (memory, reason) of every active memory that does not fit the schema."""
        for check in self.checks:
            for item in check.items if check.name in SCHEMA_CHECKS else ():
                if item.memory is not None:
                    yield item.memory, item.error.code if item.error else item.code

    @property
    def schema_ok(self) -> bool:
        """True when schema.yaml and the memories could be read, and every active memory fits."""
        needed = [check for check in self.checks if check.name in ("schema", *SCHEMA_CHECKS)]
        return all(check.status in (Status.OK, Status.WARNING) and not _has_memories(check) for check in needed)


SCHEMA_CHECKS = ("slots", "contents", "unique")
"""The checks of memories against schema.yaml."""


def _has_memories(check: Check) -> bool:
    return any(item.memory is not None for item in check.items)


def found(name: str, items: list[Item], status: Status, *, code: str = "", **facts: Any) -> Check:
    """Return a check that is as bad as `status` when there are findings, else fine."""
    return Check(name, status if items else Status.OK, tuple(items), code, facts)
