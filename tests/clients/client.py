"""The real clients, installed by `shared/tools/real_clients.py`, in homes of their own and against a scripted model."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tests.adapters.corpus import CORPUS

INSTALLED = Path(os.environ.get("MEX_TEST_CLIENTS", "/nowhere"))
NAMES = ("claude", "opencode", "codex", "gemini")
SLOW = "慢慢来"
"""A prompt with this word is answered only after a minute: time to break it off."""

_SERVER = """
import sys, time
sys.path.insert(0, {tools!r})
import fake_models
from http.server import ThreadingHTTPServer

class Handler(fake_models.Handler):
    def do_POST(self):
        super().do_POST()

answer = fake_models.reply_for

def patient(body):
    if {slow!r} in fake_models.last_user(body):
        time.sleep(60)
    return answer(body)

fake_models.reply_for = patient
fake_models.LOG = {log!r}
fake_models.SCRIPT = [{{
    "when": "目录", "before": "我看一下。", "reply": "目录里有一个 README。",
    "tool": {{"names": ["Bash", "bash", "shell", "exec_command", "run_shell_command"], "inputs": {{
        "*": {{"command": "ls", "description": "list"}}, "shell": {{"command": ["ls"]}}, "exec_command": {{"cmd": "ls"}}}}}},
}}]
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def tools() -> ModuleType:
    """The driver that comes with the clients."""
    spec = importlib.util.spec_from_file_location("real_clients", CORPUS.parent / "tools" / "real_clients.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def scripted_model(folder: Path) -> Iterator[int]:
    """A model on loopback that lists a folder when asked about one; yields its port."""
    code = _SERVER.format(tools=str(CORPUS.parent / "tools"), slow=SLOW, log=str(folder / "model.jsonl"))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


class Client:
    """One client with a home and a project of its own; what it was told is remembered."""

    def __init__(self, name: str, folder: Path, port: int) -> None:
        self.name = name
        self.typed: list[str] = []
        self._tools = tools()
        self._folder = folder
        self._port = port
        (folder / name / "proj").mkdir(parents=True)
        self.home.mkdir()
        (folder / name / "node_modules").symlink_to(INSTALLED / name / "node_modules")
        (folder / name / "proj" / "README.md").write_text("# demo\n")
        subprocess.run(["git", "init", "-q", "."], cwd=folder / name / "proj", check=True)

    @property
    def home(self) -> Path:
        """The client's HOME."""
        return self._folder / self.name / "home"

    @property
    def can_fork(self) -> bool:
        """True when a session can be forked without a terminal."""
        return self.name != "gemini"

    def say(self, prompt: str, *, resume: bool = False, fork: bool = False) -> None:
        """Type a prompt into a new session, the last one, or a fork of it."""
        done = subprocess.run(
            self._command(prompt, resume=resume, fork=fork), check=False, timeout=150, **self._surroundings()
        )
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
        self.typed.append(prompt)

    def break_off(self, prompt: str, *, resume: bool = True) -> None:
        """Type a prompt and press Ctrl-C while the model thinks about it."""
        log = self._folder / "model.jsonl"
        before = log.read_text("utf-8").count(SLOW) if log.exists() else 0
        process = subprocess.Popen(
            self._command(f"{prompt} {SLOW}", resume=resume, fork=False), start_new_session=True, **self._surroundings()
        )
        deadline = time.monotonic() + 60
        while log.read_text("utf-8").count(SLOW) == before:
            assert time.monotonic() < deadline, "the model was never asked"
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        self.typed.append(f"{prompt} {SLOW}")

    def stores(self) -> list[Path]:
        """The files the client keeps its sessions in."""
        return list(self._tools.sessions(self._folder, self.name))

    def _command(self, prompt: str, *, resume: bool, fork: bool) -> list[str]:
        command: list[str] = self._tools.command(self._folder, self.name, prompt, resume or fork)
        if not fork:
            return command
        if self.name == "claude":
            return [command[0], "--fork-session", *command[1:]]
        if self.name == "opencode":
            return [*command[:-1], "--fork", prompt]
        newest = max(self.stores(), key=lambda path: path.stat().st_mtime)
        return [*command[: command.index("resume")], "fork", newest.stem[-36:], prompt]

    def _surroundings(self) -> dict[str, object]:
        self._tools.configure(self._folder, self.name, self._port)
        return {
            "cwd": self._folder / self.name / "proj",
            "env": self._tools.environment(self._folder, self.name, self._port, []),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
