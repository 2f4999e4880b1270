"""`mex import`: what the file is, and the job that takes it in (seed 004 §6.4; product C1)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from mex_pipeline.app import App
from mex_pipeline.domain.exported import parse
from mex_pipeline.domain.job import Job, Trigger
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from mex_pipeline.services import jobs
from mex_pipeline.services.files import require_file
from mex_pipeline.services.requests import for_file

Mode = Literal["restore", "extract"]
"""What an imported file is: an export to put back, or words to extract from."""
OnConflict = Literal["skip", "overwrite"]
"""What is kept when an imported memory and one that is here exclude each other: what is here, or the file's."""


def submit_restore(app: App, path: Path, *, on_conflict: OnConflict, trigger: Trigger) -> tuple[Job, bool]:
    """Queue the restoring of an export; (job, was merged into one that waits).

    Raises InvalidInput for a path that cannot be read and for a file that is no export (as `read_export`).
    """
    real = require_file(path)
    read_export(real)
    payload = {"path": str(real), "on_conflict": on_conflict}
    return jobs.submit(app, jobs.Request(jobs.RESTORE, payload, f"restore:{on_conflict}:{real}"), trigger=trigger)


def extractions(paths: Iterable[Path], *, adapter: str | None, subject: str) -> list[jobs.Request]:
    """Return the requests to extract files that are read once, whole, whatever was read of them before (seed 004 §6.4).

    A file that is named twice is asked for once. Raises as `requests.for_file` when one of the files cannot be used.
    """
    asked = [one for path in paths for one in for_file(path, adapter=adapter, subject=subject, reads_once=True)]
    return list({one.key: one for one in asked}.values())


def read_export(path: Path) -> dict[str, list[Any]]:
    """Return the unchecked rows of an export by section.

    Raises InvalidInput (`not_an_export`, `export_version`), SourceGone, SourceUnreadable.
    """
    try:
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise SourceGone(path=str(path)) from error
    except OSError as error:
        raise SourceUnreadable(path=str(path), detail=error.strerror or "") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput("not_an_export", path=str(path)) from error
    return parse(data, str(path))
