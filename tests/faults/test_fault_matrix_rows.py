"""Every row of the fault matrix has its test, here or where the part it is about is tested (docs/testing.md)."""

import ast
import re

import pytest

from tests.support.source_tree import ROOT

ELSEWHERE = {
    25: "workers/test_worker_life.py::test_twenty_workers_at_once_are_one_and_the_others_leave_without_a_word",
    26: "workers/test_worker_life.py::test_no_request_in_the_moment_a_worker_leaves_is_stranded",
    30: "workers/test_worker_life.py::test_a_job_whose_thread_dies_is_taken_back_and_the_worker_goes_on",
    31: "workers/test_deadlines.py::test_a_run_that_hangs_in_reading_is_taken_back_and_the_next_one_ends_it",
    32: "workers/test_worker_survival.py::test_foreign_messages_in_the_queue_run_nothing_and_hold_up_nothing",
    40: "workers/test_hand_over.py::test_a_job_of_an_old_worker_is_finished_by_the_new_one",
    41: "workers/test_hand_over.py::test_a_worker_leaves_a_database_that_became_newer_untouched",
    43: "workers/test_redis_transport.py::test_twenty_jobs_whose_wake_ups_are_flushed_all_run_once",
    44: "nightly/test_chaos.py::test_a_minute_of_chaos_loses_nothing_and_writes_nothing_twice",
    45: "nightly/test_plain_huey_loses.py::test_plain_huey_tasks_with_retries_are_lost_when_their_consumers_are_killed",
}
"""Rows whose test stands beside the tests of the same part."""


def functions(path: str) -> list[str]:
    """The names of a test file's functions."""
    body = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


def here() -> set[int]:
    """The rows that have a test in this folder."""
    files = (ROOT / "tests" / "faults").glob("test_fault_matrix_*.py")
    names = [name for file in files for name in functions(f"faults/{file.name}")]
    return {int(match[1]) for name in names if (match := re.match(r"test_row_(\d\d)_", name))}


def test_each_row_of_the_fault_matrix_has_its_test() -> None:
    """Forty-five rows, none without a test and none said to be elsewhere that is here."""
    assert here() | set(ELSEWHERE) == set(range(1, 46))
    assert not here() & set(ELSEWHERE)


@pytest.mark.parametrize("row", ELSEWHERE)
def test_what_stands_elsewhere_is_there(row: int) -> None:
    """The table names tests that exist."""
    path, name = ELSEWHERE[row].split("::")
    assert name in functions(path)


def test_tests_of_rows_are_sentences_and_every_test_names_its_row() -> None:
    """`test_row_NN_` and then what must hold."""
    for file in sorted((ROOT / "tests" / "faults").glob("test_fault_matrix_*_to_*.py")):
        low, high = map(int, re.findall(r"\d+", file.name))
        for name in functions(f"faults/{file.name}"):
            if name.startswith("test_"):
                match = re.fullmatch(r"test_row_(\d\d)_[a-z0-9_]{30,}", name)
                assert match is not None, name
                assert low <= int(match[1]) <= high, name
