"""Whether a value stands in the words it rests on, in those words and that language (product B3, C11)."""

import pytest

from mex_pipeline.domain.coverage import COVERED, as_said, changes_language, coverage


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("远光软件", "我在远光软件上班"),
        ("VSCode", "我写代码用VSCode。"),
        ("用户在远光软件工作", "我在远光软件工作"),
        ("The user works at Google", "I work for google now"),
        ("2026-05-10 在大连参加拼图活动", "昨天我去大连参加了拼图活动"),
        ('{"start": "2019-03", "company": "Acme", "end": "present"}', "since March 2019 I'm with Acme"),
        ("growing orchids", "I grow orchids"),
        ("2026-05-10", "昨天"),
        ("1996-08-02", "My birth date is 2 August 1996."),
        ("1996-08", "我是九六年八月生的"),
    ],
)
def test_b3_a_value_in_the_user_s_words_is_covered(content: str, words: str) -> None:
    assert coverage(content, words) >= COVERED


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("腾讯", "我在远光软件上班"),
        ("青岛", "我对青霉素过敏"),
        ("Kotlin", "我主要写Zig"),
        ("rock climbing", "I moved to Berlin last year"),
        ("Ann", "Annapolis is cold"),
        ("1996-08-02", "I like herbal teas."),
        ("1996-08-02", "我对青霉素过敏"),
    ],
)
def test_b3_a_value_that_was_not_said_is_not_covered(content: str, words: str) -> None:
    assert coverage(content, words) < COVERED


@pytest.mark.parametrize(
    ("content", "words", "kept"),
    [
        ("the VSCode", "我用VSCode", "VSCode"),
        ("青岛。", "我住在青岛", "青岛"),
        ("那个Helix", "换成Helix了", "Helix"),
        ("The Hague", "I live in The Hague", "The Hague"),
        ("U.S.", "I moved to the U.S. in May", "U.S."),
        ("喜欢爬山", "我爱爬山", "喜欢爬山"),
        ("the chess club", "chess club for me", "chess club"),
        ('{"name": "the Acme."}', "Acme", '{"name": "the Acme."}'),
    ],
)
def test_c11_a_value_is_kept_as_it_was_said(content: str, words: str, kept: str) -> None:
    assert as_said(content, words) == kept


@pytest.mark.parametrize(
    ("content", "words", "changed"),
    [
        ("Qingdao", "我住在青岛", True),
        ("软件工程师", "I am a software engineer", True),
        ("Google", "我在 Google 上班", False),
        ("在 Google 上班", "I work at Google", True),
        ("青岛", "我住在青岛", False),
        ("software engineer", "I am a software engineer", False),
        ("2026-05-10", "昨天", False),
        ("works at Google in Shanghai", "我在 Google 上海上班", True),
    ],
)
def test_peers_row_19_a_value_stays_in_the_language_it_was_said_in(content: str, words: str, changed: bool) -> None:
    assert changes_language(content, words) is changed
