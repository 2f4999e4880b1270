"""`mex worker run|start|stop|status`."""

import os
import sys
from typing import Annotated

import typer

from mex_pipeline import messages
from mex_pipeline.cli import output
from mex_pipeline.cli.jobs import pause_text
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import to_local
from mex_pipeline.services import workers


def run(
    threads: Annotated[int | None, typer.Option("--threads", min=1, max=64, help=t("help.threads"))] = None,
    idle_exit: Annotated[str | None, typer.Option("--idle-exit", help=t("help.idle_exit"))] = None,
    extra: Annotated[bool, typer.Option("--extra", help=t("help.extra"))] = False,
    lang: LangOption = None,
) -> None:
    options = [*(["--threads", str(threads)] if threads is not None else [])]
    options += ["--idle-exit", idle_exit] if idle_exit is not None else []
    options += ["--extra"] if extra else []
    sys.stdout.flush()
    # The worker is a program of its own: this process becomes it.
    environment = os.environ | {"MEX_LANG": messages.active()}
    os.execve(sys.executable, [sys.executable, "-m", "mex_workers", *options], environment)  # noqa: S606 - our arguments


def start(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        fresh = workers.start(app)
    output.emit(
        {"started": fresh, "running": True}, [t("done.worker_started" if fresh else "note.worker_runs_already")]
    )


def stop(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        stopped = workers.stop(app)
    output.emit({"stopped": stopped, "running": False}, [t("done.worker_stopped" if stopped else "note.worker_none")])


def status(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        found = workers.status(app)
    lines = [t("note.worker_runs_already" if found.running else "note.worker_none")]
    lines += [
        t("note.worker_row", pid=row["pid"], version=row["version"], since=to_local(row["started_at"]))
        for row in found.workers
    ]
    lines += [pause_text(row["reason"], row["until"]) for row in found.paused]
    lines.append(t("note.job_counts", counts=", ".join(f"{t(f'state.{k}')} {n}" for k, n in found.jobs.items()) or "—"))
    output.emit(found.to_plain(), lines)
