"""`mex integrate`: the skill lands where the agent looks, is ours to update and the user's to change (seed 004 §8.4)."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mex_pipeline import resources
from tests.support.program import mex, worker

FOLDERS = {"claude": (".claude", ".claude"), "opencode": (".config/opencode", ".opencode"),
           "workbuddy": (".workbuddy", ".workbuddy")}  # fmt: skip
COMMAND = re.compile(r"^mex .+$|(?<=`)mex [^`]+(?=`)", re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: an empty project."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def skill(folder: Path, agent: str = "claude") -> Path:
    return folder / FOLDERS[agent][0] / "skills" / "mex" / "SKILL.md"


@pytest.mark.parametrize("agent", FOLDERS)
def test_seed_8_4_the_skill_and_its_readme_are_written_where_the_agent_looks_and_nothing_else(
    agent: str, tmp_path: Path, project: Path
) -> None:
    globally, locally = FOLDERS[agent]
    done = mex("integrate", agent, "--json").json
    written = [str(tmp_path / globally / "skills" / "mex" / name) for name in ("SKILL.md", "README.md")]
    assert (done["agent"], done["scope"], done["written_files"]) == (agent, "global", written)
    assert {str(tmp_path / name) for name in files(tmp_path)} == set(written)
    there = mex("integrate", agent, "--scope", "project")
    assert files(project) == {f"{locally}/skills/mex/{name}" for name in ("SKILL.md", "README.md")}
    assert all(str(project / name) in there.out for name in files(project))


def test_opencode_follows_xdg_config_home(tmp_path: Path, project: Path) -> None:
    mex("integrate", "opencode", XDG_CONFIG_HOME=str(tmp_path / "xdg"))
    assert (tmp_path / "xdg" / "opencode" / "skills" / "mex" / "SKILL.md").is_file()


def test_seed_8_4_a_second_run_writes_the_same_again_and_an_older_text_of_ours_is_brought_up_to_date(
    tmp_path: Path, project: Path
) -> None:
    first = mex("integrate", "claude", "--json").json
    before = skill(tmp_path).read_bytes()
    assert mex("integrate", "claude", "--json").json == first
    assert skill(tmp_path).read_bytes() == before
    chinese = mex("--lang", "zh", "integrate", "claude", "--json").json
    assert len(chinese["written_files"]) == 2, "a text of ours in another language is ours"
    assert "记住这个" in skill(tmp_path).read_text(encoding="utf-8")


def test_product_h15_what_the_user_changed_stays_and_the_new_text_goes_beside_it(tmp_path: Path, project: Path) -> None:
    mex("integrate", "claude")
    shipped = skill(tmp_path).read_text(encoding="utf-8")
    mine = shipped.replace("once", "twice", 1)
    skill(tmp_path).write_text(mine, encoding="utf-8")
    refused = mex("integrate", "claude", "--json", ok=False)
    beside = skill(tmp_path).with_name("SKILL.md.mex-new")
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "skill_changed")
    assert refused.json["conflicts"] == [{"file": str(skill(tmp_path)), "new_file": str(beside)}]
    assert skill(tmp_path).read_text(encoding="utf-8") == mine
    assert beside.read_text(encoding="utf-8") == shipped
    beside.replace(skill(tmp_path))
    assert mex("integrate", "claude").code == 0, "taking the new text ends the conflict"


def test_product_g12_a_readme_of_the_user_is_never_touched(tmp_path: Path, project: Path) -> None:
    folder = skill(tmp_path).parent
    folder.mkdir(parents=True)
    for readme in (tmp_path / ".claude" / "README.md", folder / "README.md"):
        readme.write_text("mine", encoding="utf-8")
    assert mex("integrate", "claude", ok=False).code == 1
    assert (tmp_path / ".claude" / "README.md").read_text(encoding="utf-8") == "mine"
    assert (folder / "README.md").read_text(encoding="utf-8") == "mine"
    assert skill(tmp_path).is_file(), "the other file is written all the same"


def test_line_ends_of_another_system_are_no_change(tmp_path: Path, project: Path) -> None:
    mex("integrate", "claude")
    skill(tmp_path).write_bytes(skill(tmp_path).read_bytes().replace(b"\n", b"\r\n"))
    assert mex("integrate", "claude", "--json").json["conflicts"] == []


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path, project: Path) -> None:
    shown = mex("integrate", "claude", "--dry-run", "--json").json
    assert (shown["dry_run"], files(tmp_path)) == (True, set())
    assert shown["written_files"] == mex("integrate", "claude", "--json").json["written_files"]


@pytest.mark.parametrize(
    ("arguments", "known"),
    [(["vim"], "claude, opencode, workbuddy"), (["claude", "--scope", "here"], "global, project")],
)
def test_an_unknown_agent_or_scope_is_refused_with_the_known_ones(
    arguments: list[str], known: str, tmp_path: Path, project: Path
) -> None:
    refused = mex("integrate", *arguments, ok=False)
    assert refused.code == 1
    assert known in refused.err
    assert files(tmp_path) == set()


def test_what_stands_in_the_way_is_named(tmp_path: Path, project: Path) -> None:
    """A file or a broken link for a folder, a folder for a file; none of it is touched."""
    (tmp_path / ".claude").write_text("a file", encoding="utf-8")
    refused = mex("integrate", "claude", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "skill_needs_folder")
    (tmp_path / ".claude").unlink()
    (tmp_path / ".claude").symlink_to(tmp_path / "gone")
    assert str(tmp_path / ".claude") in mex("integrate", "claude", ok=False).err
    (tmp_path / ".claude").unlink()
    skill(tmp_path).mkdir(parents=True)
    refused = mex("integrate", "claude", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "skill_needs_file")


def test_a_link_of_the_user_is_followed_but_a_project_must_not_lead_elsewhere(tmp_path: Path, project: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (tmp_path / ".claude").symlink_to(dotfiles)
    mex("integrate", "claude")
    assert (dotfiles / "skills" / "mex" / "SKILL.md").is_file()
    assert (tmp_path / ".claude").is_symlink()
    (project / ".claude").symlink_to(tmp_path / "dotfiles")
    refused = mex("integrate", "claude", "--scope", "project", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "skill_link_leads_out")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that refuses even root")
def test_a_folder_that_cannot_be_written_is_the_outside_s_fault(project: Path) -> None:
    refused = mex("integrate", "claude", ok=False, HOME="/proc/self")
    assert refused.code == 2
    assert "/proc/self/.claude" in refused.err


def test_it_says_when_the_agent_would_not_find_mex_or_would_find_another(tmp_path: Path, project: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    assert "not on the PATH" in mex("integrate", "claude", PATH=str(folder)).out
    other = folder / "mex"
    other.write_text("#!/bin/sh\n", encoding="utf-8")
    other.chmod(0o755)
    assert str(other) in mex("integrate", "claude", PATH=str(folder)).out


def front_matter(text: str) -> dict[str, Any]:
    head = text.split("---\n")[1]
    found = yaml.safe_load(head)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("language", resources.LANGUAGES)
def test_the_front_matter_is_what_agents_accept(language: str, tmp_path: Path, project: Path) -> None:
    """agentskills: a name like the folder's, a description; Claude Code cuts at 1,536 characters, the limit is 1,024."""
    mex("--lang", language, "integrate", "claude")
    text = skill(tmp_path).read_text(encoding="utf-8")
    assert text.startswith("---\n")
    found = front_matter(text)
    assert found["name"] == "mex"
    assert 0 < len(found["description"]) <= 600
    assert all(isinstance(value, str) for value in found["metadata"].values())
    assert "{{" not in text
    assert len(text.splitlines()) <= 120


@pytest.mark.parametrize("language", resources.LANGUAGES)
def test_seed_8_5_product_g14_the_skill_teaches_the_commands_of_the_design(language: str) -> None:
    text = resources.shipped("skills", language, "SKILL.md").read_text(encoding="utf-8")
    for command in (
        "mex profile", "mex search --since 7d", "mex search --topic", "--keyword", "mex add --by ai", "mex extract --async",
        "mex jobs wait ID --timeout 20", "YYYY-MM-DD",
    ):  # fmt: skip
        assert command in text


@pytest.mark.parametrize("language", resources.LANGUAGES)
def test_every_command_of_the_skill_works_as_written(language: str, home: Path) -> None:
    """An agent does to the letter what it reads; ids stand for a memory, or a job behind `jobs`."""
    environment = {"MEX_LANG": language, "MEX_WORKER_AUTOSTART": "false"}
    mex("init", **environment)
    text = resources.shipped("skills", language, "SKILL.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in COMMAND.findall(text.split("---\n", 2)[2])]
    assert len(commands) >= 10
    ids = {"job": "", "memory": mex("add", "--content", "x", "--json", **environment).json["id"]}
    with worker():
        for words in commands:
            group = "job" if words[1] == "jobs" else "memory"
            ran = mex(*(ids[group] if word == "ID" else word for word in words[1:]), ok=False, **environment)
            assert ran.code == 0, f"{words}: {ran.err}"
            if words[1] == "extract":
                ids["job"] = identifier(ran.out.splitlines()[0])
            elif words[1] == "add":
                ids["memory"] = identifier(ran.out)


def identifier(text: str) -> str:
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)
    assert found is not None, text
    return found[0]


def test_both_languages_teach_the_same_commands() -> None:
    def shapes(language: str) -> list[list[str]]:
        text = resources.shipped("skills", language, "SKILL.md").read_text(encoding="utf-8")
        lines = [shlex.split(line) for line in COMMAND.findall(text.split("---\n", 2)[2])]
        return [[word for word in line if word.startswith("--") or word.isascii()][:3] for line in lines]

    assert [line[:2] for line in shapes("zh")] == [line[:2] for line in shapes("en")]


def test_nobody_else_may_change_what_the_agent_will_read(tmp_path: Path, project: Path) -> None:
    mex("integrate", "claude")
    assert skill(tmp_path).stat().st_mode & 0o022 == 0
