"""The sets as they lie in the corpus: JSON or JSON lines, packed."""

import gzip
import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "bench"
"""Where the sets lie when nothing else is said."""


def load(path: Path) -> Any:
    """Return the value of a `.json.gz` file, or the list of those of a `.jsonl.gz` file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        if ".jsonl" in path.suffixes:
            return [json.loads(line) for line in file if line.strip()]
        return json.load(file)
