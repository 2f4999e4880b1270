"""Where the shared corpus of real sessions lies; tests that need it skip where it is absent."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside the checkout")


def truth(folder: str) -> dict[str, dict[str, Any]]:
    """The expectations of one folder by file name; empty where the corpus is absent."""
    path = CORPUS / folder / "truth.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def claude_files() -> list[Path]:
    """Every Claude file of the corpus."""
    sessions = [CORPUS / "sessions" / name for name in truth("sessions") if name.startswith("cc")]
    return sessions + sorted((CORPUS / "real-clients").glob("claude-code-*.jsonl"))


def sha(text: str) -> str:
    """The corpus' fingerprint of a text: whitespace counts once."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]
