"""`mex setup` at a real terminal: what is asked, what Enter does, and how one leaves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, running
from tests.support.program import contents, memories, mex
from tests.support.terminal import CTRL_C, DOWN, ENTER, UP, Terminal

QUESTIONS = ["Your name?", "Where do you live?", "What do you work as?", "How should agents talk", "Any allergies?"]


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[ModelServer]:
    with running(tmp_path / "model") as server:
        server.offer("m1", "m2")
        yield server


def skip_questions(terminal: Terminal) -> None:
    for question in QUESTIONS:
        terminal.answer(question, ENTER)


def connect(terminal: Terminal, endpoint: ModelServer, key: str = "sk-typed-0123456") -> None:
    """From the language to the test call, with an endpoint of one's own."""
    terminal.answer("Language", ENTER)
    terminal.answer("Which model", UP + ENTER)  # the cursor begins on "none", above it is "custom"
    terminal.answer("Base URL", endpoint.url + ENTER)
    terminal.answer("API key", key + ENTER)
    terminal.answer("m2", ENTER)


def test_enter_alone_leads_to_the_end_without_model_agents_or_memories(tmp_path: Path, home: Path) -> None:
    with Terminal(tmp_path, "setup") as terminal:
        terminal.answer("Language", ENTER)
        terminal.answer("Which model", ENTER)
        skip_questions(terminal)
        assert terminal.end() == 0, terminal.seen
    assert "the built-in rules extract" in terminal.seen
    assert "# User profile" in terminal.seen
    assert contents() == []
    assert mex("config", "show").json["configured"] is False


def test_a_whole_run_connects_integrates_and_remembers(endpoint: ModelServer, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    with Terminal(tmp_path, "setup") as terminal:
        connect(terminal, endpoint)
        terminal.wait_for("100 + 20 tokens")
        terminal.answer("Teach Claude Code", ENTER)
        for question, said in zip(QUESTIONS, ["Ada", "Lisbon", "engineer", "briefly", "kiwi, nuts"], strict=True):
            terminal.answer(question, said + ENTER)
        terminal.wait_for("- Name: Ada")
        assert terminal.end() == 0, terminal.seen
    assert "sk-typed" not in terminal.seen
    assert "your words do not leave it" in terminal.seen
    assert (tmp_path / ".claude" / "skills" / "mex" / "SKILL.md").is_file()
    assert contents() == sorted(["Ada", "Lisbon", "engineer", "briefly", "kiwi", "nuts"])
    assert {one["confidence"] for one in memories()} == {"confirmed"}
    assert mex("config", "show").json["model"] == "m1"


def test_the_chosen_language_is_spoken_from_then_on(tmp_path: Path, home: Path) -> None:
    with Terminal(tmp_path, "setup") as terminal:
        terminal.answer("Language", DOWN + ENTER)
        terminal.answer("由哪个模型", ENTER)
        terminal.answer("你的名字", "林晓舟" + ENTER)
        for question in ("你住在哪里", "你的职业", "怎样和你沟通", "过敏"):
            terminal.answer(question, ENTER)
        terminal.wait_for("- 姓名：林晓舟")
        assert terminal.end() == 0, terminal.seen
    assert 'language: "zh"' in (home / "config.yaml").read_text(encoding="utf-8")


def test_a_failing_call_asks_what_to_do_and_a_second_try_may_succeed(endpoint: ModelServer, tmp_path: Path) -> None:
    endpoint.script({"status": 500, "body": "{}", "times": 1})
    with Terminal(tmp_path, "setup") as terminal:
        connect(terminal, endpoint)
        terminal.answer("could not be tried", ENTER)
        skip_questions(terminal)
        assert terminal.end() == 0, terminal.seen
    assert "failed (500)" in terminal.seen
    assert mex("config", "show").json["configured"] is True


def test_going_on_without_a_model_that_fails_leaves_the_settings_as_they_were(
    endpoint: ModelServer, tmp_path: Path
) -> None:
    """A model that is set and fails is no fallback to the rules (product C9), so it is not set."""
    endpoint.script({"status": 401, "body": "{}"})
    with Terminal(tmp_path, "setup") as terminal:
        connect(terminal, endpoint)
        terminal.answer("could not be tried", UP + ENTER)
        skip_questions(terminal)
        assert terminal.end() == 0, terminal.seen
    assert mex("config", "show").json["configured"] is False


def test_a_value_that_is_there_is_shown_and_kept_with_enter(tmp_path: Path) -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "Ada")
    with Terminal(tmp_path, "setup", "--location", "Lisbon") as terminal:
        terminal.answer("Language", ENTER)
        terminal.answer("Which model", ENTER)
        terminal.answer("(now: Ada; Enter keeps it)", ENTER)
        for question in QUESTIONS[2:]:  # where they live was said by an option and is not asked
            terminal.answer(question, ENTER)
        assert terminal.end() == 0, terminal.seen
    assert contents() == ["Ada", "Lisbon"]


def test_a_key_in_its_variable_is_offered_first_and_named_not_copied(tmp_path: Path, home: Path) -> None:
    """The proxy refuses: nothing leaves this machine."""
    shell = {"OPENAI_API_KEY": "sk-of-the-shell-0123", "HTTPS_PROXY": "http://127.0.0.1:9"}
    with Terminal(tmp_path, "setup", **shell) as terminal:
        terminal.answer("Language", ENTER)
        terminal.answer("key found in OPENAI_API_KEY", ENTER)
        terminal.answer("Use the key in the variable OPENAI_API_KEY", ENTER)
        terminal.wait_for("will be sent to api.openai.com")
        terminal.answer("gpt-4.1-mini", ENTER)
        terminal.answer("could not be tried", DOWN + DOWN + ENTER)  # keep all the same
        skip_questions(terminal)
        assert terminal.end() == 0, terminal.seen
    config = (home / "config.yaml").read_text(encoding="utf-8")
    assert 'api_key_env: "OPENAI_API_KEY"' in config
    assert "sk-of-the-shell" not in config + terminal.seen


@pytest.mark.parametrize("key", [CTRL_C, "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_leaving_keeps_what_was_done_so_far(endpoint: ModelServer, tmp_path: Path, key: str) -> None:
    with Terminal(tmp_path, "setup") as terminal:
        connect(terminal, endpoint)
        terminal.answer(QUESTIONS[0], "Ada" + ENTER)
        terminal.answer(QUESTIONS[1], key)
        assert terminal.end() == 1, terminal.seen
    assert "Interrupted" in terminal.seen
    assert contents() == ["Ada"]
    assert mex("config", "show").json["configured"] is True


@pytest.mark.parametrize("key", [CTRL_C, "\x04"], ids=["ctrl-c", "ctrl-d"])
@pytest.mark.parametrize("question", ["Language", "Which model", QUESTIONS[0]])
def test_every_kind_of_question_is_left_alike(tmp_path: Path, home: Path, question: str, key: str) -> None:
    with Terminal(tmp_path, "setup") as terminal:
        for one in ("Language", "Which model", QUESTIONS[0]):
            terminal.answer(one, key if one == question else ENTER)
            if one == question:
                break
        assert terminal.end() == 1
    assert "Interrupted" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert not home.exists() or memories() == []
