"""The worker's log: one JSON object a line, rotated, never content (product F, docs/jobs.md)."""

import json
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from mex_pipeline.clock import iso_of_millis, monotonic

QUIET_SECONDS = 60.0
_KEPT = ("job", "fence", "ms", "error", "threads", "version")


class _JsonLines(logging.Formatter):
    """Only named facts are written: a library's message could quote what it was given."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"at": iso_of_millis(int(record.created * 1000)), "level": record.levelname, "from": record.name}
        line["event"] = record.msg if record.name.startswith("mex.") else record.funcName
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        line |= {key: getattr(record, key) for key in _KEPT if hasattr(record, key)}
        return json.dumps(line, ensure_ascii=False)


class _Seldom(logging.Filter):
    """The same trouble is written once a minute: a server that is down fails four times a second, in each thread."""

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        facts = (getattr(record, key, None) for key in _KEPT if key != "ms")
        trouble = (record.name, record.funcName, record.msg, record.exc_info and record.exc_info[0], *facts)
        moment = monotonic()
        self._written = {one: at for one, at in self._written.items() if moment - at < QUIET_SECONDS}
        return self._written.setdefault(trouble, moment) == moment


def open_worker_log(path: Path) -> None:
    """Send this process's log to `path`: five files of a megabyte."""
    handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=4, encoding="utf-8")
    handler.setFormatter(_JsonLines())
    handler.addFilter(_Seldom())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a log that cannot be written must not print messages elsewhere
    logging.getLogger("mex").setLevel(logging.INFO)
