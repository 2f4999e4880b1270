"""Options of the worker process (`mex-worker`, `python -m mex_workers`)."""

import argparse
import os
import sys
import threading

from mex_pipeline import __version__
from mex_pipeline.bootstrap import describe, say, worker_settings
from mex_pipeline.errors import MexError
from mex_pipeline.settings import idle_seconds
from mex_workers import consumer


def main() -> None:
    """Run a worker until it is idle for long enough or asked to stop; exits 0, 1 or 2 as `mex` does."""
    parser = argparse.ArgumentParser(prog="mex-worker", description="Runs meX's queued jobs.")
    parser.add_argument("--threads", type=int, help="jobs at once")
    parser.add_argument("--idle-exit", help="leave after this long without work (15m, 2s); 0 = never")
    parser.add_argument("--extra", action="store_true", help="run beside another worker")
    parser.add_argument("--version", action="version", version=__version__)
    options = parser.parse_args()
    os.umask(0o077)
    try:
        home, settings = worker_settings()
        idle = settings.worker.idle_seconds if options.idle_exit is None else idle_seconds(options.idle_exit)
        threads = settings.worker.threads if options.threads is None else min(64, max(1, options.threads))
        started = consumer.run(home, threads=threads, idle=idle, extra=options.extra)
    except MexError as error:
        sys.stderr.write(describe(error) + "\n")
        sys.exit(error.exit_code)
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        os._exit(0)  # a job that hangs outlived the drain; its claim is fenced, and the process must not stay for it
    if not started:
        sys.stderr.write(say("note.worker_runs_already") + "\n")


if __name__ == "__main__":
    main()
