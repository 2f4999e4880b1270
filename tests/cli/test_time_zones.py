"""UTC in the file, local time for people: three zones, midnight, and the days on which clocks change (seed 004 §3.7)."""

import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.support.program import mex, opened

SHANGHAI, NEW_YORK = "Asia/Shanghai", "America/New_York"
ZONES = (SHANGHAI, NEW_YORK, "UTC")
STORED = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


def moved(stored: str) -> None:
    """Let every memory and its history have been written at a moment."""
    with opened(Path(mex("config", "show").json["db_path"])) as db:
        db.execute(
            "UPDATE memories SET created_at = ?1, updated_at = ?1, valid_from = ?1, last_seen_at = ?1", (stored,)
        )
        db.execute("UPDATE history SET created_at = ?1", (stored,))


@pytest.mark.parametrize("zone", ZONES)
def test_every_time_is_stored_in_utc_to_the_second_in_any_zone(zone: str) -> None:
    """And is the moment it was, not the local one with a Z."""
    before = datetime.now(UTC).replace(microsecond=0)
    memory = mex("add", "--content", "x", "--expires", "2099-01-01", "--json", TZ=zone).json
    for key in ("created_at", "updated_at", "valid_from", "last_seen_at", "expires_at"):
        assert STORED.fullmatch(memory[key]), key
    assert before <= datetime.fromisoformat(memory["created_at"]) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("zone", "given", "stored"),
    [
        (SHANGHAI, "2099-01-01", "2099-01-01T15:59:59Z"),
        ("UTC", "2099-01-01", "2099-01-01T23:59:59Z"),
        (NEW_YORK, "2030-01-01", "2030-01-02T04:59:59Z"),
        (SHANGHAI, "2099-01-01 00:30", "2098-12-31T16:30:00Z"),
        # A day of 23 hours, a day of 25, and the hour that comes twice.
        (NEW_YORK, "2027-03-14", "2027-03-15T03:59:59Z"),
        (NEW_YORK, "2027-11-07", "2027-11-08T04:59:59Z"),
        (NEW_YORK, "2027-11-07 01:30:00", "2027-11-07T05:30:00Z"),
        (NEW_YORK, "2027-11-07 03:00:00", "2027-11-07T08:00:00Z"),
    ],
)
def test_g2_an_expiry_is_the_end_of_a_local_day_or_a_local_moment(zone: str, given: str, stored: str) -> None:
    """Also on the days on which the clocks change; `update` reads it alike."""
    memory = mex("add", "--content", "x", "--expires", given, "--json", TZ=zone).json
    assert memory["expires_at"] == stored
    assert mex("update", memory["id"], "--expires", given, "--json", TZ=zone).json["expires_at"] == stored


def test_an_hour_that_the_clocks_leave_out_is_no_error() -> None:
    """Half past two does not exist in that night; either neighbour will do."""
    memory = mex("add", "--content", "x", "--expires", "2027-03-14 02:30:00", "--json", TZ=NEW_YORK).json
    assert memory["expires_at"] in {"2027-03-14T06:30:00Z", "2027-03-14T07:30:00Z"}


@pytest.mark.parametrize("zone", ZONES)
def test_an_expiry_passes_at_the_local_end_of_the_day(zone: str) -> None:
    """Yesterday has ended, today has not."""
    today = datetime.now(ZoneInfo(zone)).date()
    mex("add", "--content", "today", "--expires", str(today), TZ=zone)
    past = mex("add", "--content", "yesterday", "--expires", str(today - timedelta(1)), TZ=zone)
    assert "past" in past.err
    assert [one["content"] for one in mex("list", "--json", TZ=zone).json] == ["today"]


@pytest.mark.parametrize(
    ("zone", "day", "first", "last"),
    [
        (SHANGHAI, "2026-03-02", "2026-03-01T16:00:00Z", "2026-03-02T15:59:59Z"),
        ("UTC", "2026-03-02", "2026-03-02T00:00:00Z", "2026-03-02T23:59:59Z"),
        (NEW_YORK, "2026-03-02", "2026-03-02T05:00:00Z", "2026-03-03T04:59:59Z"),
        (NEW_YORK, "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z"),
        (NEW_YORK, "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z"),
    ],
)
def test_since_and_until_hold_exactly_the_local_day(zone: str, day: str, first: str, last: str) -> None:
    """Its first and its last second, and not the ones beside them."""
    mex("add", "--content", "x")
    second = timedelta(seconds=1)
    for stored, inside in ((first, True), (last, True), (first, False), (last, False)):
        moment = datetime.fromisoformat(stored) + (timedelta() if inside else -second if stored == first else second)
        moved(f"{moment:%Y-%m-%dT%H:%M:%SZ}")
        found = mex("search", "--since", day, "--until", day, "--json", TZ=zone).json
        assert bool(found) is inside, moment


@pytest.mark.parametrize(
    ("zone", "stored", "shown"),
    [
        (SHANGHAI, "2026-02-28T16:30:00Z", "2026-03-01 00:30"),
        ("UTC", "2026-02-28T16:30:00Z", "2026-02-28 16:30"),
        (NEW_YORK, "2026-03-01T04:30:00Z", "2026-02-28 23:30"),
        (NEW_YORK, "2026-03-08T06:59:00Z", "2026-03-08 01:59"),
        (NEW_YORK, "2026-03-08T07:00:00Z", "2026-03-08 03:00"),
        (NEW_YORK, "2026-11-01T05:30:00Z", "2026-11-01 01:30"),
        (NEW_YORK, "2026-11-01T06:30:00Z", "2026-11-01 01:30"),
    ],
)
def test_text_shows_local_time_and_json_utc(zone: str, stored: str, shown: str) -> None:
    """Product H10: list, search and history."""
    memory = mex("add", "--content", "x", "--json").json
    moved(stored)
    for command in (["list"], ["search", "--keyword", "x"], ["history", memory["id"]]):
        assert shown in mex(*command, TZ=zone).out, command
        assert stored in mex(*command, "--json", TZ=zone).out, command


@pytest.mark.parametrize("zone", ZONES)
def test_e1_recent_activity_begins_with_a_local_midnight(zone: str) -> None:
    """One day back means from yesterday's local midnight on, whatever the hour is now."""
    mex("add", "--content", "went swimming")
    midnight = datetime.combine(datetime.now(ZoneInfo(zone)).date() - timedelta(1), time(), ZoneInfo(zone))
    for moment, is_recent in ((midnight, True), (midnight - timedelta(seconds=1), False)):
        moved(f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
        profile = mex("profile", "--recent-days", "1", TZ=zone).out
        assert ("went swimming" in profile) is is_recent, moment


def test_a_span_is_counted_in_hours_and_not_in_local_days() -> None:
    """`24h` back is the same moment in every zone."""
    mex("add", "--content", "x")
    moved(f"{datetime.now(UTC) - timedelta(hours=23, minutes=59):%Y-%m-%dT%H:%M:%SZ}")
    assert [len(mex("search", "--since", "24h", "--json", TZ=zone).json) for zone in ZONES] == [1, 1, 1]
    moved(f"{datetime.now(UTC) - timedelta(hours=24, minutes=1):%Y-%m-%dT%H:%M:%SZ}")
    assert [len(mex("search", "--since", "24h", "--json", TZ=zone).json) for zone in ZONES] == [0, 0, 0]


def test_a_memory_made_in_one_zone_is_the_same_in_another() -> None:
    """The file may travel: the same bytes, the same moment, another clock on the wall."""
    memory = mex(
        "add", "--content", "x", "--expires", "2099-06-01", "--since", "2026-01-15", "--json", TZ=SHANGHAI
    ).json
    assert memory["valid_from"] == "2026-01-14T16:00:00Z"
    for zone in ZONES:
        (shown,) = mex("list", "--json", TZ=zone).json
        assert shown == memory
