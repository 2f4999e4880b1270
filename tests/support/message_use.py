"""Which message ids, codes and reasons the code uses, read from its syntax trees."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mex_pipeline import errors
from mex_pipeline.errors import MexError
from tests.support.source_tree import package_files, tree

ERROR_CLASSES = {
    name: one for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, MexError)
}  # fmt: skip


@dataclass
class Raised:
    """A code at the place it is made, and the names of its facts (None where they are not written out)."""

    code: str
    place: str
    facts: set[str] | None


@dataclass
class Used:
    """What one walk over all modules has found."""

    texts: set[str] = field(default_factory=set)
    families: set[str] = field(default_factory=set)
    raised: list[Raised] = field(default_factory=list)
    reasons: dict[str, set[str]] = field(default_factory=dict)
    """Each discard reason with the names of its facts."""
    constants: set[str] = field(default_factory=set)


def used() -> Used:
    """Return every id given to `text`/`t`, every error code with its facts, and every discard reason."""
    found = Used()
    for module, path in package_files().items():
        is_catalogue = module.startswith("mex_pipeline.messages.")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                _call(node, module, found)
            elif isinstance(node, ast.Dict):
                found.raised += [Raised(code, f"{module}:{node.lineno}", None) for code in _recorded(node)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not is_catalogue:
                found.constants.add(node.value)
        if module == "mex_pipeline.domain.rules":
            found.reasons |= {reason: {"slot"} for reason in _returned(tree(path), "_refusal")}
        if module.startswith("mex_pipeline.llm."):
            found.raised += [Raised(code, module, None) for code in _llm_codes(tree(path))]
    return found


def _call(node: ast.Call, module: str, found: Used) -> None:
    name = _name(node.func)
    place = f"{module}:{node.lineno}"
    if name in ("t", "text") and node.args and not isinstance(node.func, ast.Call):
        for value in _choices(node.args[0]):
            (found.families if "*" in value else found.texts).add(value)
    elif name in ERROR_CLASSES or name == "_fault":
        default = ERROR_CLASSES[name].code if name in ERROR_CLASSES else ""
        given = list(_choices(node.args[0])) if node.args else [default]
        found.raised += [Raised(code, place, _facts(node, name)) for code in given]
    elif (name in ("Discarded", "drop") and len(node.args) > 1) or name == "PydanticCustomError":
        at = 0 if name == "PydanticCustomError" else 1
        for reason in _choices(node.args[at]):
            found.reasons[reason] = _keys(node.args[2]) if len(node.args) > 2 else set()


def _keys(node: ast.expr) -> set[str]:
    """The keys of an object that is written out."""
    keys = node.keys if isinstance(node, ast.Dict) else []
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _recorded(node: ast.Dict) -> Iterator[str]:
    """Yield the code of an error that is written into a job as a plain object."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "code":
            yield from _choices(value)


def _facts(node: ast.Call, name: str) -> set[str] | None:
    names = {word.arg for word in node.keywords}
    if None in names:
        return None
    added = {"path", "line", "key"} if name == "_fault" else set()
    return {str(word) for word in names} | added


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _choices(node: ast.expr) -> Iterator[str]:
    """Yield the texts an expression may be; `*` stands for what an f-string fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _choices(node.body)
        yield from _choices(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)


def _returned(module: ast.Module, function: str) -> set[str]:
    """The text constants a function returns."""
    (found,) = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == function]
    values = [node.value for node in ast.walk(found) if isinstance(node, ast.Return)]
    return {value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def _llm_codes(module: ast.Module) -> set[str]:
    """The codes of the llm package, which stand in tables and in helpers' returns."""
    texts = (node.value for node in ast.walk(module) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and re.fullmatch(r"llm_[a-z_]+", text)}


def placeholders(text: str) -> set[str]:
    """The names of the placeholders of a message."""
    return set(re.findall(r"\{(\w+)[^}]*\}", text.replace("{{", "").replace("}}", "")))


def defaults() -> dict[str, Any]:
    """Each error class's own code."""
    return {name: one.code for name, one in ERROR_CLASSES.items()}
