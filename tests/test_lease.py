"""A lock that dies with its process, and who lives by it."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mex_pipeline.lease import FileLock, Owner, is_alive, is_held

HOLD = """
import sys, time
from pathlib import Path
from mex_pipeline.lease import FileLock, Owner

path = Path(sys.argv[1])
held = Owner(path) if path.is_dir() else FileLock(path)
print(held.name if path.is_dir() else held.acquire(), flush=True)
time.sleep(60)
"""


@contextmanager
def holder(path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Another process that holds the lock, and what it said first."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def killed(process: "subprocess.Popen[str]") -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_lock_is_taken_once(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "a.lock"), FileLock(tmp_path / "a.lock")
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_locks_of_other_files_do_not_matter(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "a.lock"), FileLock(tmp_path / "b.lock")
    assert first.acquire()
    assert second.acquire()
    first.release()
    second.release()


def test_releasing_what_is_not_held_does_nothing(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "a.lock")
    lock.release()
    lock.note("nobody")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "a.lock")
    lock.acquire()
    assert stat.S_IMODE((tmp_path / "a.lock").stat().st_mode) == 0o600
    lock.release()
    assert (tmp_path / "a.lock").exists()


def test_a_note_replaces_the_one_before(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "a.lock")
    lock.acquire()
    lock.note("a long line of 12345\n")
    lock.note("工作进程 1\n")
    assert (tmp_path / "a.lock").read_text("utf-8") == "工作进程 1\n"
    lock.release()


def test_looking_makes_no_file_and_takes_nothing(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "a.lock")
    assert list(tmp_path.iterdir()) == []
    lock = FileLock(tmp_path / "a.lock")
    lock.acquire()
    assert is_held(tmp_path / "a.lock")
    assert is_held(tmp_path / "a.lock")
    lock.release()
    assert not is_held(tmp_path / "a.lock")
    assert lock.acquire()
    lock.release()


def test_a_lock_dies_with_its_process_however_it_dies(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with holder(path) as (process, said):
        assert said == "True"
        assert is_held(path)
        assert not FileLock(path).acquire()
        killed(process)
        assert not is_held(path)


def test_an_owner_lives_until_it_closes(tmp_path: Path) -> None:
    owner, other = Owner(tmp_path), Owner(tmp_path)
    assert owner.name != other.name
    assert is_alive(tmp_path, owner.name)
    owner.close()
    assert not is_alive(tmp_path, owner.name)
    assert is_alive(tmp_path, other.name)
    other.close()
    assert list(tmp_path.iterdir()) == []


def test_an_owner_that_was_killed_is_dead_and_its_file_is_cleared(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, name):
        assert is_alive(tmp_path, name)
        assert (tmp_path / f"{name}.lock").exists()
        killed(process)
        assert not is_alive(tmp_path, name)
        assert list(tmp_path.iterdir()) == []


def test_an_owner_that_never_was_is_dead(tmp_path: Path) -> None:
    assert not is_alive(tmp_path, "nobody")
    assert not is_alive(tmp_path / "missing", "nobody")


def test_a_frozen_process_still_lives(tmp_path: Path) -> None:
    """A closed laptop lid is no death: only the kernel tells."""
    with holder(tmp_path) as (process, name):
        os.kill(process.pid, signal.SIGSTOP)
        assert is_alive(tmp_path, name)
        os.kill(process.pid, signal.SIGCONT)
