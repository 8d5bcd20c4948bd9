"""The one text form of points in time, days and lengths of time: ISO 8601, read strictly and written one way.

A timestamp needs an offset and becomes UTC; digits beyond the microsecond are cut. A duration has weeks, days, hours, minutes and
seconds: years and months have no fixed length and are refused.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_DURATION = re.compile(
    r"(-?)P(?=[\dT])(?:(\d{1,9})W)?(?:(\d{1,9})D)?"
    r"(?:T(?=\d)(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,14})(?:\.(\d{1,9}))?S)?)?",
    re.ASCII,
)


def parse_timestamp(text: str) -> datetime | None:
    """The point in time that `text` names, in UTC; None where it is no RFC 3339 timestamp with an offset."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    moment, fraction, sign, hours, minutes = found.groups()
    if minutes is not None and (int(hours) > 23 or int(minutes) > 59):
        return None
    try:
        value = datetime.fromisoformat(moment).replace(tzinfo=UTC, microsecond=_micros(fraction))
        if sign is not None:
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            value = value - offset if sign == "+" else value + offset
    except (ValueError, OverflowError):
        return None
    return value


def parse_date(text: str) -> date | None:
    """The day that `text` (`2026-03-01`) names, or None."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def parse_duration(text: str) -> timedelta | None:
    """The length of time that `text` (`PT1H30M`, `P2DT0.5S`, `-PT5S`) names, or None."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    sign, weeks, days, hours, minutes, seconds, fraction = found.groups()
    try:
        value = timedelta(
            weeks=int(weeks or 0),
            days=int(days or 0),
            hours=int(hours or 0),
            minutes=int(minutes or 0),
            seconds=int(seconds or 0),
            microseconds=_micros(fraction),
        )
        return -value if sign else value
    except OverflowError:
        return None


def print_timestamp(value: datetime) -> str:
    """`2026-03-01T12:00:00Z`, with six digits of a fraction where there is one. `value` is aware."""
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def print_date(value: date) -> str:
    """`2026-03-01`."""
    return value.isoformat()


def print_duration(value: timedelta) -> str:
    """`P1DT2H3M4.5S`; nothing at all is `PT0S`."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{seconds}{tail}S" if seconds or tail else "")
    if not days and not clock:
        return "PT0S"
    return f"{sign}P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")


def _micros(fraction: str | None) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))
