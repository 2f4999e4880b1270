"""What lies in a home is its owner's alone (product A2, P1, F)."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from tests.support.gateways import opened, rows
from tests.support.program import QUIET, until, worker, write

SECRET = "远光软件的独门秘密"


def ran(*arguments: str, umask: int = 0o022) -> str:
    """Run `mex` as from a shell with the usual, open umask."""
    command = [sys.executable, "-m", "mex_pipeline", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=os.environ | QUIET, umask=umask, check=True
    )
    return done.stdout


def modes(folder: Path) -> dict[str, str]:
    """The mode of everything in a folder that is not private."""
    private = {True: 0o700, False: 0o600}
    found = [folder, *folder.rglob("*")]
    return {
        str(path.relative_to(folder)): oct(mode)
        for path in found
        if (mode := stat.S_IMODE(path.lstat().st_mode)) != private[path.is_dir()]
    }


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_product_a2_folders_are_0700_and_files_0600_whatever_the_umask(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "notes.txt", "我在远光软件工作。", "我对花生过敏。")
    ran("init", umask=0)
    ran("add", "--content", "x", umask=0)
    ran("config", "llm", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", "k", umask=0)
    (home / "config.yaml").unlink()
    ran("extract", "--from", "plain", "--file", str(file), umask=0)
    assert modes(home) == {}
    assert names(home) >= {"mex.db", "config.yaml", "schema.yaml", "run", "logs"}


def test_product_a2_the_worker_s_files_are_private_too(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "notes.txt", "我在远光软件工作。")
    ran("init")
    before = os.umask(0)
    try:
        with worker():
            ran("extract", "--async", "--from", "plain", "--file", str(file))
            until(lambda: "succeeded" in ran("jobs", "list", "--json"))
            assert modes(home) == {}
            assert names(home) >= {"queue.db", "logs/worker.log", "run/worker.lock"}
    finally:
        os.umask(before)
    assert modes(home) == {}


def test_product_p1_logs_and_the_queue_hold_no_word_of_what_was_said(home: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "notes.txt", f"记住：{SECRET}。")
    with worker():
        ran("extract", "--async", "--from", "plain", "--file", str(file))
        until(lambda: "succeeded" in ran("jobs", "list", "--json"))
        assert SECRET in ran("list"), "it was understood"
    for path in [home / "queue.db", *(home / "logs").iterdir(), *(home / "run").iterdir()]:
        assert SECRET.encode() not in path.read_bytes(), path.name


def test_product_h5_given_text_is_gone_when_its_job_has_succeeded(home: Path) -> None:
    ran("extract", f"随便说说 {SECRET} 而已")
    with opened("sync", home / "mex.db") as db:
        kept = [rows(db, f"SELECT * FROM {table}") for table in ("jobs", "job_events", "kept_replies", "memories")]
    assert [len(table) > 0 for table in kept[:2]] == [True, True]
    assert SECRET not in repr(kept)
