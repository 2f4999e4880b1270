"""How fast a chat export is read as a stream, and in how much memory: an export of 1 GB, seeded, written and measured.

The ratio to only reading the bytes depends less on the machine than seconds do. Needs the Python into which meX is
installed, and the size of the export as free space in the temporary folder (for --zip a fifth more).
"""

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import registry

START = 1_700_000_000
WORDS = [
    "I",
    "live",
    "in",
    "Porto",
    "near",
    "the",
    "river",
    "and",
    "drink",
    "tea",
    "with",
    "two",
    "cats",
    "every",
    "day",
]
CHARACTERS = "我住在成都喜欢骑车做饭周末常去爬山喝茶看书"


def said(chance: random.Random) -> str:
    """Return a message of 50 to 2,000 characters, Chinese or English, some with an emoji."""
    size = chance.choice((50, 200, 600, 2000))
    is_english = chance.random() < 0.6
    text = " ".join(chance.choices(WORDS, k=size // 5)) if is_english else "".join(chance.choices(CHARACTERS, k=size))
    return text + "😀" * (chance.random() < 0.1)


def message(chance: random.Random, name: str, parent: str, role: str, at: float) -> dict[str, Any]:
    """Return a message with the metadata that ChatGPT writes beside it."""
    return {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": {"content_type": "text", "parts": [said(chance)]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {
            "request_id": name,
            "parent_id": parent,
            "model_slug": "gpt-4o",
            "citations": [],
            "content_references": [{"matched_text": "x", "start_idx": 1, "end_idx": 5, "type": "hidden"}],
        },
        "recipient": "all",
        "channel": None,
    }


def conversation(chance: random.Random, turns: int) -> dict[str, Any]:
    """Return a conversation of ChatGPT's export with so many turns."""
    names = [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(turns + 2)]
    at = START + chance.random() * 1e7
    mapping: dict[str, Any] = {
        names[0]: {"id": names[0], "message": None, "parent": None, "children": names[1:2]},
    }
    for number in range(1, turns + 1):
        name, parent = names[number], names[number - 1]
        mapping[name] = {
            "id": name,
            "message": message(chance, name, parent, "user" if number % 2 else "assistant", at + number),
            "parent": parent,
            "children": names[number + 1 : number + 2] if number < turns else [],
        }
    head = {"title": said(chance)[:20], "create_time": at, "update_time": at + turns}
    return {**head, "mapping": mapping, "current_node": names[turns], "conversation_id": names[-1], "id": names[-1]}


def generate(path: Path, size: int, *, largest: int, is_ascii: bool) -> tuple[int, int]:
    """Write an export of about `size` bytes, with one conversation of `largest` turns; return (conversations, turns)."""
    chance = random.Random(20261130)
    conversations = turns = 0
    with path.open("w", encoding="utf-8") as file:
        while file.buffer.tell() < size:
            count = largest if conversations == 10 else chance.choice((4, 10, 30, 100))
            file.write("," if conversations else "[")
            file.write(json.dumps(conversation(chance, count), ensure_ascii=is_ascii))
            conversations += 1
            turns += count
        file.write("]")
    return conversations, turns


def measure(path: Path) -> None:
    """Stream an export and print what came of it, as a process of its own: peak memory cannot be told apart later."""
    started, busy = time.perf_counter(), time.process_time()
    found = registry.detect(path).conversations(path)  # type: ignore[attr-defined]  # an export is an Archive
    conversations = turns = 0
    for one in found:
        conversations += 1
        turns += len(one.turns)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    print(json.dumps({"found": (conversations, turns), "seconds": seconds, "cpu": busy, "peak_mb": peak()}))


def peak() -> float:
    """Return the largest resident size of this process in MB; Linux's `ru_maxrss` would have the parent's in it."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def seconds_to_read(path: Path) -> float:
    """Return how much CPU time the bytes alone take, from a cache that is as warm as the measurement's."""
    for _ in range(2):
        started = time.process_time()
        with path.open("rb", buffering=0) as file:
            while file.read(2**20):
                pass
    return time.process_time() - started


def report(path: Path, text_size: int, expected: tuple[int, int]) -> None:
    """Measure one file and print a line; raises SystemExit when a turn is missing."""
    read = seconds_to_read(path)
    command = [sys.executable, __file__, "--measure", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if tuple(found["found"]) != expected:
        raise SystemExit(f"{path.name}: {found} instead of {expected}")
    seconds, cpu = found["seconds"], found["cpu"]
    print(
        f"| {path.name} | {path.stat().st_size / 1e6:,.0f} | {expected[0]:,} | {expected[1]:,} | {seconds:.1f} / {cpu:.1f} "
        f"| {text_size / 1e6 / cpu:.0f} | {cpu / read:.0f} | {found['peak_mb']:.0f} |"
    )


def main() -> None:
    """Write the export, stream it, and print the table; with --zip also out of a zip."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="megabytes (1000)")
    parser.add_argument("--largest", type=int, default=15_000, help="turns of the largest conversation (15000)")
    parser.add_argument("--ascii", action="store_true", help="write Chinese as \\u escapes, as ChatGPT does")
    parser.add_argument("--zip", action="store_true", help="measure the export in its zip too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs\n")
    print("| file | MB | conversations | turns | wall / CPU s | MB of text per CPU s | CPU × reading | peak RSS MB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        made = generate(path, options.size * 10**6, largest=options.largest, is_ascii=options.ascii)
        size = path.stat().st_size
        report(path, size, made)
        if options.zip:
            packed = path.with_suffix(".zip")
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                archive.write(path, path.name)
            path.unlink()
            report(packed, size, made)


if __name__ == "__main__":
    main()
