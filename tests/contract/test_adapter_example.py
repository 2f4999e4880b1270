"""The adapter in docs/adapters.md: installed as any package is, it is found, detected, read and swept."""

import json
import re
from pathlib import Path

import pytest

from tests.support.program import contents, mex
from tests.support.source_tree import ROOT


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The example's package on the path of a process, with the entry point that its pyproject.toml declares."""
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    point = re.search(r'entry-points\."(.*?)"\]\n(\w+) = "(.*?)"', page)
    assert code is not None
    assert point is not None
    site = tmp_path / "site"
    facts = site / "parrot_mex-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "parrot_mex.py").write_text(code[1], encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot-mex\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[{point[1]}]\n{point[2]} = {point[3]}\n")
    return {"PYTHONPATH": str(site)}


def chat(path: Path, *said: tuple[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    rows = [
        {"id": f"m{number}", "who": who, "at": f"2026-03-01T08:00:0{number}Z", "text": text}
        for number, (who, text) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_section_is_shorter_than_sixty_lines() -> None:
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    assert len(page.partition("## Adding one")[2].strip().splitlines()) < 60


def test_the_adapter_of_the_example_is_found_detected_and_swept(installed: dict[str, str], tmp_path: Path) -> None:
    said = [("me", "我叫林晓舟 <private>1234</private>"), ("parrot", "Hello!"), ("sea", "~~~"), ("me", "")]
    file = chat(tmp_path / ".parrot" / "a.jsonl", *said)
    shown = mex("transcript", str(file), "--json", stdin="", **installed).json
    assert shown["agent"] == "parrot"
    assert [(turn["role"], turn["text"]) for turn in shown["turns"]] == [
        ("user", "我叫林晓舟"),
        ("assistant", "Hello!"),
    ]
    assert shown["dropped"] == {"empty": 1, "unknown_type": 1}
    listed = mex("sessions", "--json", stdin="", **installed).json["sessions"]
    assert [(one["agent"], one["user_turns"], one["days_left"]) for one in listed] == [("parrot", 1, None)]
    mex("sweep", "--yes", stdin="", **installed)
    assert contents() == ["林晓舟"]
