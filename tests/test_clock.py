"""UTC in storage, local time for people, and what counts as a date or a span (seed 004 §3.7, product G2, H10)."""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline import clock
from mex_pipeline.errors import InvalidInput

NOON = datetime(2026, 8, 6, 12, 0, tzinfo=UTC)


@pytest.fixture
def shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine eight hours ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with summer time."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("moment", "stored"),
    [
        (datetime(2026, 8, 6, 8, 30, tzinfo=UTC), "2026-08-06T08:30:00Z"),
        (datetime(2026, 8, 6, 8, 30, 59, 999_999, tzinfo=UTC), "2026-08-06T08:30:59Z"),
        (datetime(2026, 8, 6, 8, 30, tzinfo=timezone(timedelta(hours=8))), "2026-08-06T00:30:00Z"),
        (datetime(999, 1, 1, tzinfo=UTC), "0999-01-01T00:00:00Z"),
    ],
)
def test_seed_3_7_a_moment_is_stored_in_utc_to_the_second(moment: datetime, stored: str) -> None:
    assert clock.iso(moment) == stored


@given(st.integers(-62_000_000_000, 253_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds + 0.5, UTC)))
def test_a_stored_moment_comes_back_and_sorts_like_the_moment(moment: datetime) -> None:
    assert clock.from_iso(clock.iso(moment)) == moment.replace(microsecond=0)
    assert (clock.iso(moment) < clock.iso(NOON)) is (moment.replace(microsecond=0) < NOON)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-06T12:00:00Z", NOON),
        ("2026-08-06T12:00:00.250Z", NOON.replace(microsecond=250_000)),
        ("2026-08-06T20:00:00+08:00", NOON),
        ("2026-08-06T12:00:00", NOON),
        ("2026-08-06", NOON.replace(hour=0)),
    ],
)
def test_foreign_iso_texts_are_read_and_without_a_zone_taken_as_utc(text: str, expected: datetime) -> None:
    assert clock.from_iso(text) == expected
    assert clock.from_iso(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "1786000000"])
def test_anything_else_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid|month"):
        clock.from_iso(text)


def test_product_h10_jobs_count_milliseconds_and_show_iso() -> None:
    assert clock.millis(NOON) == 1_786_017_600_000
    assert clock.millis(NOON.replace(microsecond=7_999)) == 1_786_017_600_007
    assert clock.iso_of_millis(1_786_017_600_999) == "2026-08-06T12:00:00Z"
    assert clock.iso_of_millis(0) == "1970-01-01T00:00:00Z"
    assert clock.iso_of_millis(None) is None


def test_the_system_clock_is_now_in_utc() -> None:
    before = datetime.now(UTC)
    now = clock.SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC


def test_the_monotonic_clock_never_goes_back() -> None:
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.usefixtures("shanghai")
def test_seed_3_7_people_see_local_time() -> None:
    assert clock.to_local("2026-08-06T20:30:45Z") == "2026-08-07 04:30"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("3w", timedelta(weeks=3)),
        ("15m", timedelta(minutes=15)),
        (" 2s ", timedelta(seconds=2)),
        ("0d", timedelta(0)),
        ("999999w", timedelta(weeks=999_999)),
    ],
)
def test_product_g2_spans(text: str, length: timedelta) -> None:
    assert clock.parse_span(text) == length


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "-7d", "7D", "7days", "1.5h", "7d12h", "9999999d", "七d"])
def test_product_g2_anything_else_is_no_span(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        clock.parse_span(text)
    assert (caught.value.code, caught.value.params) == ("bad_span", {"value": text})


@pytest.mark.usefixtures("shanghai")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-06", "2026-08-05T16:00:00Z"),
        (" 2026-08-06 ", "2026-08-05T16:00:00Z"),
        ("2026-08-06 09:30", "2026-08-06T01:30:00Z"),
        ("2026-08-06T09:30", "2026-08-06T01:30:00Z"),
        ("2026-08-06 09:30:15", "2026-08-06T01:30:15Z"),
        ("2024-02-29", "2024-02-28T16:00:00Z"),
    ],
)
def test_product_g2_local_dates_and_date_times(text: str, expected: str) -> None:
    assert clock.iso(clock.parse_local(text)) == expected


@pytest.mark.usefixtures("shanghai")
def test_product_g2_a_date_may_mean_the_end_of_its_day_a_date_time_never() -> None:
    assert clock.iso(clock.parse_local("2026-08-06", end_of_day=True)) == "2026-08-06T15:59:59Z"
    assert clock.iso(clock.parse_local("2026-08-06 00:00", end_of_day=True)) == "2026-08-05T16:00:00Z"


@pytest.mark.usefixtures("berlin")
def test_a_day_of_summer_time_ends_at_its_own_midnight() -> None:
    assert clock.iso(clock.parse_local("2026-03-29")) == "2026-03-28T23:00:00Z"
    assert clock.iso(clock.parse_local("2026-03-29", end_of_day=True)) == "2026-03-29T21:59:59Z"


@pytest.mark.parametrize(
    "text",
    [
        "", "2026", "2026-8-6", "2026-02-30", "2023-02-29", "2026-08-06 25:00", "2026-08-06 9:30", "06.08.2026", "明天",
        "tomorrow", "2026-08-06T09:30Z", "2026-08-06T09:30+08:00", "2026-08-06 09:30:15.5", "7d", "0000-01-01",
        "２０２６-08-06",
    ],
)  # fmt: skip
def test_product_g2_anything_else_is_no_date(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        clock.parse_local(text)
    assert (caught.value.code, caught.value.params) == ("bad_date", {"value": text})


@pytest.mark.usefixtures("shanghai")
@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_a_date_or_an_error_but_no_crash(text: str) -> None:
    with suppress(InvalidInput):
        assert clock.iso(clock.parse_local(text)) == "9999-12-30T16:00:00Z"


@pytest.mark.usefixtures("shanghai")
def test_product_g2_since_and_until_take_all_three_forms() -> None:
    assert clock.parse_moment("7d", NOON) == NOON - timedelta(days=7)
    assert clock.iso(clock.parse_moment("2026-08-06", NOON)) == "2026-08-05T16:00:00Z"
    assert clock.iso(clock.parse_moment("2026-08-06", NOON, end_of_day=True)) == "2026-08-06T15:59:59Z"


@pytest.mark.parametrize(("text", "code"), [("999999w", "bad_span"), ("soon", "bad_date"), ("7x", "bad_date")])
def test_product_g2_a_span_before_all_time_and_words_are_errors(text: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        clock.parse_moment(text, NOON)
    assert caught.value.code == code
