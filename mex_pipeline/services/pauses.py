"""What is paused: everything, all work with a model, or one endpoint (docs/jobs.md)."""

import os
from contextlib import suppress
from pathlib import Path

from mex_pipeline import settings
from mex_pipeline.errors import MexError
from mex_pipeline.settings import LLMSettings

EVERYTHING, MODEL = "*", "llm"
"""The scopes a person may pause; the program itself pauses one endpoint, `llm:<profile>`, or everything."""


def endpoint_scope(llm: LLMSettings) -> str:
    """Return the scope of the configured endpoint: another address, model or key is another scope, not paused."""
    return f"{MODEL}:{llm.profile(os.environ)}"


class Configured:
    """The scope of the endpoint that config.yaml names now, read again only when the file has changed.

    So a pause for a wrong key ends with the key, however the file was edited.
    """

    def __init__(self, config: Path) -> None:
        self._config = config
        self._seen: tuple[int, int] | None = None
        self._scope = ""

    def scope(self) -> str:
        """Return the scope; the last readable one while the file cannot be read."""
        try:
            stat = self._config.stat()
            looked = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            looked = (0, 0)
        if looked != self._seen:
            self._seen = looked
            with suppress(MexError):  # the job itself says so
                self._scope = endpoint_scope(settings.load(self._config).llm)
        return self._scope
