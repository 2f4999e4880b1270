"""Files of at most 400 lines, functions of at most 50 (seed 004 §4.1)."""

import ast
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, all_files, tree

MAX_FILE, MAX_FUNCTION = 400, 50
FILES = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in all_files()]


@pytest.mark.parametrize("path", FILES)
def test_seed_4_1_a_file_stays_below_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE


@pytest.mark.parametrize("path", FILES)
def test_seed_4_1_a_function_stays_below_50_lines(path: Path) -> None:
    long = {
        f"{node.name}:{node.lineno}"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION
    }
    assert not long


def test_test_modules_have_names_of_their_own() -> None:
    """pytest imports them by their base name."""
    names = [path.name for path in all_files() if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
