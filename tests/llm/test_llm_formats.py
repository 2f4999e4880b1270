"""How structured output is asked for: the strongest way that an endpoint takes (product C12)."""

import json

import httpx
import pytest
from llm_endpoint import BASE_URL, KEY, MESSAGES, MODEL, ask, completed, failed, run, transport

from mex_pipeline.llm.client import OpenAICompatible
from mex_pipeline.llm.contract import REPLY_SCHEMA

SCHEMA_500 = failed(500, "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]")


def test_structured_output_is_asked_for_in_the_strongest_way_first() -> None:
    """product C12"""
    asked = ask(completed(), response_format=None)
    schema = asked.bodies[0]["response_format"]["json_schema"]
    assert schema == {"name": "memories", "strict": True, "schema": REPLY_SCHEMA}
    assert asked.completion.response_format == "json_schema"
    assert asked.learned == ["json_schema"]


@pytest.mark.parametrize("status", [400, 404, 415, 422, 500, 501])
def test_a_refusal_that_names_the_format_steps_down_at_once(status: int) -> None:
    refusal = failed(status, "This response_format type is unavailable now")
    asked = ask(refusal, completed(), response_format=None)
    assert (asked.formats, asked.waits, asked.learned) == (["json_schema", "json_object"], [], ["json_object"])


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_bare_failure_steps_down_once_per_level(status: int) -> None:
    asked = ask(failed(status), failed(status), completed(), response_format=None)
    assert (asked.formats, asked.waits) == (["json_schema", "json_object", "prompt"], [])
    assert asked.learned == ["prompt"]


def test_a_server_that_answers_json_schema_with_a_500_costs_one_request_and_no_wait() -> None:
    asked = ask(SCHEMA_500, completed(), response_format=None)
    assert (asked.formats, asked.waits, asked.learned) == (["json_schema", "json_object"], [], ["json_object"])


def test_a_plain_outage_still_ends_in_the_retry_path() -> None:
    asked = ask(then=failed(500, "down"), response_format=None)
    assert (asked.error.code, len(asked.waits)) == ("llm_server_error", 3)
    assert asked.learned == []


def test_product_c12_a_dead_server_is_asked_six_times_and_not_twelve() -> None:
    """One way down in a call; then each try takes the next format, so that none is learned from an outage."""
    asked = ask(then=failed(500), response_format=None)
    assert asked.formats == ["json_schema", "json_object", "prompt", "json_schema", "json_object", "prompt"]


def test_product_c12_a_server_that_fails_at_first_and_takes_no_schema_is_reached_all_the_same() -> None:
    asked = ask(failed(500), failed(500), failed(500), SCHEMA_500, completed(), response_format=None)
    assert (asked.formats[-2:], asked.learned) == (["json_schema", "json_object"], ["json_object"])


def test_an_outage_that_is_no_bare_500_never_weakens_the_format() -> None:
    asked = ask(failed(503), failed(502), completed(), response_format=None)
    assert (asked.formats, asked.learned) == (["json_schema"] * 3, ["json_schema"])


def test_an_outage_that_passes_leaves_the_strongest_format() -> None:
    """Three 500s say that the server is down, not that it dislikes all three formats."""
    asked = ask(failed(500), failed(500), failed(500), completed(), response_format=None)
    assert asked.formats == ["json_schema", "json_object", "prompt", "json_schema"]
    assert (len(asked.waits), asked.learned) == (1, ["json_schema"])


def test_with_a_format_that_worked_before_a_500_is_an_outage() -> None:
    asked = ask(failed(500), completed(), response_format="json_schema")
    assert (asked.formats, len(asked.waits), asked.learned) == (["json_schema", "json_schema"], 1, [])


def test_a_format_that_worked_before_is_given_up_when_the_server_names_it() -> None:
    asked = ask(failed(400, "response_format: unsupported"), completed(), response_format="json_object")
    assert (asked.formats, asked.learned) == (["json_object", "prompt"], ["prompt"])


@pytest.mark.parametrize(
    "answer",
    [
        failed(400, "This model's maximum context length is 4096 tokens"),
        failed(401, "no"),
        failed(404, "model 'x' not found"),
        failed(402, "pay"),
        failed(400, "input contains inappropriate content", code="data_inspection_failed"),
    ],
)
def test_a_failure_with_a_known_cause_does_not_step_down(answer: httpx.Response) -> None:
    assert ask(answer, response_format=None).formats == ["json_schema"]


def test_what_worked_is_kept_for_the_next_call() -> None:
    """The instance remembers, so that a refusal is paid for once."""
    formats: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        kind = json.loads(request.content).get("response_format", {}).get("type", "prompt")
        formats.append(kind)
        return completed() if kind == "json_object" else SCHEMA_500

    async def twice() -> None:
        llm = OpenAICompatible(base_url=BASE_URL, api_key=KEY, model=MODEL)
        await llm.complete(MESSAGES)
        await llm.complete(MESSAGES)
        await llm.aclose()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", transport(answer))
        run(twice())
    assert formats == ["json_schema", "json_object", "json_object"]
