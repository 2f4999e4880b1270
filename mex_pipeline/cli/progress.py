"""Live bars while jobs are waited for: at a terminal only, and not with `--json`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from mex_pipeline.cli import job_view, output
from mex_pipeline.cli.options import t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.progress import Progress

    from mex_pipeline.domain.job import Job

T = TypeVar("T")
_MOST_BARS = 10


@contextmanager
def steps(number: int, words: str) -> Iterator[Callable[[Iterable[T]], Iterator[T]]]:
    """Yield what goes through things and shows how many of `number` are done, in one bar."""
    if not _are_seen():
        yield iter
        return
    with _progress() as progress:
        task = progress.add_task(output.visible(words), total=number)

        def each(things: Iterable[T]) -> Iterator[T]:
            for thing in things:
                yield thing
                progress.advance(task)

        yield each


@contextmanager
def bars(number: int) -> Iterator[Callable[[int, Job], None]]:
    """Yield what is told of each new state of `number` jobs, by its place among them: a bar for each, or one for many."""
    if number == 0 or not _are_seen():
        yield lambda *_: None
        return
    if number > _MOST_BARS:
        with _one_bar(number) as tell_of_many:
            yield tell_of_many
        return
    with _progress() as progress:
        tasks = [progress.add_task("", total=None) for _ in range(number)]

        def tell(place: int, job: Job) -> None:
            done, total = job.progress_done or 0, job.progress_total
            if job.state.is_final:
                done = total = total or 1
            progress.update(tasks[place], description=_words(job, number), completed=done, total=total)

        yield tell


@contextmanager
def _one_bar(number: int) -> Iterator[Callable[[int, Job], None]]:
    """Yield the same for more jobs than a terminal has lines for: how many of them have ended."""
    ended: set[int] = set()
    with _progress() as progress:
        task = progress.add_task(output.visible(t("note.running_jobs")), total=number)

        def tell(place: int, job: Job) -> None:
            if job.state.is_final:
                ended.add(place)
                progress.update(task, completed=len(ended))

        yield tell


def _are_seen() -> bool:
    return sys.stderr.isatty() and not output.wants_json()


def _progress() -> Progress:
    """A display of bars on stderr that leaves nothing behind."""
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a waiting terminal pays
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    words = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), words, BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _words(job: Job, number: int) -> str:
    """A bar's words; with several bars each names its job."""
    state = t(f"state.{job.state}")
    return state if number == 1 else output.visible(f"{job.id[:8]} {job_view.source(job)[-40:]} · {state}")
