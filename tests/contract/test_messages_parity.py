"""Both catalogues say the same things, everything the code can say, and nothing else (product A4)."""

import re
from typing import get_args

import pytest

from mex_pipeline import messages
from mex_pipeline.domain.compact import Flaw
from mex_pipeline.domain.conversation import Role
from mex_pipeline.domain.job import OVER_BUDGET, JobState, Outcome
from mex_pipeline.domain.stance import Stance
from mex_pipeline.domain.wording import Language
from mex_pipeline.messages import catalogue
from mex_pipeline.services.jobs import PAUSED_REASONS
from mex_pipeline.services.workers import Presence
from tests.support.message_use import Raised, defaults, placeholders, used

ZH, EN = catalogue("zh"), catalogue("en")
USED = used()
CODES = {raised.code for raised in USED.raised} | set(defaults().values())
ADDED_LATER = {"file"}
"""Facts that the caller of the domain adds: which schema.yaml."""


def test_both_languages_have_the_same_ids() -> None:
    assert set(ZH) == set(EN)


def can_be_said(text: str) -> bool:
    """True for words without space around them that take their placeholders and nothing else."""
    try:
        text.format(**dict.fromkeys(placeholders(text), "x"))
    except (IndexError, KeyError, ValueError):
        return False
    return bool(text) and text == text.strip()


def test_both_texts_have_the_same_placeholders_and_words() -> None:
    both = {name: (ZH[name], EN[name]) for name in EN}
    assert [name for name, (zh, en) in both.items() if placeholders(zh) != placeholders(en)] == []
    assert [name for name, texts in both.items() if not all(map(can_be_said, texts))] == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_text_stands_in_the_file_it_is_looked_for_in(lang: Language) -> None:
    try:
        messages.activate(lang)
        assert [name for name in EN if not messages.knows(name)] == []
    finally:
        messages.activate("en")


def test_an_error_ends_as_a_sentence_so_that_its_hint_can_follow() -> None:
    hinted = [name for name in EN if name.startswith("error.") and name.replace("error", "hint", 1) in EN]
    assert [name for name in hinted if not EN[name].endswith((".", "?", "!"))] == []
    assert [name for name in hinted if not ZH[name].endswith(("。", "？", "！"))] == []


def test_a_hint_belongs_to_an_error() -> None:
    assert {name.removeprefix("hint.") for name in EN if name.startswith("hint.")} <= {
        name.removeprefix("error.") for name in EN if name.startswith("error.")
    }


def test_chinese_is_chinese_and_english_is_english() -> None:
    han = re.compile(r"[\u4e00-\u9fff]")
    assert [name for name, text in EN.items() if han.search(text)] == []
    commands_only = {"hint.llm_needs_options"}
    assert {name for name, text in ZH.items() if not han.search(text)} <= commands_only | {
        name for name, text in ZH.items() if re.fullmatch(r"[^a-z]*", re.sub(r"\{\w+\}|mex\.db|KiB", "", text))
    }


def test_every_id_in_the_code_has_its_text() -> None:
    assert sorted(USED.texts - set(EN)) == []
    assert len(USED.texts) > 80, "the walk finds what it is meant to find"


def test_every_family_of_ids_is_in_the_catalogue() -> None:
    for family in USED.families:
        pattern = re.compile(re.escape(family).replace(r"\*", ".+"))
        assert any(pattern.fullmatch(name) for name in EN), family


def test_every_error_code_has_its_text() -> None:
    assert sorted(code for code in CODES if f"error.{code}" not in EN) == []
    assert len(CODES) > 60, "the walk finds what it is meant to find"


def test_every_discard_reason_has_its_text() -> None:
    assert (
        sorted(reason for reason in USED.reasons if f"discard.{reason}" not in EN and f"error.{reason}" not in EN) == []
    )
    assert len(USED.reasons) > 15, "the walk finds what it is meant to find"


@pytest.mark.parametrize(
    ("family", "values"),
    [
        ("state.", list(JobState)),
        ("outcome.", list(Outcome)),
        ("reason.", sorted(PAUSED_REASONS | OVER_BUDGET)),
        ("label.", list(get_args(Role))),
        ("note.worker_", list(get_args(Presence))),
        ("done.cancel_", [JobState.CANCELLED, JobState.RUNNING]),
        ("discard.", [*Stance, *Flaw]),
        ("skipped.", ["nothing_new", "no_turns", "no_user_turn", "subagent", "preview"]),
    ],
)
def test_every_value_that_is_shown_has_its_text(family: str, values: list[str]) -> None:
    assert values
    assert [value for value in values if f"{family}{value}" not in EN] == []


def is_used(name: str) -> bool:
    family, _, rest = name.partition(".")
    if name in USED.texts | USED.constants or (family in ("error", "hint") and rest in CODES):
        return True
    if family == "discard":
        return rest in {*USED.reasons, *Stance, *Flaw}
    shown = [found for found in USED.families if re.fullmatch(re.escape(found).replace(r"\*", ".+"), name)]
    # A family only says where its members begin; each member is a value or a name that stands in the code.
    return any(is_member(name, found) for found in shown)


def is_member(name: str, family: str) -> bool:
    start, _, end = family.partition("*")
    member = name[len(start) : len(name) - len(end.replace("*", "")) or None]
    return all(part in USED.constants for part in member.split("."))


def test_nothing_stands_in_the_catalogue_that_nobody_says() -> None:
    assert sorted(name for name in EN if not is_used(name)) == []


def test_a_discarded_candidate_brings_every_fact_its_text_asks_for() -> None:
    asked = {reason: placeholders(EN.get(f"discard.{reason}", "")) for reason in USED.reasons}
    assert {reason: names for reason, names in asked.items() if names - USED.reasons[reason]} == {}
    assert any(asked.values())


def lacking(raised: Raised) -> set[str]:
    """The facts that the text and the hint of an error ask for and that are not given where it is made."""
    asked = placeholders(EN[f"error.{raised.code}"]) | placeholders(EN.get(f"hint.{raised.code}", ""))
    return asked - (raised.facts or set()) - ADDED_LATER


def test_an_error_brings_every_fact_its_text_asks_for() -> None:
    """At every place that makes an error with its facts written out."""
    written_out = [raised for raised in USED.raised if raised.facts is not None]
    assert [(raised.place, raised.code, lacking(raised)) for raised in written_out if lacking(raised)] == []
    assert len(written_out) > 200, "the walk finds what it is meant to find"
