"""`mex import`: what the file is, and the job that takes it in (seed 004 §6.4; product C1)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from mex_pipeline.app import App
from mex_pipeline.domain.exported import parse
from mex_pipeline.domain.job import Job, Trigger
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from mex_pipeline.services import jobs
from mex_pipeline.services.files import adapter_name, require_file

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


def submit_extract(app: App, path: Path, *, adapter: str | None, subject: str, trigger: Trigger) -> tuple[Job, bool]:
    """Queue the extraction of a file that is read once, whole, whatever was read of it before (seed 004 §6.4).

    Raises InvalidInput for a path that cannot be read and for data of no known format.
    """
    return jobs.submit(app, _extraction(path, adapter, subject), trigger=trigger)


def submit_extracts(
    app: App, paths: Sequence[Path], *, adapter: str | None, subject: str, trigger: Trigger
) -> tuple[str, list[tuple[Job, bool]]]:
    """Queue one such job for each file, as a batch: all of them, or none when one of the files cannot be used.

    Returns (the batch's id, (job, was merged) of each file); a file that is named twice is one job.
    """
    requests = {request.key: request for request in (_extraction(path, adapter, subject) for path in paths)}
    return jobs.submit_all(app, list(requests.values()), trigger=trigger)


def _extraction(path: Path, adapter: str | None, subject: str) -> jobs.Request:
    real = require_file(path)
    payload = {"adapter": adapter_name(adapter, real), "path": str(real), "subject": subject}
    return jobs.Request(jobs.IMPORT, payload, f"import:{subject}:{real}")


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
