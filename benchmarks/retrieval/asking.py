"""A home that holds what a set says, and `mex search` asked in it as a person asks."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mex_pipeline.bootstrap import open_app
from mex_pipeline.cli.main import run
from mex_pipeline.services import memories


@contextmanager
def home() -> Iterator[Path]:
    """A new, empty home, which `MEX_HOME` names while the block lasts."""
    before = dict(os.environ)
    with TemporaryDirectory(prefix="mex-retrieval-") as folder:
        os.environ["MEX_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ.update(before)


def remember(contents: Sequence[str], language: str) -> list[str]:
    """Store records in the home and return their ids, in the same order."""
    with open_app(language) as app:
        return [memories.add(app, content=content).id for content in contents]


def embed() -> None:
    """Turn search by meaning on, with the model of the extra, and make the vector of every memory."""
    os.environ |= {"MEX_SEMANTIC_ENABLED": "true", "MEX_WORKER_AUTOSTART": "false"}
    mex("embed")


def mex(*arguments: str) -> Any:
    """Run a command with `--json` and return what it printed; raises RuntimeError when it fails."""
    raw = BytesIO()
    out = TextIOWrapper(raw, encoding="utf-8", write_through=True)  # closes `raw` with itself, so it is kept
    with redirect_stdout(out):
        code = run([arguments[0], "--json", *arguments[1:]])
    text = raw.getvalue().decode()
    if code != 0:
        raise RuntimeError(f"mex {arguments[0]}: exit {code}: {text[:200]}")
    return json.loads(text)


def ids(hits: Sequence[dict[str, Any]]) -> list[str]:
    """The ids of hits, the best first."""
    return [str(hit["id"]) for hit in hits]
