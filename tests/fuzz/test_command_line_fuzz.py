"""Whatever is typed, and whatever the home looks like: exit 0, 1 or 2, one clear error, never a traceback (product G8)."""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mex_pipeline import messages
from mex_pipeline.cli.app import build
from tests.support.extent import tries
from tests.support.program import Ran, in_process, mex

NEVER = {"worker run", "worker start", "worker install-service", "worker uninstall-service", "jobs wait"}
"""What waits, starts a process, or speaks to the machine's services; each has tests of its own."""
NEVER_OPTIONS = {"--async", "--help", "--follow"}
NASTY = (
    "", " ", "-", "--", "0", "-1", "7d", "99999999999999999999", "1e9", "2026-13-45", "2026-02-30", "9999-12-31", "24h",
    "'; DROP TABLE memories; --", '"', "\"unclosed", "-not", "topic:", "since:never", "a:b:c", "*", "%", "_", "NEAR(a b)",
    "🙂👨‍👩‍👧", "مرحبا", "e\u0301", "\u202e", "\x1b[31m", "\udcff", "x" * 5000, "null", "[]", "{", '{"a": 1}', "../..",
    "/dev/null", "/nonexistent/x", "work", "company", "basic_info", "name", "deadbeef", "00000000-0000", "true", "zh", "json",
)  # fmt: skip


def _commands(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield path, command
    for name, child in children.items():
        yield from _commands((*path, name), child)


def _all() -> list[tuple[tuple[str, ...], Any]]:
    messages.activate("en")
    return [(path, command) for path, command in _commands((), build()) if " ".join(path) not in NEVER]


COMMANDS = _all()
values = st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
"""What the system can hand over: no NUL, and of surrogates those that stand for other bytes."""


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    path, command = draw(st.sampled_from(COMMANDS))
    words = list(path)
    for one in command.params:
        if one.param_type_name == "argument":
            words += draw(st.lists(values, max_size=2))
        elif one.opts[0] not in NEVER_OPTIONS and draw(st.booleans()):
            spelling = draw(st.sampled_from([*one.opts, *one.secondary_opts]))
            choices = list(getattr(one.type, "choices", ()))
            words += [spelling] if one.is_flag else [spelling, draw(st.sampled_from(choices) if choices else values)]
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(0, len(words))), draw(values))
    return words


def judged(ran: Ran, words: list[str]) -> None:
    assert ran.code in (0, 1, 2), (words, ran)
    assert "Traceback" not in ran.err, (words, ran)
    if ran.code:
        assert ran.err.strip(), (words, ran)
        if "--json" in words and "--" not in words:
            last = ran.err.strip().split("\n")[-1]
            assert set(json.loads(last)) == {"code", "message", "hint", "retryable"}, (words, ran)


@settings(max_examples=tries(500), deadline=None, suppress_health_check=list(HealthCheck))
@given(line=lines())
def test_no_line_of_arguments_ends_in_a_traceback(line: list[str], tmp_path: Path) -> None:
    os.chdir(tmp_path)
    judged(in_process(*line), line)


PROBES = [
    ["list"], ["list", "--json"], ["search", "a"], ["profile"], ["stats"], ["add", "--content", "x"], ["get", "deadbeef"],
    ["update", "deadbeef", "--content", "x"], ["jobs", "list"], ["extract", "记住：我喜欢茶"], ["config", "show"], [],
    ["worker", "status"],
]  # fmt: skip


def _filled() -> None:
    for number in range(5):
        mex("add", "--topic", "work", "--sub-topic", "tech_stack", "--content", f"skill {number} 技能")


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_database_is_an_error_of_the_outside(seed: int, home: Path, tmp_path: Path) -> None:
    _filled()
    chance = random.Random(seed)
    data = bytearray((home / "mex.db").read_bytes())
    for _ in range(chance.choice([1, 20, 2000])):
        data[chance.randrange(chance.choice([100, len(data)]))] = chance.randrange(256)
    cut = chance.choice([len(data), len(data) // 2, 4096, 17])
    for words in PROBES:
        for name in ("mex.db-wal", "mex.db-shm"):
            (home / name).unlink(missing_ok=True)
        (home / "mex.db").write_bytes(bytes(data[:cut]))
        judged(in_process(*words), words)


BAD_YAML = {
    "syntax": b"topics: [", "not utf-8": b"\xff\xfe\x00", "tab": b"topics:\n\ta: 1\n", "a list": b"- a\n- b\n", "empty": b"",
    "null": b"null\n", "a number": b"5\n", "unknown key": b"colour: red\n",
    "integer names": b"topics:\n  1:\n    description: a\n",
    "null section": b"llm:\n", "wrong types": b"llm:\n  timeout_seconds: [1]\nprofile: {max_tokens: soon}\n",
    "deep": b"a: " + b"[" * 5000, "nul": b"topics: \x00\n", "tag": b"topics: !!python/object:os.system ls\n",
}  # fmt: skip


@pytest.mark.parametrize("file", ["schema.yaml", "config.yaml"])
@pytest.mark.parametrize("fault", BAD_YAML)
def test_a_bad_yaml_file_is_an_error_of_the_user_and_is_never_overwritten(file: str, fault: str, home: Path) -> None:
    mex("init")
    (home / file).write_bytes(BAD_YAML[fault])
    for words in [*PROBES, ["config", "llm", "--provider", "ollama", "--model", "m"]]:
        ran = in_process(*words)
        judged(ran, words)
        assert ran.code in (0, 1), (words, ran)
        if fault not in ("empty", "null", "null section"):
            assert (home / file).read_bytes() == BAD_YAML[fault]


@pytest.mark.parametrize("limit", [0, 4096, 60_000, 140_000])
def test_a_full_disk_is_an_error_of_the_outside(limit: int, home: Path, tmp_path: Path) -> None:
    """The kernel refuses every byte beyond the limit of a file: what a full disk does, without one."""
    if limit:
        _filled()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for words in (["add", "--content", "x" * 3000], ["extract", "记住：我喜欢茶"], ["list"]):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "mex_pipeline", *words],  # no half a .pyc may stay behind
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limited,
        )
        judged(Ran(done.returncode, done.stdout, done.stderr), words)
    shutil.rmtree(home / "logs", ignore_errors=True)
    before = {path: path.read_bytes() for path in home.glob("*.yaml")}
    if limit:
        assert len(mex("list", "--json").json) >= 5, "what was there is there"
    assert {path: path.read_bytes() for path in before} == before
