"""A new user's first minutes: from a clone to a profile in six commands, with nothing but a home and a PATH."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.model_server import reply, running

ROOT = Path(__file__).resolve().parents[2]


def clone(target: Path) -> None:
    """What `git clone` gives: every file that is or will be in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split("\0")  # fmt: skip
    names = [name for name in listed if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("not a git checkout")
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def lend_packages(environment: Path) -> None:
    """Let pip find what is installed here already, so that it downloads nothing it need not."""
    (folder,) = environment.glob("lib/python*/site-packages")
    here = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
    (folder / "lent.pth").write_text("\n".join(here), encoding="utf-8")


@pytest.mark.slow
def test_six_commands_lead_from_a_clone_to_a_profile(tmp_path: Path) -> None:
    """Clone, environment, install, setup, extract, profile: the model's word is in the profile, the agent has its skill."""
    folder, person = tmp_path / "meX", tmp_path / "person"
    person.mkdir()
    environment = {"HOME": str(person), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    typed: list[str] = []

    def run(*words: str) -> str:
        typed.append(" ".join(words))
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    typed.append("git clone … meX && cd meX")
    clone(folder)
    run(sys.executable, "-m", "venv", ".venv")
    lend_packages(folder / ".venv")
    build = ["--no-build-isolation"] if find_spec("hatchling") else []
    run(".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", *build, ".")
    with running(tmp_path / "model") as endpoint:
        endpoint.offer("m1")
        name = {"topic": "work", "sub_topic": "company", "content": "Acme Robotics", "quote": "I work at Acme Robotics"}
        endpoint.script({"when": "Acme", "reply": reply(name)})
        run(
            ".venv/bin/mex", "setup", "--yes", "--base-url", endpoint.url, "--api-key", "k", "--model", "m1",
            "--name", "Ada", "--integrate", "claude",
        )  # fmt: skip
        run(".venv/bin/mex", "extract", "I work at Acme Robotics now.")
        profile = run(".venv/bin/mex", "profile")
    assert len(typed) <= 6
    assert "- Name: Ada" in profile
    assert "Acme Robotics" in profile
    assert (person / ".mex" / "mex.db").is_file()
    assert (person / ".claude" / "skills" / "mex" / "SKILL.md").is_file()
