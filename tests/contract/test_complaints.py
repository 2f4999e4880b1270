"""Each of the complaints of docs/complaints.md has a test that exists."""

import re

import pytest

from tests.support.source_tree import ROOT

ROWS = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", (ROOT / "docs" / "complaints.md").read_text("utf-8"), re.MULTILINE)


def test_all_twenty_five_complaints_are_answered() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, 26))


@pytest.mark.parametrize(("number", "tests"), ROWS, ids=[number for number, _ in ROWS])
def test_a_complaint_names_tests_that_exist(number: str, tests: str) -> None:
    named = re.findall(r"`(test_\w+)`", tests)
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert named, f"complaint {number} has no test"
    assert not set(named) - known
