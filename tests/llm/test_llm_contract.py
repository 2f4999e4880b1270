"""Finding the memories in the text of a reply, whatever stands around them; the schema asked for."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llm_replies import RUST, TEA, TEA_REPLY, contents, read_or_code, reply

from mex_pipeline.domain.candidate import About, Action, Discarded
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.contract import REPLY_SCHEMA, ParsedReply, parse_reply


def code_of(text: str) -> str:
    with pytest.raises(LLMBadReply) as caught:
        parse_reply(text)
    assert caught.value.params == {}
    return caught.value.code


@pytest.mark.parametrize("text", ['{"memories": []}', '{"memories":[]} ', "[]", "```json\n[]\n```", '{"memories": []'])
def test_seed_7_2_nothing_to_remember_is_a_normal_result(text: str) -> None:
    assert parse_reply(text) == ParsedReply((), ())


@pytest.mark.parametrize(
    "text",
    [
        TEA_REPLY,
        f"\ufeff{TEA_REPLY}",
        f"```json\n{TEA_REPLY}\n```",
        f"```\n{TEA_REPLY}\n```",
        f"```JSON {TEA_REPLY}```",
        f"```json\n{TEA_REPLY}",
        f"好的，以下是抽取结果：\n```json\n{TEA_REPLY}\n```\n希望有帮助！",
        f"Sure! Here is {{the}} result: {TEA_REPLY} Anything else?",
        f"结果如下 {TEA_REPLY}。",
        f"<think>The user says {{tea}}… {reply(RUST)}</think>\n{TEA_REPLY}",
        f"The user likes {{tea}}, so {reply(RUST)}\n</think>\n\n```json\n{TEA_REPLY}\n```",
        f"<thinking>hm</thinking>{TEA_REPLY}",
        json.dumps([TEA], ensure_ascii=False),
        f"```json\n[{json.dumps(TEA)}]\n```",
        f"Memories [1 of 1]: [ {json.dumps(TEA)} ] done",
        json.dumps({"thoughts": "…", "memories": [TEA]}),
        TEA_REPLY[:-1],
        TEA_REPLY[:-2],
        TEA_REPLY.replace("}]", "},]"),
        TEA_REPLY.replace(", ", ",\n "),
        TEA_REPLY + "}}",
        TEA_REPLY.replace('"', "'"),
        TEA_REPLY.replace('"memories"', "memories"),
        TEA_REPLY.replace('"memories"', "“memories”"),
        TEA_REPLY.replace("「我爱喝绿茶」", '"我爱喝绿茶"'),
        f'{{\n  // the memories\n  "memories": [{json.dumps(TEA)}] }}',
        f"Note {{see below}}: {TEA_REPLY[:-1]}",
        f"{TEA_REPLY}\n\n{TEA_REPLY}".replace(TEA_REPLY, TEA_REPLY, 1),
    ],
)
def test_seed_7_3_the_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert contents(text) == ["绿茶"]


def test_a_line_break_inside_a_string_is_taken_as_meant() -> None:
    assert contents('{"memories":[{"content":"line one\nline\ttwo"}]}') == ["line one\nline\ttwo"]


def test_every_object_of_a_reply_counts() -> None:
    """Models without a JSON mode write one object per turn."""
    assert contents(f"{reply(TEA)}\n{reply(RUST)}") == ["绿茶", "Rust"]


def test_a_broken_object_behind_a_good_one_counts_too() -> None:
    assert contents(f"{reply(RUST)}\n{TEA_REPLY.replace('}]', '},]')}") == ["Rust", "绿茶"]
    assert code_of(f"{reply(RUST)}\n{TEA_REPLY[:40]}") == "llm_cut_off"


def test_an_empty_list_in_the_explanation_does_not_hide_a_broken_one() -> None:
    broken = TEA_REPLY.replace("}]", "},]")
    assert contents(f'Usually I answer {{"memories": []}} but here: {broken}') == ["绿茶"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "没有值得记住的内容。",
        "I'm sorry, I can't help with that.",
        "Use {curly} braces and [brackets].",
        "{}",
        "null",
        "42",
        '"text"',
        '{"items": []}',
        '{"memories": null}',
        '{"memories": {}}',
        '{"memories": "none"}',
        '{"result": {"memories": []}}',
        f'{{"items": [{json.dumps(TEA)}]}}',
        f'Here: {{"items": [{json.dumps(TEA)}]}}',
        json.dumps(TEA),
        '{"memories": [ ... ]}',
        '{"memories": [',
        "{memories",
        "memories: []",
        '["绿茶"]',
        '[{"turn":1,"role":"user","text":"我爱喝绿茶"}]',
        '{"type":"object","properties":{"memories":[]}}',
        "[" * 5_000,
        '{"a":' * 5_000,
        '[{"a":"' * 20_000,
        '{"memories":[{"content":"a"b"},' * 2_000 + "}",
        "```" + " " * 100_000 + "x",
        "{" * 100_000,
    ],
)
def test_a_reply_without_a_list_of_memories_is_no_success(text: str) -> None:
    """original faults 15 and 16; and it is known within seconds, however the text nests."""
    started = time.monotonic()
    assert code_of(text) in {"llm_bad_reply", "llm_cut_off"}
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "text", ["<think>hm", "<think>hm</think>", f"<think>{TEA_REPLY}</think>\n", "hm…</think>", f"<THINK>{TEA_REPLY}"]
)
def test_a_reply_of_reasoning_alone_is_named_so(text: str) -> None:
    """product C7: a draft inside the reasoning is not the answer."""
    assert code_of(text) == "llm_reasoning_only"


@pytest.mark.parametrize("cut", range(len(reply(TEA, RUST)) - len(json.dumps(RUST)), len(reply(TEA, RUST)) - 3))
def test_a_reply_that_ends_inside_a_candidate_is_cut_off(cut: int) -> None:
    """Half a value is a wrong value: nothing of it is mended."""
    assert code_of(reply(TEA, RUST)[:cut]) == "llm_cut_off"


def test_a_value_whose_end_had_to_be_guessed_is_not_believed() -> None:
    """Mending finds some end for a string with bare quotes in it; what swallowed brackets is no value."""
    parsed = parse_reply(f'{{"memories":[{{"content":"{{"company":"远光","start":"2020"}}"}},{json.dumps(RUST)}]}}')
    assert [candidate.content for candidate in parsed.candidates] == ["Rust"]
    assert Discarded('{"company":"远光', "content_garbled") in parsed.discarded
    (discarded,) = parse_reply("{'memories': [{'content': 'it's'}]}").discarded
    assert (discarded.content, discarded.reason) == ("it's'}", "content_garbled")


def test_mending_that_swallows_an_entry_is_not_believed() -> None:
    assert code_of("{'memories': [{'content': 'it's'}, {'content': 'Rust'}]}") == "llm_bad_reply"


def test_structured_content_in_a_mended_reply_is_no_debris() -> None:
    content = '{"company": "远光", "roles": "[\'a\']"}'
    assert contents(json.dumps({"memories": [{"content": content}]}, ensure_ascii=False)[:-1]) == [content]


def every_object(node: Any) -> list[dict[str, Any]]:
    inner = [found for value in node.values() for found in every_object(value)] if isinstance(node, dict) else []
    return [node, *inner] if isinstance(node, dict) else inner


def test_the_reply_schema_is_strict_and_without_references() -> None:
    """product C12; the strict form wants every key required and nothing beside them."""
    assert "$ref" not in json.dumps(REPLY_SCHEMA)
    assert "$defs" not in json.dumps(REPLY_SCHEMA)
    objects = [node for node in every_object(REPLY_SCHEMA) if node.get("type") == "object"]
    assert len(objects) == 2
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_the_reply_schema_names_what_the_contract_names() -> None:
    """seed 7.2 and product C11; `confirmed` is not on offer."""
    properties = REPLY_SCHEMA["properties"]["memories"]["items"]["properties"]
    assert list(properties) == [
        "action", "topic", "sub_topic", "content", "is_ai_inferred", "confidence", "evidence",
        "quote", "turn", "about", "replaces", "occurred_at",
    ]  # fmt: skip
    assert properties["action"]["enum"] == list(Action)
    assert properties["about"]["enum"] == list(About)
    assert properties["confidence"]["enum"] == ["explicit", "inferred", "speculated", "uncertain"]


def survives(text: str) -> None:
    """Any reply is candidates and discarded ones, or one named error."""
    parsed = read_or_code(text)
    if isinstance(parsed, str):
        assert parsed in {"llm_bad_reply", "llm_reasoning_only", "llm_cut_off"}
        return
    for candidate in parsed.candidates:
        assert candidate.content.strip()
        assert candidate.confidence is not Confidence.CONFIRMED
        json.dumps(candidate.content, ensure_ascii=False).encode()
    for discarded in parsed.discarded:
        discarded.content.encode()


@given(st.text(st.characters(exclude_categories=())))
@example("\ud800")
def test_any_text_is_survived(text: str) -> None:
    survives(text)


@given(st.text("{}[]\":,\\ \n`mn“”'/"))
@example("{]")
@example("1 null 2.5 true")
def test_any_heap_of_brackets_is_survived(text: str) -> None:
    survives(text)
    survives('{"memories":[' + text)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMORIES = st.lists(
    st.dictionaries(st.sampled_from(list(REPLY_SCHEMA["properties"]["memories"]["items"]["properties"])), ANY_JSON)
    | ANY_JSON,
    max_size=4,
)


@given(MEMORIES)
def test_any_value_under_any_key_is_a_candidate_or_discarded(memories: list[Any]) -> None:
    text = json.dumps({"memories": memories})
    survives(text)
    parsed = parse_reply(text)
    repeats = sum(int(item.facts["times"]) - 1 for item in parsed.discarded if item.reason == "duplicate_in_reply")
    refusals = [item for item in parsed.discarded if item.reason != "duplicate_in_reply"]
    assert len(parsed.candidates) + len(refusals) + repeats == len(memories)


@given(MEMORIES, st.integers(0, 400), st.integers(0, 400), st.text(max_size=3))
def test_a_reply_with_a_hole_is_survived(memories: list[Any], start: int, length: int, filling: str) -> None:
    text = json.dumps({"memories": memories}, ensure_ascii=False)
    survives(text[:start] + filling + text[start + length :])
