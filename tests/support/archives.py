"""Exports of conversations and the jobs they become, run one at a time in the test's own process."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mex_pipeline import lease
from mex_pipeline.bootstrap import run_job
from mex_pipeline.paths import Home
from mex_pipeline.services.heartbeat import Runs
from tests.adapters.export_files import START, Gpt, write
from tests.support.faulting import ALONE, row, rows
from tests.support.program import in_process


def said(name: str, *texts: str, changed: int = 600) -> Gpt:
    """A conversation in which the user says these texts, each of them answered; last changed that many seconds on."""
    conversation = Gpt(name, update_time=START + changed)
    for text in texts:
        conversation.says("user", text)
        conversation.says("assistant", "好的。")
    return conversation


def told(numbers: Iterable[int]) -> list[Gpt]:
    """Conversations of one hobby each."""
    return [said(f"c{number}", f"我的爱好是养蜂{number}号。") for number in numbers]


def queued(path: Path, *conversations: Gpt, options: tuple[str, ...] = ()) -> str:
    """Write an export, ask for its extraction and return the job's id; nothing runs yet."""
    write(path, *conversations)
    return asked(path, *options)


def asked(path: Path, *options: str) -> str:
    """Ask for the extraction of an export as it is."""
    words = ("import", "--mode", "extract", str(path), "--async", "--json", *options)
    sent = in_process(*words, **ALONE)
    assert sent.code == 0, sent
    return str(sent.json["job_id"])


def run(home: Path, job_id: str) -> bool:
    """Run one job here as a worker's thread does; False when it could not be claimed now."""
    place = Home(home)
    owner = lease.Owner(place.run)
    try:
        with Runs(owner.name, place.database) as runs:
            return asyncio.run(run_job(place, job_id, runs))
    finally:
        owner.close()


def children(home: Path, archive: str, *states: str) -> list[str]:
    """Ids of an archive's own conversations in the order of the export, all or those in some states."""
    found = rows(home, "SELECT id, state FROM jobs WHERE batch_id = ? ORDER BY seq", archive)
    return [job_id for job_id, state in found if not states or state in states]


def run_children(home: Path, archive: str) -> None:
    """Run every conversation of an archive that waits."""
    for child in children(home, archive, "queued"):
        assert run(home, child)


def given(home: Path, child: str) -> list[str]:
    """The texts of the turns that a conversation's job carries."""
    return [turn["text"] for turn in json.loads(row(home, child)["given_text"])["turns"]]


def result(home: Path, job_id: str) -> dict[str, Any]:
    """What an archive's job has told so far."""
    return dict(json.loads(row(home, job_id)["result"]))
