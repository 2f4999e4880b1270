"""The project's own Python files and what they import: what the contract tests look at."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
PACKAGES = {"mex_pipeline": ROOT / "mex_pipeline", "mex_workers": ROOT / "workers" / "mex_workers"}
Scope = Literal["module", "types", "function"]


@dataclass(frozen=True)
class Import:
    """One imported module: where, and whether for types only or inside a function."""

    module: str
    line: int
    scope: Scope


@cache
def package_files() -> dict[str, Path]:
    """Every module of the two packages by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def all_files() -> list[Path]:
    """Every Python file of the project: packages, workers, tests, benchmarks."""
    folders = ("mex_pipeline", "workers", "tests", "benchmarks", "docs", "config", ".ci")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> list[Import]:
    """Every import of a file. `from a import b` names `a.b` when that is a module of ours, else `a`."""
    found: list[Import] = []
    _collect(tree(path), "module", found)
    return found


def _collect(node: ast.AST, scope: Scope, found: list[Import]) -> None:
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = "function"
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            inner = "types"
        elif isinstance(child, ast.Import):
            found += [Import(alias.name, child.lineno, scope) for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "absolute imports only"
            base = child.module or ""
            named = {f"{base}.{alias.name}" for alias in child.names}
            ours = named & package_files().keys()
            found += [Import(module, child.lineno, scope) for module in sorted(ours)]
            if named - ours:
                found.append(Import(base, child.lineno, scope))
        _collect(child, inner, found)


def is_ours(module: str) -> bool:
    """True for a module of this project."""
    return module.split(".", maxsplit=1)[0] in PACKAGES
