"""The control of the chaos runs: the same kills on plain Huey tasks lose some. That is why jobs have rows of their own."""

import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.program import until

ROOT = Path(__file__).parents[2]
SECONDS = 20
_PRODUCE = f"from tests.nightly.plain_tasks import main; import sys; sys.argv[1:] = ['{SECONDS}']; main()"


def consumer() -> "subprocess.Popen[bytes]":
    """A consumer of two threads, as `huey_consumer` starts it."""
    code = "from huey.bin.huey_consumer import consumer_main; consumer_main()"
    options = ["tests.nightly.plain_tasks.huey", "-w", "2", "-m", "0.3", "-q"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *options], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.mark.nightly
def test_plain_huey_tasks_with_retries_are_lost_when_their_consumers_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queue 45: at most once is Huey's contract; a retry exists only in the process that has taken the task out."""
    monkeypatch.setenv("PLAIN_FOLDER", str(tmp_path))
    chance = random.Random(1)
    subprocess.run([sys.executable, "-c", "import tests.nightly.plain_tasks"], cwd=ROOT, check=True)
    consumers = [consumer(), consumer()]
    try:
        with subprocess.Popen(
            [sys.executable, "-c", _PRODUCE], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as producer:
            while producer.poll() is None:
                time.sleep(chance.uniform(0.3, 1.0))
                with suppress(ProcessLookupError):
                    chance.choice(consumers).send_signal(chance.choice([signal.SIGKILL] * 4 + [signal.SIGTERM]))
                consumers = [one if one.poll() is None else consumer() for one in consumers]
            queued = int(producer.communicate()[0])
        until(lambda: _is_quiet(tmp_path))
    finally:
        for one in consumers:
            one.kill()
            one.wait()
    done = len({*_done(tmp_path)})
    print(f"plain Huey tasks: {queued} queued, {done} done, {queued - done} lost ({100 * (1 - done / queued):.0f} %)")
    assert 0 < done < queued


def _done(folder: Path) -> list[str]:
    return (folder / "done").read_text(encoding="ascii").split()


def _is_quiet(folder: Path) -> bool:
    """True when nothing has been done for longer than a retry waits and a task takes."""
    before = len(_done(folder))
    time.sleep(3)
    return len(_done(folder)) == before
