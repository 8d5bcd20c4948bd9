"""Functions of Timestamp, Date and Duration. Times out of the years 1 to 9999 are the fault `Arithmetic` (Python's OverflowError)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import NoReturn

from ael.types.fault import Fault, FaultKind
from ael.types.times import print_date, print_duration, print_timestamp


def timestamp_plus(moment: datetime, length: timedelta) -> datetime:
    try:
        return moment + length
    except OverflowError:
        _beyond()


def timestamp_minus(moment: datetime, length: timedelta) -> datetime:
    try:
        return moment - length
    except OverflowError:
        _beyond()


def timestamp_since(moment: datetime, earlier: datetime) -> timedelta:
    return moment - earlier


def timestamp_year(moment: date) -> int:
    return moment.year


def timestamp_month(moment: date) -> int:
    return moment.month


def timestamp_day(moment: date) -> int:
    return moment.day


timestamp_to_string = print_timestamp
date_year, date_month, date_day = timestamp_year, timestamp_month, timestamp_day
date_to_string = print_date
duration_to_string = print_duration


def date_plus(day: date, length: timedelta) -> date:
    """Whole days of `length` later; a part of a day does not count."""
    try:
        return day + _days(length)
    except OverflowError:
        _beyond()


def date_minus(day: date, length: timedelta) -> date:
    try:
        return day - _days(length)
    except OverflowError:
        _beyond()


def _days(length: timedelta) -> timedelta:
    days = abs(length) // timedelta(days=1)
    return timedelta(days=-days if length < timedelta() else days)


def date_since(day: date, earlier: date) -> timedelta:
    return day - earlier


def duration_plus(length: timedelta, other: timedelta) -> timedelta:
    try:
        return length + other
    except OverflowError:
        _beyond()


def duration_minus(length: timedelta, other: timedelta) -> timedelta:
    try:
        return length - other
    except OverflowError:
        _beyond()


def duration_in_seconds(length: timedelta) -> float:
    return length.total_seconds()


def _beyond() -> NoReturn:
    raise Fault(FaultKind.ARITHMETIC, "a time beyond the years 1 to 9999") from None
