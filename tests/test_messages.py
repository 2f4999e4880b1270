"""Choosing the language, and turning codes into words at the edge (product A4, seed 004 §5.2)."""

import locale
from collections.abc import Iterator

import pytest

from mex_pipeline import messages
from mex_pipeline.errors import InvalidSlot, LeaseLost, MexError, SlotOccupied

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def _language_is_put_back() -> Iterator[None]:
    before = messages.active()
    yield
    messages.activate(before)


@pytest.fixture(autouse=True)
def _no_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LOCALE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(locale, "getlocale", lambda: (None, None))


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        (("zh",), "zh"),
        (("en", "zh"), "en"),
        ((None, "", "zh", "en"), "zh"),
        (("fr", "ZH", "en"), "en"),
        (("fr", None), "en"),
        ((), "en"),
    ],
)
def test_product_a4_the_first_wish_that_is_spoken_wins(wishes: tuple[str | None, ...], expected: str) -> None:
    assert messages.choose(*wishes) == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "zh_CN", "LC_MESSAGES": "en_US"}, "en"),
        ({"LANG": "en_US", "LC_ALL": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN", "LC_ALL": ""}, "zh"),
    ],
)
def test_product_a4_without_a_wish_the_locale_decides(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert messages.choose(None) == expected
    assert messages.choose("en") == "en"


@pytest.mark.parametrize(
    ("named", "expected"), [("Chinese (Simplified)_China", "zh"), ("zh_CN", "zh"), ("de_DE", "en")]
)
def test_where_there_are_no_variables_the_system_is_asked(
    monkeypatch: pytest.MonkeyPatch, named: str, expected: str
) -> None:
    monkeypatch.setattr(locale, "getlocale", lambda: (named, "UTF-8"))
    assert messages.choose() == expected


def test_a_message_speaks_the_active_language() -> None:
    messages.activate("zh")
    assert messages.active() == "zh"
    assert messages.text("done.queued", id="j1") == "任务 j1 已排队"
    messages.activate("en")
    assert messages.text("done.queued", id="j1") == "Queued job j1"


def test_an_id_or_a_value_that_is_missing_is_a_fault_of_ours() -> None:
    with pytest.raises(KeyError):
        messages.text("no.such.id")
    with pytest.raises(KeyError):
        messages.text("done.queued")


def test_seed_5_2_an_error_says_what_happened_and_what_to_do() -> None:
    error = InvalidSlot("unknown_topic", topic="job", nearest=["work", "goals"], known=["basic_info", "work"])
    messages.activate("zh")
    assert messages.render(error) == (
        "topic 'job' 未在 schema.yaml 定义。",
        "相近的已有 topic：'work', 'goals'。如确需新领域，请先编辑 schema.yaml。",
    )
    messages.activate("en")
    assert messages.render(error)[0] == "topic 'job' is not defined in schema.yaml."


def test_braces_in_a_value_are_only_text() -> None:
    error = SlotOccupied(slot="work.company", id="1", content="{id} {x!r} {", new="{slot}")
    what, hint = messages.render(error)
    assert what == "work.company already holds '{id} {x!r} {' (1); it takes one value."
    assert hint.endswith("--content {slot}")


def test_a_fact_that_is_not_there_is_a_question_mark() -> None:
    assert messages.render_code("bad_id", {})[0] == "'?' is no id."


def test_a_code_without_words_is_shown_as_it_is() -> None:
    """A job may have failed under a newer meX."""
    assert messages.render_code("from_the_future", {"n": 1}) == ("from_the_future {'n': 1}", "")
    assert messages.render_code("from_the_future", {}) == ("from_the_future", "")


def test_an_error_carries_its_class_s_code_unless_told_otherwise() -> None:
    assert (SlotOccupied().code, SlotOccupied("other").code) == ("slot_occupied", "other")
    assert (SlotOccupied().exit_code, MexError().exit_code, LeaseLost().exit_code) == (1, 2, 2)
    assert SlotOccupied(a=1).params == {"a": 1}
    assert str(SlotOccupied(a=1)) == "('slot_occupied', {'a': 1})"
