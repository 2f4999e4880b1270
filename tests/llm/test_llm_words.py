"""The causes of a refusal in the words of the servers that people use, English and Chinese."""

import json

import pytest
from llm_endpoint import ENDPOINT, KEY, MESSAGES, MODEL

from mex_pipeline.errors import MexError
from mex_pipeline.llm.answers import Answer, Asked, read


def said(status: int, **error: str) -> str:
    """The code of an answer with that status and error."""
    with pytest.raises(MexError) as caught:
        read(Answer(status, json.dumps({"error": error})), Asked(ENDPOINT, MODEL, KEY, tuple(MESSAGES), "prompt"))
    return caught.value.code


TOO_LONG = [
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in more.",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "You passed 9000 input tokens. However, the model's context length is only 8192 tokens.",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "the request exceeds the available context size. try increasing the context size",
    "input is too large to process. increase the physical batch size",
    "prompt too long; exceeded max context length by 1000 tokens",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    "Prompt 超长",
    "Prompt exceeds max length",
    "输入内容过长,超过模型上限",
    "输入长度超出模型最大长度限制",
    "请求的token数超过模型上限",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
    "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
    "Input length 131073 exceeds the maximum length 131072",
    "Total tokens of image and text exceed max message tokens.",
    "the max input characters is 11200",
    "prompt tokens too long",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Input is too long for requested model.",
]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("message", TOO_LONG)
def test_a_chunk_that_is_too_long_is_told_in_the_words_of_every_common_server(message: str, status: int) -> None:
    """queue §5.6: told so, it is asked in halves; taken for another refusal, the job would fail for good."""
    assert said(status, message=message) == "llm_context_length"


def test_a_request_that_is_larger_than_a_whole_minute_allows_is_no_matter_of_waiting() -> None:
    message = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000."
    assert said(429, message=message, code="rate_limit_exceeded") == "llm_context_length"
    message = "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000."
    assert said(429, message=message, code="rate_limit_exceeded") == "llm_rate_limited"


@pytest.mark.parametrize(
    "error",
    [
        {"message": "triggering Azure OpenAI's content management policy."},
        {"message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy."},
        {"message": "rejected as a result of our safety system.", "code": "moderation_blocked"},
        {"message": 'requires moderation. Your input was flagged for "violence".'},
        {"message": "Content Exists Risk", "code": "invalid_request_error"},
        {"message": "Input data may contain inappropriate content.", "code": "DataInspectionFailed"},
        {"message": "The system has detected potentially unsafe or sensitive content in input.", "code": "1301"},
        {"message": "The request was rejected because it was considered high risk"},
        {"message": "m", "code": "InputTextSensitiveContentDetected"},
        {"message": "The request failed because the input text may contain sensitive information."},
        {"message": "The prompt was blocked: PROHIBITED_CONTENT"},
        {"message": "Output blocked by content filtering policy"},
        {"message": "Prompt violates content guidelines"},
        {"message": "系统检测到输入或生成内容可能包含不安全或敏感内容"},
        {"message": "内容涉嫌违规，请修改后重试"},
        {"message": "输入内容审核不通过，请重新调整输入内容"},
        {"message": "您的输入包含不合规内容"},
        {"message": "输入内容存在安全风险"},
    ],
)
@pytest.mark.parametrize("status", [400, 403])
def test_a_content_filter_is_told_in_the_words_of_every_common_server(error: dict[str, str], status: int) -> None:
    """queue §5.6: one turn is left out, not a job failed or an endpoint paused for a key that is right."""
    assert said(status, **error) == "llm_refusal"


@pytest.mark.parametrize(
    "message",
    [
        "Unrecognized request argument supplied: foo",
        "max_tokens is too large: 32768. This model supports at most 4096 completion tokens",
        "Invalid value for 'model': must be a string of maximum length 64",
        "messages: text content blocks must be non-empty",
        "This field is case sensitive",
        "参数大小写敏感",
        "tools: list too long",
        "参数 temperature 超出范围",
        "<html><title>400</title>content too long</html>",
    ],
)
def test_any_other_refusal_is_neither_too_long_nor_filtered(message: str) -> None:
    assert said(400, message=message) == "llm_bad_request"
