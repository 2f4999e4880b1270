"""Files of at most 400 lines, functions of at most 50 (seed 004 §4.1)."""

import ast
from pathlib import Path

from tests.support.source_tree import ROOT, all_files

MAX_FILE, MAX_FUNCTION = 400, 50
FILES = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in all_files()}


def long_functions(path: Path, text: str) -> list[str]:
    """The functions of a file that have too many lines; one that has no more lines than that is not parsed."""
    if len(text.splitlines()) <= MAX_FUNCTION:
        return []
    return [
        f"{path}:{node.lineno} {node.name}"
        for node in ast.walk(ast.parse(text, str(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION
    ]


def test_seed_4_1_a_file_stays_below_400_lines() -> None:
    assert [str(path) for path, text in FILES.items() if len(text.splitlines()) > MAX_FILE] == []


def test_seed_4_1_a_function_stays_below_50_lines() -> None:
    assert [found for path, text in FILES.items() for found in long_functions(path, text)] == []


def test_test_modules_have_names_of_their_own() -> None:
    """pytest imports them by their base name."""
    names = [path.name for path in FILES if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
