"""One word for one thing: the words the glossary rules out, as far as no other meaning of them is in use."""

import ast
import re
from collections.abc import Iterator

from tests.support.source_tree import ROOT, package_files, tree

RULED_OUT = {
    "attribute", "checkpoint", "daemon", "dedupe", "diff", "engine", "episode", "flush", "importer", "janitor",
    "operation", "overwrite", "persona", "plan", "proof", "recover", "remove", "save", "suggestion",
}  # fmt: skip
"""Left out are words that also name something else here: a key of an object, a field of a dataclass, a log file."""


def not_used() -> set[str]:
    """The words of the glossary's last column."""
    rows = (line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines())
    return {word.strip() for row in rows if len(row) == 6 for word in row[4].split(",")}


def names() -> Iterator[tuple[str, str]]:
    """Every name the packages define, and the module it stands in."""
    for module, path in package_files().items():
        yield module.rpartition(".")[2], module
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, module
            elif isinstance(node, ast.arg):
                yield node.arg, module
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, module


def test_every_word_that_is_ruled_out_stands_in_the_glossary() -> None:
    assert not_used() >= RULED_OUT


def test_no_name_uses_a_word_that_is_ruled_out() -> None:
    found = [
        (name, module)
        for name, module in names()
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
        if word.lower() in RULED_OUT or word.lower().removesuffix("s") in RULED_OUT
    ]
    assert found == []
    assert len(list(names())) > 1_000, "the walk finds what it is meant to find"
