"""Secrets are replaced by their kind, the words around them stay, and nothing else is taken for one (product F2)."""

import random

import pytest

from mex_pipeline.adapters.cleaning import TEXT_CAP, capped
from mex_pipeline.redaction import detector, shapes
from mex_pipeline.redaction.redact import kinds, redacted
from mex_pipeline.redaction.shapes import Span, joined
from tests.redaction.fake_secrets import INNOCENT, Fake, fakes

FAKES = [pytest.param(fake, id=fake.name) for fake in fakes()]


def pieces(secret: str) -> list[str]:
    """The secret in parts of eight characters: not even one of them may stay."""
    return [secret[at : at + 8] for at in range(0, max(1, len(secret) - 7), 8)] if len(secret) > 16 else [secret]


@pytest.fixture(autouse=True)
def _compiled_once(home: object) -> None:
    """The rules of the detector lie where all tests find them."""


@pytest.mark.parametrize("fake", FAKES)
def test_product_f2_a_secret_is_replaced_by_its_kind_and_the_words_around_it_stay(fake: Fake) -> None:
    found = redacted(f"我住在杭州。\n{fake.text}\nI like tea.")
    assert not [piece for piece in pieces(fake.secret) if piece in found]
    assert kinds([found]) == {fake.kind: 1}
    assert found.startswith("我住在杭州。\n")
    if fake.name != "cut off":  # nothing says where a key without an end ends
        assert found.endswith("\nI like tea.")
    before = fake.text.partition(fake.secret)[0]
    if fake.kind not in ("cookie", "slack_webhook_url"):
        assert before in found


@pytest.mark.parametrize("line", INNOCENT)
def test_product_f2_what_is_no_secret_stays_as_it_was_said(line: str) -> None:
    """Phone numbers, addresses and ids are what a memory is made of; talk about passwords is talk."""
    assert redacted(line) == line


@pytest.mark.parametrize("fake", FAKES)
def test_product_f2_to_redact_twice_is_to_redact_once(fake: Fake) -> None:
    once = redacted(fake.text)
    assert redacted(once) == once


def test_product_f2_the_same_text_gives_the_same_whatever_was_read_before() -> None:
    """Kept replies are found by their prompts, and quotes by their places."""
    texts = [fake.text for fake in fakes()]
    first = [redacted(text) for text in texts]
    order = list(range(len(texts)))
    random.Random(3).shuffle(order)
    again = {at: redacted(texts[at]) for at in order}
    assert [again[at] for at in range(len(texts))] == first


def test_product_f2_all_secrets_of_a_long_text_are_found_and_counted_by_kind() -> None:
    texts = [fake.text for fake in fakes() if fake.name not in ("cut off", "cookie")]
    found = redacted("\n\n".join(line for pair in zip(texts, INNOCENT, strict=False) for line in pair))
    for fake in fakes():
        if fake.text in texts and len(fake.secret) > 8:
            assert fake.secret not in found, fake.name
    assert sum(kinds([found]).values()) >= len(texts) - 2


def test_product_f2_one_secret_that_looks_like_two_is_replaced_once() -> None:
    """A key in a setting is both; the more exact kind names it."""
    key = next(fake.secret for fake in fakes() if fake.name == "openai project")
    assert redacted(f"export OPENAI_API_KEY={key} # mine") == "export OPENAI_API_KEY=[redacted:openai_key] # mine"
    assert redacted(f'{{"password": "{key}"}}') == '{"password": "[redacted:openai_key]"}'


def test_product_f2_of_overlapping_finds_nothing_stays() -> None:
    """A detector may find a short and a long secret at one place."""
    found = [(Span(4, 9, "b"), 0), (Span(4, 20, "a"), 0), (Span(18, 25, "c"), 0), (Span(25, 30, "d"), 0)]
    assert joined(found) == joined(found[::-1]) == [Span(4, 25, "a"), Span(25, 30, "d")]


def test_product_f2_places_are_counted_in_characters_whatever_stands_before() -> None:
    """The detector counts bytes."""
    token = next(fake.secret for fake in fakes() if fake.name == "gitlab")
    assert redacted(f"😀杭州é {token} 之后") == "😀杭州é [redacted:gitlab_pat] 之后"
    assert redacted(f"İstanbul'da {token}, password: hunter2") == (
        "İstanbul'da [redacted:gitlab_pat], password: [redacted:password]"
    )


def test_a_text_with_half_a_character_is_no_fault() -> None:
    token = next(fake.secret for fake in fakes() if fake.name == "gitlab")
    assert redacted(f"\ud83d {token} \udc00") == "\ud83d [redacted:gitlab_pat] \udc00"
    assert redacted(f"[redacted:password]{token}") == "[redacted:password][redacted:gitlab_pat]"


@pytest.mark.parametrize("name", ["rsa", "openssh"])
def test_product_f2_a_private_key_that_was_cut_anywhere_does_not_stay(name: str) -> None:
    """Its beginning or its end may be missing: a paragraph and a long text are cut where a key may stand."""
    key = next(fake.secret for fake in fakes() if fake.name == name)
    lines = key.split("\n")
    for cut in range(1, len(lines)):
        head, tail = "前面\n" + "\n".join(lines[:cut]), "\n".join(lines[cut:]) + "\n后面"
        assert redacted(head) == "前面\n[redacted:private_key]"
        if cut < len(lines) - 1:
            assert redacted(tail) == "[redacted:private_key]-----\n后面".replace("]-----", "]")


def test_product_f2_a_long_text_is_not_cut_within_a_token() -> None:
    """Half a token is no token to any detector, and still half a secret."""
    token = next(fake.secret for fake in fakes() if fake.name == "github")
    for offset in range(5_850, 5_910, 3):
        text = "词 " * (offset // 2) + f" {token} " + "说 " * TEXT_CAP
        cut, _ = capped(text)
        assert token[:8] not in redacted(cut)
        assert token[-8:] not in redacted(cut)


def test_product_f2_what_a_person_writes_in_the_form_of_a_replacement_stays() -> None:
    assert redacted("密码：[redacted:password]") == "密码：[redacted:password]"


def test_the_detector_is_loaded_for_text_with_a_token_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes long: ordinary talk, in any language, must not pay for it."""
    monkeypatch.setattr(detector, "_scanner", lambda: pytest.fail("loaded"))
    for line in (
        "我住在杭州，喜欢 Python 3.12 和 FastAPI。",
        "My password is hunter2.",
        "internationalization_of_things",
    ):
        assert redacted(line)


@pytest.mark.parametrize(
    "text",
    [
        "password " * 20_000,
        "password: " * 20_000,
        "密码是" * 40_000,
        "-----BEGIN PRIVATE KEY-----\n" * 5_000,
        ("A" * 64 + "\n") * 1_000 + "-----END x",
        "://a:" * 40_000,
        "a" * 300_000,
        "curl -u " * 20_000,
        "key=" * 50_000,
        "cookie: a=" * 20_000,
        "sk-" * 60_000,
        "seed phrase: " + "abcd " * 30_000,
        *(
            f"{start}{blank * 50_000}x"
            for blank in (" ", "\t", "\u3000")
            for start in (
                "password is",
                "password for ",
                "password to a ",
                "pin",
                "密码是",
                "密码",
                "pin for",
                "as my ",
            )
        ),
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_text_takes_no_longer_than_its_length(text: str) -> None:
    """It is run under the limit of ten seconds that every test has; a quadratic pattern would take hours."""
    assert shapes.spans(text) is not None
