"""What `config/` ships: settings that say their defaults, two equal schemas, prompts that fit the code."""

import json
import re
from collections import Counter

import pytest
import yaml

from mex_pipeline import resources, settings, yaml_file
from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.domain.schema import Schema, parse
from mex_pipeline.llm.contract import parse_reply
from mex_pipeline.settings import Settings

LANGUAGES = pytest.mark.parametrize("language", resources.LANGUAGES)
SEED_3_4_TOPICS = [
    "basic_info", "work", "edu", "research", "finance", "family", "relationship", "leisure", "health", "values",
    "interaction", "goals",
]  # fmt: skip
TITLES = {
    "en": ["Task", "Slots", "Confidence", "Known facts", "Quality", "Actions", "Examples", "Output"],
    "zh": ["任务", "槽位清单", "置信度", "已知事实", "质量标准", "动作", "示例", "输出格式"],
}


def schema(language: str) -> Schema:
    found, notices = parse(yaml_file.load(resources.shipped("schema", f"{language}.yaml")))
    assert notices == ()
    return found


def test_the_shipped_settings_are_the_defaults() -> None:
    assert settings.load(resources.shipped("config.yaml"), {}) == Settings()


def test_the_shipped_settings_show_every_setting_with_its_default() -> None:
    shown = yaml_file.load(resources.shipped("config.yaml"))
    assert (shown.pop("language"), shown.pop("views")) == ("", None)
    assert shown == {
        name: section._asdict() for name, section in Settings()._asdict().items() if name not in ("language", "views")
    }


def test_every_shipped_setting_has_a_comment_but_those_that_speak_for_themselves() -> None:
    text = resources.shipped("config.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\s+\w+:", line)]
    assert [line.split(":")[0].strip() for line in lines if "#" not in line] == ["model"]


@LANGUAGES
def test_seed_3_4_the_schema_has_the_twelve_topics_in_order(language: str) -> None:
    assert list(schema(language).topics) == SEED_3_4_TOPICS


def test_both_schemas_have_the_same_structure() -> None:
    def structure(language: str) -> list[tuple]:
        return [
            (slot.path, slot.unique, [(field.name, field.required, field.is_time) for field in slot.fields])
            for slot in schema(language).slots()
        ]

    assert structure("zh") == structure("en")


@LANGUAGES
def test_every_label_of_the_schema_is_in_its_language(language: str) -> None:
    han = re.compile(r"[\u4e00-\u9fff]")
    found = schema(language)
    described = [*found.topics.values(), *found.slots(), *(field for slot in found.slots() for field in slot.fields)]
    for one in described:
        assert one.description != one.name, "the name would stand in for a missing description"
        assert bool(han.search(one.description)) is (language == "zh"), one


@LANGUAGES
def test_labels_are_not_ambiguous_inside_a_topic(language: str) -> None:
    for topic in schema(language).topics.values():
        labels = Counter(slot.label for slot in topic.slots.values())
        assert [label for label, times in labels.items() if times > 1] == []


@pytest.mark.parametrize(
    ("slot", "unique", "fields"),
    [
        ("basic_info.name", True, []),
        ("work.company", True, []),
        ("work.position", True, []),
        ("work.tech_stack", False, []),
        ("work.experience", False, ["start", "end", "company", "position", "department", "summary", "kind"]),
        ("edu.education", False, ["start", "end", "degree", "school", "major"]),
        ("research.paper", False, ["title", "venue", "year", "authors", "status"]),
        ("research.patent", False, ["name", "type", "year", "status"]),
    ],
)
def test_seed_3_4_the_slots_the_seed_writes_out(slot: str, unique: bool, fields: list[str]) -> None:
    found = schema("zh").find(*slot.split("."))
    assert found is not None
    assert found.unique is unique
    assert [field.name for field in found.fields][: len(fields)] == fields


@LANGUAGES
def test_seed_7_1_the_prompt_has_eight_parts_in_order_and_a_reminder(language: str) -> None:
    parts, repair = resources.prompt_texts(language)
    assert [part.splitlines()[0].removeprefix("# ") for part in parts] == TITLES[language]
    assert repair.strip()


@LANGUAGES
def test_each_placeholder_stands_exactly_once(language: str) -> None:
    parts, repair = resources.prompt_texts(language)
    assert Counter(re.findall(r"\{\{\w*\}\}", "".join([*parts, repair]))) == {
        "{{today}}": 1,
        "{{slots}}": 1,
        "{{known}}": 1,
    }
    assert ["{{today}}" in parts[0], "{{slots}}" in parts[1], "{{known}}" in parts[3]] == [True] * 3


def replies(language: str) -> list[str]:
    parts, _ = resources.prompt_texts(language)
    return re.findall(r"^```json\n(.*?)^```", "\n".join(parts), re.DOTALL | re.MULTILINE)


def proposed(language: str) -> list[Candidate]:
    return [candidate for reply in replies(language) for candidate in parse_reply(reply).candidates]


@LANGUAGES
def test_seed_7_1_every_example_is_valid_for_the_default_schema(language: str) -> None:
    """An example that the code would discard teaches the model to be discarded."""
    found = schema(language)
    assert len(proposed(language)) >= 10
    for candidate in proposed(language):
        checked = check_candidate(found, candidate)
        assert isinstance(checked, Candidate), checked
        assert (checked.action, checked.confidence) == (candidate.action, candidate.confidence)


def test_both_languages_show_the_same_examples() -> None:
    def shape(language: str) -> list[tuple]:
        return [
            (one.action, one.topic, one.sub_topic, one.confidence, one.turn, one.about) for one in proposed(language)
        ]

    assert shape("zh") == shape("en")


@LANGUAGES
def test_the_examples_show_every_action_and_every_kind_of_place(language: str) -> None:
    """seed 004 §7.1 part 7."""
    found = schema(language)
    assert {candidate.action for candidate in proposed(language)} == {"new", "update", "uncertain_update", "retire"}
    slots = [found.find(candidate.topic, candidate.sub_topic) for candidate in proposed(language)]
    assert None in slots
    assert {slot.unique for slot in slots if slot} == {True, False}
    assert any(slot.fields for slot in slots if slot)
    assert '{"memories":[]}' in {json.dumps(json.loads(reply), separators=(",", ":")) for reply in replies(language)}


@LANGUAGES
def test_a_quote_of_an_example_stands_in_its_turn(language: str) -> None:
    parts, _ = resources.prompt_texts(language)
    turns: dict[tuple[int, int], str] = {}
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", "\n".join(parts), re.DOTALL | re.MULTILINE)
    example = 0
    for kind, text in blocks:
        if kind == "text" and text.lstrip().startswith("["):
            example += 1
            turns |= {(example, turn["turn"]): turn["text"] for turn in json.loads(text)}
        elif kind == "json":
            for candidate in parse_reply(text).candidates:
                assert candidate.quote
                assert candidate.quote in turns[example, candidate.turn or 0]
    assert example >= 3


def test_everything_that_is_shipped_is_read_by_something() -> None:
    folder = resources.shipped()
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    prompts = {f"prompts/{language}/{name}" for language in resources.LANGUAGES for name in (
        "01-task.md", "02-schema.md", "03-confidence.md", "04-known.md", "05-quality.md", "06-actions.md",
        "07-examples.md", "08-output.md", "repair.md", "compact.md", "compact_repair.md",
    )}  # fmt: skip
    skills = {f"skills/{language}/{name}" for language in resources.LANGUAGES for name in ("SKILL.md", "README.md")}
    assert files == {"config.yaml", "schema/zh.yaml", "schema/en.yaml"} | prompts | skills


def test_the_yaml_files_are_read_alike_by_both_parsers() -> None:
    """Some builds come without libyaml."""
    for path in resources.shipped().rglob("*.yaml"):
        assert yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader) == yaml_file.load(path)
