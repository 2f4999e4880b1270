"""How fast sessions are read: what an adapter needs for a file against a bare loop that only decodes its lines as JSON.

`python benchmarks/parsing.py [--megabytes 40] [--rounds 5] [--shape codex]`, with the Python into which meX is installed.
The files are made here, in the shapes the agents write, with the mix of real ones: nearly all of it is what tools put
out. Ratios are comparable between machines, times are not. Peak memory is measured in a process of its own, for a file
and for one that is ten times as long with the same words said in it: it may depend on what was said, and on nothing else.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import registry
from mex_pipeline.domain.conversation import Cursor

WORDS = (
    "def return self path for in if else import class None True result value index config error line token session",
    '数据 用户 返回 请求 配置 记录 函数 测试 服务 部署 "name": "type" <div> </div> {} [] == -> // C:\\Users\\lin https://',
)
TARGET = 0.6
"""The least part of the bare loop's speed that reading a session may have."""

Record = dict[str, Any]


class Maker:
    """Makes the records of one session; `chance` decides what the tools say, the same in every run."""

    def __init__(self, verbosity: int) -> None:
        self.verbosity = verbosity
        self.chance = random.Random(20)
        self.known = [*" ".join(WORDS).split(), "\n", "\t"]
        self.count = 0
        self.last: str | None = None

    def words(self, count: int) -> str:
        """Words as they stand in code and logs, several on a line."""
        return " ".join(self.chance.choices(self.known, k=count))

    def output(self) -> str:
        """What a tool puts out: mostly some hundred bytes, at times a whole file."""
        return self.words(min(8_000, int(self.chance.lognormvariate(5.2, 1.3)))) * self.verbosity

    def blob(self) -> str:
        """Base64, as in encrypted reasoning and signatures."""
        return "".join(self.chance.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij0123456789+/", k=600)) + "=="

    def at(self) -> str:
        """The next second of the session."""
        self.count += 1
        return time.strftime("%Y-%m-%dT%H:%M:%S.250Z", time.gmtime(1_775_000_000 + self.count))

    def name(self, prefix: str = "") -> str:
        """The next id."""
        self.count += 1
        return f"{prefix}{self.count:08x}-7f33-4c1c-9a27-6e6f6e5d4c3b"


def claude(make: Maker) -> Iterator[Record]:
    """One exchange of Claude Code: a prompt, eight tool calls, an answer."""
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/lin/app",
        "sessionId": "s",
        "version": "2.1.50",
    }

    def record(kind: str, content: Any, **more: Any) -> Record:
        message: Record = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": make.name("msg_"), "model": "m", "usage": {"input_tokens": 3, "output_tokens": 90}}
        ids = {"parentUuid": make.last, "uuid": make.name(), "timestamp": make.at()}
        make.last = ids["uuid"]
        return {**ids, **common, "type": kind, "message": message, **more}

    yield record("user", make.words(30))
    for _ in range(8):
        yield record("assistant", [{"type": "thinking", "thinking": make.words(60), "signature": make.blob()}])
        yield record("assistant", [{"type": "text", "text": make.words(25)}])
        for _ in range(3):
            command = {"command": make.words(20)}
            yield record("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": command}])
            output = make.output()
            result = {"type": "tool_result", "tool_use_id": "t", "content": output}
            yield record("user", [result], toolUseResult={"stdout": output, "stderr": "", "interrupted": False})
    yield record("assistant", [{"type": "text", "text": make.words(120)}])


def codex(make: Maker) -> Iterator[Record]:
    """One turn of Codex, every text twice, as the client writes it."""
    turn = make.name()

    def record(kind: str, **payload: Any) -> Record:
        return {"timestamp": make.at(), "type": kind, "payload": payload}

    def spoken(role: str, text: str) -> Record:
        content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
        return record("response_item", type="message", role=role, content=content)

    yield record("event_msg", type="task_started", turn_id=turn)
    yield record("turn_context", turn_id=turn, cwd="/home/lin/app", timezone="Asia/Shanghai", model="m")
    prompt = make.words(30)
    yield spoken("user", prompt)
    yield record("event_msg", type="user_message", message=prompt, images=[])
    for _ in range(8):
        yield record("response_item", type="reasoning", summary=[], encrypted_content=make.blob())
        text = make.words(25)
        yield record("event_msg", type="agent_message", message=text, phase="commentary")
        yield spoken("assistant", text)
        for _ in range(2):
            yield record(
                "response_item", type="function_call", name="exec", arguments=json.dumps({"cmd": make.words(20)})
            )
            yield record("response_item", type="function_call_output", call_id="c", output=make.output())
        yield record(
            "event_msg", type="token_count", info={"total_token_usage": {"input_tokens": 3, "output_tokens": 9}}
        )
    text = make.words(120)
    yield record("event_msg", type="agent_message", message=text, phase="final_answer")
    yield spoken("assistant", text)
    yield record("event_msg", type="task_complete", turn_id=turn, last_agent_message=text)


def gemini(make: Maker) -> Iterator[Record]:
    """One exchange of Gemini CLI; a message with its tools' results is written again with more."""
    yield {"id": make.name(), "timestamp": make.at(), "type": "user", "content": [{"text": make.words(30)}]}
    for _ in range(8):
        message = {
            "id": make.name(),
            "timestamp": make.at(),
            "type": "gemini",
            "content": make.words(25),
            "thoughts": [],
        }
        yield message
        response = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": make.output()}}}
        yield message | {"toolCalls": [{"id": "c", "name": "run_shell_command", "args": {}, "result": [response]}]}
        yield {"$set": {"lastUpdated": make.at()}}


HEADS: dict[str, Record] = {
    "claude": {"type": "summary", "summary": "s", "leafUuid": "u"},
    "codex": {
        "timestamp": "2026-03-31T23:33:20.250Z",
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/home/lin/app", "source": "cli", "cli_version": "0.140.0"},
    },
    "gemini": {"sessionId": "s", "projectHash": "p", "startTime": "2026-04-01T00:00:00.000Z", "kind": "main"},
}
SHAPES: dict[str, Callable[[Maker], Iterator[Record]]] = {"claude": claude, "codex": codex, "gemini": gemini}


def make_file(path: Path, shape: str, size: int, verbosity: int = 1) -> Path:
    """Write a session of at least `size` bytes; its tools put out `verbosity` times as much as usual."""
    make = Maker(verbosity)
    with path.open("wb") as file:
        written = file.write(json.dumps(HEADS[shape]).encode() + b"\n")
        while written < size:
            for record in SHAPES[shape](make):
                written += file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return path


def bare(path: Path) -> None:
    """The least a reader in Python does: each line through the standard decoder."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def read(path: Path, shape: str) -> None:
    """Read the file as the pipeline does."""
    registry.find(shape).read(path, Cursor(), quiet=True)


def seconds(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(path: Path, shape: str, rounds: int) -> float:
    """Print one line of the table and return the ratio of the medians of CPU time; the two take turns."""
    read(path, shape)
    times = [(seconds(lambda: bare(path)), seconds(lambda: read(path, shape))) for _ in range(rounds)]
    plain, ours = (statistics.median(column) for column in zip(*times, strict=True))
    megabytes = path.stat().st_size / 1e6
    print(f"| {shape} | {megabytes:.0f} | {megabytes / plain:.0f} | {megabytes / ours:.0f} | {plain / ours:.2f} |")
    return float(plain / ours)


def peak(path: Path, shape: str) -> float:
    """Return the most megabytes that a process which reads the file has held."""
    command = [sys.executable, __file__, "--peak-of", str(path), "--shape", shape]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def shapes() -> list[str]:
    """The shapes that this meX reads."""
    return [shape for shape in SHAPES if registry.is_built_in(shape)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=40)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--shape", choices=SHAPES)
    given = options.parse_args()
    if given.peak_of:
        read(given.peak_of, given.shape)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    chosen = [given.shape] if given.shape else shapes()
    with tempfile.TemporaryDirectory() as folder:
        print("| session | MB | bare loop MB/s | adapter MB/s | adapter ÷ bare loop |\n|---|---|---|---|---|")
        path = Path(folder) / "session.jsonl"
        ratios = [measure(make_file(path, shape, given.megabytes * 10**6), shape, given.rounds) for shape in chosen]
        print("\n| session | MB, peak | MB, peak, the same words | MB, peak, ten times the words |\n|---|---|---|---|")
        for shape in chosen:
            sizes = ((1, 1), (10, 14), (10, 1))
            files = (make_file(path, shape, given.megabytes * size * 10**6, verbosity) for size, verbosity in sizes)
            cells = [f"{file.stat().st_size / 1e6:.0f}, {peak(file, shape):.0f}" for file in files]
            print(f"| {shape} | {' | '.join(cells)} |")
    sys.exit(min(ratios) < TARGET)


if __name__ == "__main__":
    main()
