"""`mex worker run|start|stop|status|logs|install-service|uninstall-service`."""

import os
import shlex
import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from mex_pipeline import messages
from mex_pipeline.cli import job_view, output, reasons
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.clock import to_local
from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.services import jobs, service_units, worker_log, workers
from mex_pipeline.services.service_units import Change

_EVENTS = {
    "queue lost": "queue_lost",
    "asked to leave": "asked_to_leave",
    "jobs are newer": "jobs_newer",
    "mex.db is newer": "database_newer",
    "mex.db is damaged": "database_damaged",
    "a thread is blocked": "thread_blocked",
    "memory is not given back": "memory_kept",
}
"""Events of the log whose names cannot be names of messages."""


class System(StrEnum):
    """What starts services."""

    systemd = "systemd"
    launchd = "launchd"


def run(
    threads: Annotated[int | None, typer.Option("--threads", min=1, max=64, help=t("help.threads"))] = None,
    idle_exit: Annotated[str | None, typer.Option("--idle-exit", help=t("help.idle_exit"))] = None,
    wait: Annotated[str | None, typer.Option("--wait", help=t("help.wait"))] = None,
    extra: Annotated[bool, typer.Option("--extra", help=t("help.extra"))] = False,
    lang: LangOption = None,
) -> None:
    options = [*(["--threads", str(threads)] if threads is not None else [])]
    options += ["--idle-exit", idle_exit] if idle_exit is not None else []
    options += ["--wait", wait] if wait is not None else []
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
        pauses = jobs.pauses(app)
    lines = [t("note.worker_runs_already" if found.running else "note.worker_none")]
    lines += [
        t("note.worker_row", pid=row["pid"], version=row["version"], since=to_local(row["started_at"]))
        for row in found.workers
    ]
    lines += [reasons.pause_text(one) for one in pauses]
    lines.append(t("note.job_counts", counts=job_view.state_counts(found.jobs)))
    output.emit(found.to_plain(), lines)


def logs(
    limit: Annotated[int, typer.Option("--limit", "-n", help=t("help.log_lines"))] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help=t("help.follow"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if not 1 <= limit <= jobs.MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=jobs.MAX_LIMIT)
    with session() as app:
        home = app.home
    if follow:
        for line in worker_log.follow(home, limit):
            output.at_once(line, _log_line(line))
    found = worker_log.last(home, limit)
    output.emit(found, [_log_line(one) for one in found] or [t("note.log_empty")])


def _log_line(line: dict[str, Any]) -> str:
    """One line of the log in words; what another version wrote, and what a library did, is shown by its name."""
    event = str(line.get("event") or "")
    name = _EVENTS.get(event, event)
    what = t(f"log.{name}") if messages.knows(f"log.{name}") else f"{line.get('from', '')} {event}".strip()
    facts = [str(line[key]) for key in ("job", "version") if key in line]
    facts += [f"{line['ms'] / 1000:.1f} s"] if isinstance(line.get("ms"), int) else []
    if "error" in line:
        facts.append(messages.render_code(str(line["error"]), {})[0])
    return f"{reasons.moment(line['at'])}  {' · '.join([what, *facts])}"


def install_service(
    only_print: Annotated[bool, typer.Option("--print", help=t("help.service_print"))] = False,
    system: Annotated[System | None, typer.Option("--system", help=t("help.service_system"))] = None,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        named = "launchd" if system is System.launchd else "systemd" if system else service_units.this_system()
        unit = service_units.unit(app.home, named)
        variable = app.settings.llm.api_key_env
    if only_print:
        output.emit({"path": str(unit.path), "text": unit.text}, unit.text.rstrip("\n").split("\n"))
        return
    change = service_units.install(unit)
    _tell(change, t("done.service_written" if change.changed else "note.service_there", path=unit.path))
    if variable:
        output.note(t("note.service_key", name=variable))
    _complain_of(change)


def uninstall_service(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        unit = service_units.unit(app.home, service_units.this_system())
    change = service_units.uninstall(unit)
    _tell(change, t("done.service_removed" if change.changed else "note.service_none", path=unit.path))
    _complain_of(change)


def _tell(change: Change, what: str) -> None:
    lines = [what, *_commands("done.ran", change.ran), *_commands("note.run_by_hand", change.left)]
    output.emit(change.to_plain(), lines)


def _commands(name: str, commands: Iterable[tuple[str, ...]]) -> list[str]:
    return [t(name, command=shlex.join(command)) for command in commands]


def _complain_of(change: Change) -> None:
    """Raise when a command was refused: what is done and what is left has been said."""
    if change.failed is not None:
        command, said = change.failed
        raise ExternalError("service_refused", command=shlex.join(command), detail=said)
