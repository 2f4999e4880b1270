"""The worker as a service that starts with the session: units of systemd and launchd (product D5)."""

import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mex_pipeline.errors import ExternalError
from mex_pipeline.paths import Home

System = Literal["systemd", "launchd"]
_OPTIONS = ("-m", "mex_workers", "--idle-exit", "0", "--wait", "0")
"""A service never leaves for want of work, and waits for a worker that was started before it."""
_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Unit:
    """One service: where its file belongs, what stands in it, and the commands that switch it on and off."""

    system: System
    name: str
    path: Path
    text: str
    enable: tuple[tuple[str, ...], ...]
    disable: tuple[tuple[str, ...], ...]
    forget: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What an installation or its undoing has done. `ran` are commands that went well, `left` those a person has to run.

    `failed` is the command that was refused, with what it said.
    """

    unit: Unit
    changed: bool
    ran: tuple[tuple[str, ...], ...]
    left: tuple[tuple[str, ...], ...]
    failed: tuple[tuple[str, ...], str] | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{system, name, path, changed, ran, left}`, commands as lists of words."""
        return {
            "system": self.unit.system,
            "name": self.unit.name,
            "path": str(self.unit.path),
            "changed": self.changed,
            "ran": [list(one) for one in self.ran],
            "left": [list(one) for one in self.left],
        }


def this_system() -> System:
    """Return what starts services here; raises ExternalError (`no_service_system`) where neither does."""
    if sys.platform == "darwin":
        return "launchd"
    if sys.platform == "win32":
        raise ExternalError("no_service_system")
    return "systemd"


def unit(home: Home, system: System) -> Unit:
    """Return the service of a home; each home but the default one has a service of its own, named after its place."""
    is_default = home.root == Path.home() / ".mex"
    suffix = "" if is_default else f"-{hashlib.sha256(os.fsencode(home.root)).hexdigest()[:8]}"
    return _systemd(home, f"mex-worker{suffix}") if system == "systemd" else _launchd(home, f"mex.worker{suffix}")


def _systemd(home: Home, name: str) -> Unit:
    named = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".config"
    file = f"{name}.service"
    lines = [
        "[Unit]",
        "Description=meX worker",
        "",
        "[Service]",
        "Type=exec",
        f"Environment={_quoted(f'MEX_HOME={home.root}')}",
        f"ExecStart={_quoted(sys.executable)} {' '.join(_OPTIONS)}",
        "Restart=on-failure",
        "RestartSec=5",
        "KillMode=mixed",
        "TimeoutStopSec=30",
        "UMask=0077",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    control = ("systemctl", "--user")
    return Unit(
        "systemd",
        name,
        base / "systemd" / "user" / file,
        "\n".join(lines),
        enable=((*control, "daemon-reload"), (*control, "enable", "--now", file)),
        disable=((*control, "disable", "--now", file),),
        forget=((*control, "daemon-reload"),),
    )


def _quoted(text: str) -> str:
    """Return a word of a unit as systemd reads it back: quotes, backslashes and specifiers escaped (systemd.syntax(7)).

    `$` stays: in an assignment, and in the program of a command line, it has no meaning.
    """
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def _launchd(home: Home, name: str) -> Unit:
    path = Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
    content = {
        "Label": name,
        "ProgramArguments": [sys.executable, *_OPTIONS],
        "EnvironmentVariables": {"MEX_HOME": str(home.root)},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 30,
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    domain = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui"
    off = ("launchctl", "bootout", f"{domain}/{name}")
    return Unit(
        "launchd",
        name,
        path,
        plistlib.dumps(content).decode(),
        enable=(("launchctl", "bootstrap", domain, str(path)),),
        disable=(off,),
    )


def install(found: Unit) -> Change:
    """Write the unit's file and switch the service on; done twice, it is done once.

    Raises ExternalError (`service_unwritable`) when the file cannot be written: nothing has been done then.
    """
    was = _read(found.path)
    is_fresh = was != found.text
    if is_fresh:
        try:
            found.path.parent.mkdir(parents=True, exist_ok=True)
            found.path.write_text(found.text, encoding="utf-8")
        except OSError as error:
            raise ExternalError("service_unwritable", path=str(found.path), detail=error.strerror or "") from error
    if found.system == "launchd" and shutil.which("launchctl"):
        if not is_fresh and _run(("launchctl", "print", found.disable[0][-1])) is None:
            return Change(found, changed=False, ran=(), left=())  # loaded as it stands
        _run(found.disable[0])  # one that is loaded under this name makes room; that none is, is no fault
    commands = found.enable
    if found.system == "systemd" and is_fresh and was is not None:
        commands = (*commands, ("systemctl", "--user", "restart", found.path.name))
    return _carried_out(found, commands, changed=is_fresh)


def uninstall(found: Unit) -> Change:
    """Switch the service off and remove its file; one that is not there is left at that."""
    if _read(found.path) is None:
        return Change(found, changed=False, ran=(), left=())
    off = _carried_out(found, found.disable, changed=True)
    try:
        found.path.unlink(missing_ok=True)
    except OSError as error:
        raise ExternalError("service_unwritable", path=str(found.path), detail=error.strerror or "") from error
    if off.failed is not None or off.left:
        return Change(found, changed=True, ran=off.ran, left=(*off.left, *found.forget), failed=off.failed)
    after = _carried_out(found, found.forget, changed=True)
    return Change(found, changed=True, ran=(*off.ran, *after.ran), left=after.left, failed=after.failed)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _carried_out(found: Unit, commands: Sequence[tuple[str, ...]], *, changed: bool) -> Change:
    """Run commands in order; after the first that is refused, and without the program, the rest is left to a person."""
    for at, command in enumerate(commands):
        if shutil.which(command[0]) is None:
            return Change(found, changed, tuple(commands[:at]), tuple(commands[at:]))
        said = _run(command)
        if said is not None:
            return Change(found, changed, tuple(commands[:at]), tuple(commands[at:]), (command, said))
    return Change(found, changed, tuple(commands), ())


def _run(command: Sequence[str]) -> str | None:
    """Run a command; None when it went well, else the last line it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{_SECONDS} s"
    except OSError as error:
        return error.strerror or ""
    if done.returncode == 0:
        return None
    return next(iter(reversed(done.stderr.strip().splitlines())), str(done.returncode))
