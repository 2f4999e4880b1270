"""A YAML file that seldom changes, read without the yaml package: what it held is kept as JSON beside the home's locks.

The copy holds the text that it was made of and counts only while the file has exactly that text; so nothing has to be
dated, hashed or cleared away. config.yaml is not kept like this: it may hold a key.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from mex_pipeline import __version__
from mex_pipeline.errors import MexError
from mex_pipeline.paths import read_text, write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")


def load(path: Path, copy: Path, understand: Callable[[Any], T]) -> T:
    """Return what `understand` makes of the parsed content; raises as `yaml_file.load` and as that does.

    A copy that is missing, damaged, of another text or of another meX is as good as none, and is made anew once the
    content was understood. A home that may only be read works without. Keys must be texts, JSON has no others.
    """
    text = read_text(path)
    with suppress(OSError, ValueError, RecursionError, MexError):
        kept = json.loads(read_text(copy))
        if isinstance(kept, dict) and kept.get("mex") == __version__ and kept.get("text") == text:
            return understand(kept.get("data"))
    from mex_pipeline import yaml_file  # noqa: PLC0415 - as slow as all of a Python start

    data = yaml_file.parse(text, path)
    found = understand(data)
    with suppress(OSError, ValueError, TypeError, RecursionError):
        write_private(copy, json.dumps({"mex": __version__, "text": text, "data": data}))
    return found
