"""What the documents promise is there: the two commands, every command, every file they link to."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.cli.app import build

ROOT = Path(__file__).parents[2]
README, CHINESE = ROOT / "README.md", ROOT / "docs" / "zh" / "README.md"
ADRS = ROOT / "docs" / "adr"
FIRST_TWO = ["sh docs/examples/first-run.sh\n", "sh tests/run.sh\n"]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^()\s]+)\)")
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", "workers/*.md", "benchmarks/*.md") for page in ROOT.glob(pattern)
)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language, in order."""
    return [found["body"] for found in FENCE.finditer(page.read_text("utf-8")) if found["language"] == language]


def links(page: Path) -> Iterator[Path]:
    """Every file the page links to, code blocks left out."""
    for found in LINK.finditer(FENCE.sub("", page.read_text("utf-8"))):
        target = found["target"].partition("#")[0]
        if target and not target.startswith(("http://", "https://", "mailto:")):
            yield (page.parent / target).resolve()


def commands(name: str, command: Any) -> Iterator[str]:
    """The full names of a command and of all below it; a group that does nothing by itself is left out."""
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield name
    for child, below in children.items():
        yield from commands(f"{name} {child}", below)


@pytest.mark.parametrize("page", [README, CHINESE], ids=["en", "zh"])
def test_the_only_shell_blocks_are_the_two_commands_in_their_order(page: Path) -> None:
    """Whoever runs the README's shell blocks runs these two, and both scripts exist."""
    assert blocks(page, "sh") == FIRST_TWO
    assert FENCE.search(page.read_text("utf-8"))["body"] == FIRST_TWO[0]  # type: ignore[index]
    assert all((ROOT / command.split()[1]).is_file() for command in FIRST_TWO)


def test_both_readmes_run_the_same_commands() -> None:
    """A block of one stands in the other, command for command, and the tables name the same ones."""
    english, chinese = (
        [line for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
        for page in (README, CHINESE)
    )
    assert [line.partition("#")[0] for line in english] == [line.partition("#")[0] for line in chinese]


@pytest.mark.parametrize("page", [README, CHINESE], ids=["en", "zh"])
def test_every_command_is_in_the_readme(page: Path) -> None:
    """A command nobody can find is no command."""
    text = page.read_text("utf-8")
    missing = [name for name in commands("mex", build()) if re.search(rf"`{name}\b", text) is None]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_resolves(page: Path) -> None:
    """No link leads nowhere, and none leaves the repository."""
    found = list(links(page))
    assert [target for target in found if not target.exists()] == []
    assert all(target.is_relative_to(ROOT) for target in found)


def test_every_decision_is_in_the_index() -> None:
    """An ADR that nothing links to is not read."""
    listed = set(links(ADRS / "README.md"))
    assert [page.name for page in sorted(ADRS.glob("0*.md")) if page not in listed] == []
    assert len(list(ADRS.glob("0*.md"))) >= 13
