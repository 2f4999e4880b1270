"""What is taken out of a message, and what must stay."""

import pytest

from mex_pipeline.adapters.cleaning import TEXT_CAP, assistant_text, capped, left_out, scrub, user_text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<system-reminder>x</system-reminder>", ""),
        ("<SYSTEM-REMINDER>x</System-Reminder>hi", "hi"),
        ("<ide_opened_file>a.py</ide_opened_file>\n<ide_selection>x\ny</ide_selection>\n改一下", "改一下"),
        ('a<ide_diagnostics level="2">x</ide_diagnostics>b', "ab"),
        ("<system-reminder>a <system-reminder>b</system-reminder> c</system-reminder>d", "d"),
        ("<system-reminder>tags like <system-reminder> are injected</system-reminder>d", "d"),
        ("one<system-reminder>x</system-reminder>two<system-reminder>y</system-reminder>three", "onetwothree"),
        ("why is there <system-reminder> in my log?", "why is there <system-reminder> in my log?"),
        ("a </system-reminder> b", "a </system-reminder> b"),
        ("\u00a0\u3000 hi \u00a0\n", "hi"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_injected_blocks_go_and_the_persons_words_stay(text: str, cleaned: str) -> None:
    """Standalone, as a prefix, nested, in any case; a tag that nothing closes is speech."""
    assert user_text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<thinking>x</thinking>好", "好"),
        ("<antThinking>x</antThinking>ok", "ok"),
        ('see <antArtifact identifier="a" type="t">code</antArtifact> above', "see  above"),
        ("a\n```py\n" + "x\n" * 20 + "```\nb", "a\n```py\n" + "x\n" * 20 + "```\nb"),
        ("a\n```py\n" + "x\n" * 21 + "```\nb", "a\n[code 21 lines]\nb"),
        ("  ~~~~\n" + "```\n" * 22 + "  ~~~~~\nb", "[code 22 lines]\nb"),
        ("```\n" + "x\n" * 30, "```\n" + "x\n" * 29 + "x"),
        ("```a``` inline\n" + "x\n" * 30 + "```b``` inline", "```a``` inline\n" + "x\n" * 30 + "```b``` inline"),
        ("```\nx\n```\n" + "y\n" * 30 + "```\nx\n```", "```\nx\n```\n" + "y\n" * 30 + "```\nx\n```"),
    ],
)
def test_thought_goes_and_long_code_is_only_counted(text: str, cleaned: str) -> None:
    """Twenty lines stay; an unclosed or inline fence is no block."""
    assert assistant_text(text) == cleaned


def test_cleaning_takes_linear_time() -> None:
    """Thousands of unclosed tags in a pasted log must not stall a read."""
    text = "<system-reminder> <thinking " * 200_000
    assert user_text(text) == text.strip()
    assert assistant_text(text) == text.strip()
    rule = "\n" * 30 + "~" * 200_000 + "`"
    assert assistant_text(rule) == rule.strip()


def test_a_capped_text_keeps_both_ends_and_says_how_much_is_gone() -> None:
    """Never longer than the cap; shorter texts are untouched."""
    assert capped("x" * TEXT_CAP) == ("x" * TEXT_CAP, False)
    text, was_cut = capped("a" * TEXT_CAP + "z")
    assert was_cut
    assert len(text) <= TEXT_CAP
    assert text == "a" * 5_900 + "\n[cut 101 characters]\n" + "a" * 1_999 + "z"


def test_unstorable_characters_are_replaced() -> None:
    """Lone surrogates and NUL; a real pair is one character in Python and stays."""
    assert scrub("a\ud83d\0b\udcff😀") == "a\ufffdb\ufffd😀"


@pytest.mark.parametrize(
    ("text", "cleaned", "reasons"),
    [
        ("我住在杭州<private>我得了流感</private>。", "我住在杭州。", ["private"]),
        ("a <PRIVATE reason='x'>b</Private> c", "a  c", ["private"]),
        ("a <private>b <private>c</private> d</private> e", "a  e", ["private"]),
        ("a <private>b <private>c</private> d", "a", ["private"]),
        ("我住在杭州＜private＞我得了流感＜/private＞。", "我住在杭州。", ["private"]),
        ("a ＜Private>b</private＞ c ＜／private＞ d", "a  c ＜／private＞ d", ["private"]),
        ("a <private>b\n\nc", "a", ["private"]),
        ("a\n```\n<private>key</private>\n```", "a\n```\n\n```", ["private"]),
        ("a <private>b</private> c <private>d</private>", "a  c", ["private", "private"]),
        ("<private>b</private>", "", ["private"]),
        ("a <private/> b <private-key> c </private> d", "a <private/> b <private-key> c </private> d", []),
        ("a 〈private〉 b", "a 〈private〉 b", []),
        ('<mex-memory v="1">她住在杭州</mex-memory>你好', "你好", ["injected"]),
        ('你好<mex-memory v="1">她住在杭州', "你好", ["injected"]),
        ("<system-reminder>write <private> for secrets</system-reminder>hi", "hi", ["injected"]),
        ("no tags: 1 < 2", "no tags: 1 < 2", []),
    ],
)
def test_product_f2_f3_private_and_own_blocks_never_leave(text: str, cleaned: str, reasons: list[str]) -> None:
    """Unclosed they reach to the end of the message; the user's and the assistant's texts are treated alike."""
    assert user_text(text) == cleaned
    assert assistant_text(text) == cleaned
    assert left_out(text) == reasons


@pytest.mark.parametrize(
    "tag",
    [
        "persisted-output", "user-prompt-submit-hook", "hook_context", "hook-context", "system-context",
        "system_instruction", "claude-mem-context", "supermemory-context", "supermemory-containers", "mem0-context",
        "agentmemory-context", "openviking-context", "byterover-context", "membase-handoff", "nowledge-mem-context",
        "letta_message", "memory_blocks", "hindsight_memories", "memory-context", "memory_context",
        "local-memory-context", "relevant-memories", "relevant_memories", "user_memories", "recalled_experience",
    ],
)  # fmt: skip
def test_product_f3_what_other_tools_put_into_a_prompt_goes_and_talk_about_it_stays(tag: str) -> None:
    assert user_text(f'<{tag} project="x">\n- 他住在上海\n</{tag}>\n我住在杭州') == "我住在杭州"
    assert left_out(f"<{tag}>x</{tag}>") == ["injected"]
    assert user_text(f"what does <{tag}> mean?") == f"what does <{tag}> mean?"


def test_a_capped_text_is_cut_between_words() -> None:
    """Half a word could be half a secret; a text without blanks is cut where it must be."""
    text, was_cut = capped("word " * 3_000)
    assert was_cut
    head, _, tail = text.partition("\n[cut ")
    assert set(head.split()) == {"word"}
    assert set(tail.partition("]\n")[2].split()) == {"word"}
    number = int(tail.partition(" ")[0])
    assert len(head) + number + len(tail.partition("]\n")[2]) == 15_000
