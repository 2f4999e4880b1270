"""`mex worker install-service`: the units, what is done with them, and what a person is left with (product D5, queue.md §5.7)."""

import configparser
import json
import os
import plistlib
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.paths import Home
from mex_pipeline.services import service_units
from tests.support.program import Ran, contents, mex, until

CONTROL = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in *"$REFUSES"*) echo 'Failed to connect to bus' >&2; exit 1;; esac
"""
ODD = 'a home "with" 100% $odd\\ signs'


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `systemctl` that writes down what it is asked, and refuses what REFUSES names; the file of its calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "systemctl"
    program.write_text(CONTROL, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("REFUSES", "nothing at all")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "calls"


def asked(calls: Path) -> list[str]:
    """What the program was asked since the last look."""
    lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
    calls.unlink(missing_ok=True)
    return lines


def install(*options: str, **environment: str) -> Ran:
    """Install the service."""
    return mex("worker", "install-service", *options, ok=False, **environment)


def unit_of(text: str) -> configparser.ConfigParser:
    """A unit as its sections."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys are told apart by their case
    parser.read_string(text)
    return parser


def unescaped(word: str) -> str:
    """A word of a unit as systemd reads it: quotes and backslashes as the shell's, then %% as %."""
    (plain,) = shlex.split(word)
    return plain.replace("%%", "%")


def test_the_unit_of_systemd_says_what_the_design_says(home: Path) -> None:
    text = str(mex("worker", "install-service", "--print", "--system", "systemd", "--json").json["text"])
    service = unit_of(text)["Service"]
    told = {
        "Type": "exec", "Restart": "on-failure", "RestartSec": "5", "KillMode": "mixed", "TimeoutStopSec": "30",
        "UMask": "0077",
    }  # fmt: skip
    assert {key: service[key] for key in told} == told
    assert unescaped(service["Environment"]) == f"MEX_HOME={home}"
    assert service["ExecStart"].endswith(" -m mex_workers --idle-exit 0 --wait 0")
    assert unit_of(text)["Install"]["WantedBy"] == "default.target"
    assert mex("worker", "install-service", "--print", "--system", "systemd").out == text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
@pytest.mark.parametrize("name", ["home", ODD])
def test_systemd_itself_finds_no_fault_in_the_unit(tmp_path: Path, name: str) -> None:
    text = mex("worker", "install-service", "--print", "--system", "systemd", MEX_HOME=str(tmp_path / name)).out
    file = tmp_path / "mex-test.service"
    file.write_text(text, encoding="utf-8")
    run = tmp_path / "runtime"
    run.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(file)],
        env=os.environ | {"XDG_RUNTIME_DIR": str(run)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_home_with_signs_that_mean_something_to_systemd_is_named_as_it_is(tmp_path: Path) -> None:
    root = str(tmp_path / ODD)
    text = mex("worker", "install-service", "--print", "--system", "systemd", MEX_HOME=root).out
    word = unit_of(text)["Service"]["Environment"]
    assert word.replace("%%", "%").replace('\\"', '"').replace("\\\\", "\\")[1:-1] == f"MEX_HOME={root}"


def test_the_plist_of_launchd_says_what_the_design_says(tmp_path: Path) -> None:
    root = str(tmp_path / 'a "home" <&> 100%')
    shown = mex("worker", "install-service", "--print", "--system", "launchd", "--json", MEX_HOME=root).json
    unit: dict[str, Any] = plistlib.loads(shown["text"].encode())
    assert unit["KeepAlive"] == {"SuccessfulExit": False}
    assert (unit["ThrottleInterval"], unit["ExitTimeOut"], unit["ProcessType"]) == (10, 30, "Background")
    assert unit["EnvironmentVariables"] == {"MEX_HOME": root}
    assert unit["ProgramArguments"][1:] == ["-m", "mex_workers", "--idle-exit", "0", "--wait", "0"]
    assert shown["path"] == str(tmp_path / "Library" / "LaunchAgents" / f"{unit['Label']}.plist")


def test_what_the_unit_starts_is_a_worker_that_stays(tmp_path: Path, home: Path) -> None:
    """Its very command line, in an environment without our own: jobs are done, it is still there, it leaves when told."""
    service = unit_of(mex("worker", "install-service", "--print", "--system", "systemd").out)["Service"]
    name, _, value = unescaped(service["Environment"]).partition("=")
    words = [one.replace("%%", "%") for one in shlex.split(service["ExecStart"])]
    process = subprocess.Popen(words, env={name: value, "HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    try:
        mex("extract", "--async", "记住：我对花生过敏", MEX_WORKER_AUTOSTART="false")
        until(contents)
        assert process.poll() is None
        process.terminate()
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()


def test_installing_writes_the_unit_and_switches_it_on_once(tmp_path: Path, home: Path, calls: Path) -> None:
    first = install("--json").json
    file = Path(first["path"])
    assert file.parent == tmp_path / ".config" / "systemd" / "user"
    assert (first["system"], first["changed"], first["left"]) == ("systemd", True, [])
    assert asked(calls) == ["--user daemon-reload", f"--user enable --now {file.name}"]
    text = file.read_text(encoding="utf-8")
    again = install("--json").json
    assert (again["changed"], file.read_text(encoding="utf-8")) == (False, text)
    assert asked(calls) == ["--user daemon-reload", f"--user enable --now {file.name}"]
    file.write_text(text.replace("RestartSec=5", "RestartSec=50"), encoding="utf-8")
    assert install().code == 0
    assert file.read_text(encoding="utf-8") == text
    assert asked(calls)[-1] == f"--user restart {file.name}", "a changed unit is taken up"


def test_each_home_has_a_service_of_its_own_in_the_folder_that_is_configured(
    tmp_path: Path, home: Path, calls: Path
) -> None:
    config = tmp_path / "xdg"
    default = install("--json", MEX_HOME=str(tmp_path / ".mex"), XDG_CONFIG_HOME=str(config)).json
    other = install("--json", XDG_CONFIG_HOME=str(config)).json
    assert default["path"] == str(config / "systemd" / "user" / "mex-worker.service")
    assert other["path"] != default["path"]
    assert {path.name for path in (config / "systemd" / "user").iterdir()} == {
        Path(one["path"]).name for one in (default, other)
    }


def test_what_is_refused_is_said_with_what_is_left_to_do(home: Path, calls: Path) -> None:
    """The file is there, and the same command later does the rest."""
    ran = install(REFUSES="enable")
    assert ran.code == 2
    assert "Wrote " in ran.out
    assert "Ran: systemctl --user daemon-reload" in ran.out
    assert "Run this yourself: systemctl --user enable --now mex-worker" in ran.out
    assert "Failed to connect to bus" in ran.err
    refused = install("--json", REFUSES="enable")
    assert json.loads(refused.err)["code"] == "service_refused"
    assert [one[:3] for one in refused.json["left"]] == [["systemctl", "--user", "enable"]]
    assert install(REFUSES="nothing at all").code == 0


def test_without_systemctl_the_two_commands_are_given_to_the_person(tmp_path: Path, home: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = install(PATH=str(tmp_path / "empty"))
    assert ran.code == 0
    assert [line.split(": ")[0] for line in ran.out.splitlines()[1:]] == ["Run this yourself"] * 2


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path, home: Path, calls: Path) -> None:
    (tmp_path / ".config").write_text("a file", encoding="utf-8")
    ran = install("--json")
    assert (ran.code, ran.out, json.loads(ran.err)["code"]) == (2, "", "service_unwritable")
    assert asked(calls) == []


def test_uninstalling_takes_back_what_was_done_and_no_more(home: Path, calls: Path) -> None:
    nothing = mex("worker", "uninstall-service")
    assert (nothing.out, asked(calls)) == ("No service is installed.\n", [])
    file = Path(install("--json").json["path"])
    beside = file.with_name("other.service")
    beside.write_text("", encoding="utf-8")
    asked(calls)
    gone = mex("worker", "uninstall-service", "--json").json
    assert (gone["changed"], file.exists(), beside.exists()) == (True, False, True)
    assert asked(calls) == [f"--user disable --now {file.name}", "--user daemon-reload"]


def test_a_key_in_a_variable_of_the_shell_is_pointed_out(home: Path, calls: Path) -> None:
    assert "SECRET_KEY" in install(MEX_LLM_API_KEY_ENV="SECRET_KEY").err


def test_on_macos_the_agent_is_loaded_anew_when_it_changed(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, calls: Path
) -> None:
    (tmp_path / "bin" / "systemctl").rename(tmp_path / "bin" / "launchctl")
    unit = service_units.unit(Home(home), "launchd")
    assert service_units.install(unit).changed
    domain = f"gui/{os.getuid()}"
    assert asked(calls) == [f"bootout {domain}/{unit.name}", f"bootstrap {domain} {unit.path}"]
    assert not service_units.install(unit).changed
    assert asked(calls) == [f"print {domain}/{unit.name}"], "it is loaded as it stands"
    monkeypatch.setenv("REFUSES", "print")
    service_units.install(unit)
    assert asked(calls)[-1] == f"bootstrap {domain} {unit.path}"
    monkeypatch.setenv("REFUSES", "nothing at all")
    service_units.uninstall(unit)
    assert (asked(calls), unit.path.exists()) == ([f"bootout {domain}/{unit.name}"], False)
