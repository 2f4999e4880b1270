"""Live bars while jobs are waited for: at a terminal only, and not with `--json`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mex_pipeline.cli import job_view, output
from mex_pipeline.cli.options import t
from mex_pipeline.domain.job import Job


@contextmanager
def bars(number: int) -> Iterator[Callable[[int, Job], None]]:
    """Yield what is told of each new state of `number` jobs, by its place among them: one bar for each."""
    if output.wants_json() or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a waiting terminal pays
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    words = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), words, BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks = [progress.add_task("", total=None) for _ in range(number)]

        def tell(place: int, job: Job) -> None:
            done, total = job.progress_done or 0, job.progress_total
            if job.state.is_final:
                done = total = total or 1
            progress.update(tasks[place], description=_words(job, number), completed=done, total=total)

        yield tell


def _words(job: Job, number: int) -> str:
    """A bar's words; with several bars each names its job."""
    state = t(f"state.{job.state}")
    return state if number == 1 else output.visible(f"{job.id[:8]} {job_view.source(job)[-40:]} · {state}")
