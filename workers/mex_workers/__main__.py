"""Options of the worker process (`mex-worker`, `python -m mex_workers`)."""

import argparse
import os
import sys
import threading

from mex_pipeline import __version__
from mex_pipeline.bootstrap import describe, say, worker_settings
from mex_pipeline.errors import DatabaseNewer, MexError
from mex_pipeline.settings import Settings, idle_seconds
from mex_workers.consumer import REPLACE_ME, SHORT_WAIT, Options, run


def main() -> None:
    """Run a worker until it is idle for long enough or asked to stop.

    Exits 0, 1 or 2 as `mex` does, and 75 when a fresh process should take its place.
    """
    given = _parser().parse_args()
    os.umask(0o077)
    try:
        home, settings = worker_settings()
        status = run(home, _options(given, settings))
    except MexError as error:
        sys.stderr.write(describe(error) + "\n")
        sys.exit(REPLACE_ME if isinstance(error, DatabaseNewer) else error.exit_code)
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        os._exit(status or 0)  # a job that hangs outlived the drain; its claim is fenced, and the process must not stay
    if status is None:
        sys.stdout.write(say("note.worker_runs_already") + "\n")
    sys.exit(status or 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mex-worker", description="Runs meX's queued jobs.")
    parser.add_argument("--threads", type=int, help="jobs at once")
    parser.add_argument("--idle-exit", help="leave after this long without work (15m, 2s); 0 = never")
    parser.add_argument("--wait", help="wait this long for another worker to leave (60s); 0 = as long as it takes")
    parser.add_argument("--extra", action="store_true", help="run beside another worker")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _options(given: argparse.Namespace, settings: Settings) -> Options:
    idle = settings.worker.idle_seconds if given.idle_exit is None else idle_seconds(given.idle_exit)
    threads = settings.worker.threads if given.threads is None else min(64, max(1, given.threads))
    words = [*(["--threads", str(threads)] if given.threads is not None else [])]
    words += ["--idle-exit", given.idle_exit] if given.idle_exit is not None else []
    words += ["--extra"] if given.extra else []
    wait = SHORT_WAIT if given.wait is None else idle_seconds(given.wait)
    return Options(threads, idle, wait, extra=given.extra, queue_url=settings.queue.url, words=tuple(words))


if __name__ == "__main__":
    main()
