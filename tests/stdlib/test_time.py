"""Days, moments and zones against Python's own calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives import time as natives
from tests.stdlib.functions import module

DATES = module("date")
TIMES = module("time")

ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]
)
DAYS = st.dates(date(2, 1, 2), date(9998, 12, 30))
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))
HOLIDAYS = st.lists(st.dates(date(2026, 1, 1), date(2026, 2, 28)), max_size=8)


@given(DAYS)
def test_weeks_and_numbers_of_days(day: date) -> None:
    year, week, weekday = day.isocalendar()
    assert DATES.weekday_number(day) == weekday
    assert DATES.iso_week(day) == {"year": year, "week": week}
    assert DATES.day_of_year(day) == day.timetuple().tm_yday
    assert DATES.is_weekend(day) == (weekday > 5)
    assert DATES.start_of_week(day) == day - timedelta(days=weekday - 1)
    assert DATES.first_of_month(day) == day.replace(day=1)
    assert (DATES.last_of_month(day) + timedelta(days=1)).day == 1
    assert DATES.days_in_month(day.year, day.month) == DATES.last_of_month(day).day


@given(DAYS, st.integers(-30_000, 30_000))
def test_months_later_is_the_same_day_or_the_last_of_the_month(day: date, months: int) -> None:
    found = DATES.add_months(day, months)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        assert found is None
        return
    assert (found.year, found.month) == (year, month + 1)
    assert found.day == day.day or (found.day < day.day and (found + timedelta(days=1)).day == 1)
    assert DATES.months_between(day, found) in (months, months + (1 if months < 0 else -1))


@given(st.dates(date(2026, 1, 1), date(2026, 2, 28)), st.integers(-40, 40), HOLIDAYS)
def test_working_days_one_by_one(day: date, count: int, holidays: list[date]) -> None:
    def working(one: date) -> bool:
        return one.weekday() < 5 and one not in holidays

    at, left = day, abs(count)
    while left or (count == 0 and not working(at)):
        at += timedelta(days=-1 if count < 0 else 1)
        left -= bool(left) and working(at)
    assert DATES.add_business_days(day, count, holidays) == at
    assert DATES.business_days_between(day, at, holidays) == (count or (at != day))


@given(MOMENTS, ZONES)
def test_what_clocks_show_is_read_again(at: datetime, zone: str) -> None:
    there = at.astimezone(ZoneInfo(zone))
    shown = TIMES.local_time(at, zone)
    assert shown["date"] == there.date()
    assert (shown["hour"], shown["minute"], shown["second"], shown["microsecond"]) == (
        there.hour, there.minute, there.second, there.microsecond,
    )  # fmt: skip
    assert shown["offset"] == there.utcoffset()
    written = TIMES.format_time(at, "%Y-%m-%d %H:%M:%S.%f", zone)
    assert written == there.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(len(written), "0")
    assert TIMES.parse_time_in(written, "%Y-%m-%d %H:%M:%S.%f", zone) == there.replace(fold=0).astimezone(UTC)
    assert TIMES.format_time(at, "%a %b %d %I %p %j %A %B %G-%V-%u", zone) == there.strftime("%a %b %d %I %p %j %A %B %G-%V-%u")


@given(MOMENTS, ZONES)
def test_days_weeks_months_and_years_begin_at_their_first_moment(at: datetime, zone: str) -> None:
    where = ZoneInfo(zone)
    today = at.astimezone(where).date()
    for start, first in (
        (TIMES.start_of_day(at, zone), today),
        (TIMES.start_of_week_in(at, zone), today - timedelta(days=today.weekday())),
        (TIMES.start_of_month(at, zone), today.replace(day=1)),
        (TIMES.start_of_year(at, zone), today.replace(month=1, day=1)),
    ):
        assert start <= at
        assert start.astimezone(where).date() >= first
        assert (start - timedelta(microseconds=1)).astimezone(where).date() < first or start.astimezone(where).fold == 0


@given(MOMENTS, st.integers(-500, 500), ZONES)
def test_days_later_the_clocks_show_the_same(at: datetime, days: int, zone: str) -> None:
    where = ZoneInfo(zone)
    there = at.astimezone(where)
    found = TIMES.add_days_in(at, days, zone)
    assert found == (there.replace(fold=0) + timedelta(days=days)).astimezone(UTC)


@given(MOMENTS)
def test_unix_time_there_and_back(at: datetime) -> None:
    millis = TIMES.to_unix_millis(at)
    assert TIMES.from_unix_millis(millis) == at.replace(microsecond=at.microsecond // 1_000 * 1_000)
    assert TIMES.to_unix(at) == (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    assert TIMES.parse_time(at.isoformat()) == at


@given(st.timedeltas(timedelta(days=-9_999), timedelta(days=9_999)))
def test_lengths_of_time(length: timedelta) -> None:
    assert TIMES.describe_duration(length)
    assert TIMES.times(length, 3) == length * 3
    whole = length // timedelta(milliseconds=1)
    assert TIMES.parse_duration(f"{'-' if whole < 0 else ''}{abs(whole)}ms") == timedelta(milliseconds=whole)


def test_every_zone_is_one_and_nothing_else() -> None:
    odd = {"localtime", "posixrules", "Factory"}
    for zone in available_timezones() - odd:
        assert natives.is_zone(zone), zone
    for zone in odd:
        assert not natives.is_zone(zone)


@pytest.mark.feature("K12", "K13")
@given(st.text(max_size=40), st.text(alphabet="%YmdHMSfjbBaAIpzZGVu- :", max_size=20), st.text(max_size=20))
def test_any_text_pattern_and_zone_has_an_answer(text: str, pattern: str, zone: str) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert natives.parse_in(text, pattern, zone) is None or natives.is_zone(zone)
    assert natives.format_time(at, pattern, zone) is None or natives.is_zone(zone)
    for found in (natives.parse_date(text, pattern), natives.parse(text), natives.parse_duration(text)):
        assert found is None or isinstance(found, date | datetime | timedelta)
    written = natives.format_date(at.date(), pattern)
    read = natives.parse_date(written, pattern) if written is not None else None
    assert read is None or read == at.date()
