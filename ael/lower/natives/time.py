"""Days, moments and lengths of time: their parts, their text forms, and the IANA time zones.

Zones come from the system's database, else from the package `tzdata`. A pattern has the directives of C's `strftime` that mean the same
everywhere (`%Y %m %d %H %M %S %f %j %u %G %V %b %B %a %A %I %p %z %Z %%`), with English names; another one has no meaning. In reading,
every number has all of its digits, and nothing is passed over.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ael.lower.abi.size import sized_text
from ael.types.times import parse_duration as iso_duration
from ael.types.times import parse_timestamp

_ZONE = re.compile(r"(?!posix|right|localtime|Factory)[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII)
_LONGEST = 200
"""Characters of a pattern, and of a text that is read with one."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
_PIECE = re.compile(r"%(.)|[^%]+|%", re.DOTALL)
_LENGTH = re.compile(r"(-?)\s*((?:\d{1,12}\s*(?:d|h|min|ms|s)\s*)+)", re.ASCII)
_PART = re.compile(r"(\d+)\s*(d|h|min|ms|s)", re.ASCII)
_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000}

_READS = {
    "Y": r"(?P<Y>\d{4})",
    "m": r"(?P<m>\d\d)",
    "d": r"(?P<d>\d\d)",
    "H": r"(?P<H>\d\d)",
    "I": r"(?P<I>\d\d)",
    "M": r"(?P<M>\d\d)",
    "S": r"(?P<S>\d\d)",
    "f": r"(?P<f>\d{1,6})",
    "j": r"(?P<j>\d{3})",
    "b": f"(?P<b>{'|'.join(name[:3] for name in _MONTHS)})",
    "B": f"(?P<B>{'|'.join(_MONTHS)})",
    "a": f"(?P<a>{'|'.join(name[:3] for name in _WEEKDAYS)})",
    "A": f"(?P<A>{'|'.join(_WEEKDAYS)})",
    "p": r"(?P<p>AM|PM)",
    "z": r"(?P<z>Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)",
    "%": "%",
}
"""What each directive reads."""


def make_date(year: int, month: int, day: int) -> date | None:
    """The day, if the calendar has it."""
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def ordinal(day: date) -> int:
    """Days since the end of the year 0: 1 January of the year 1 is 1."""
    return day.toordinal()


def from_ordinal(ordinal: int) -> date | None:
    try:
        return date.fromordinal(ordinal)
    except (ValueError, OverflowError):
        return None


def parse_date(text: str, pattern: str) -> date | None:
    found = _read(text, pattern)
    return _date_of(found) if found is not None else None


def format_date(day: date, pattern: str) -> str | None:
    return _written(datetime(day.year, day.month, day.day, tzinfo=UTC), pattern, "YmdjuGVbBaA%")


def parse(text: str) -> datetime | None:
    return parse_timestamp(text)


def parse_in(text: str, pattern: str, zone: str) -> datetime | None:
    """The moment that a text names, by the clocks of a zone unless it has an offset of its own."""
    found = _read(text, pattern)
    day = _date_of(found) if found is not None else None
    if found is None or day is None:
        return None
    hour, minute, second = _hour(found), int(found.get("M", "0")), int(found.get("S", "0"))
    if hour is None or minute > 59 or second > 59:
        return None
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(found.get("f", "0").ljust(6, "0"))
    offset = found.get("z")
    if offset is None:
        return resolve(day, micros, zone)
    if not is_zone(zone):
        return None
    away = timedelta()
    if offset != "Z":
        digits = offset.replace(":", "")
        away = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5])) * (-1 if digits[0] == "-" else 1)
    try:
        return datetime(day.year, day.month, day.day, tzinfo=UTC) + micros * _MICRO - away
    except OverflowError:
        return None


def format_time(at: datetime, pattern: str, zone: str) -> str | None:
    where = _zone(zone)
    try:
        return _written(at.astimezone(where), pattern, "YmdHMSfjuGVbBaAIpzZ%") if where is not None else None
    except OverflowError:
        return None


def is_zone(zone: str) -> bool:
    return _zone(zone) is not None


def local(at: datetime, zone: str) -> dict[str, object] | None:
    """What the clocks of a zone show: the day, the microseconds of it, how far they are ahead of UTC, and what that is called."""
    where = _zone(zone)
    if where is None:
        return None
    try:
        moment = at.astimezone(where)
    except OverflowError:
        return None
    micros = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond
    return {"date": moment.date(), "micros": micros, "offset": moment.utcoffset(), "name": moment.tzname()}


def resolve(day: date, micros: int, zone: str) -> datetime | None:
    """The moment at which clocks of a zone show a time.

    Where they show it twice, the first. Where they skip it, as long after the end of the gap as it is after its beginning.
    """
    where = _zone(zone)
    if where is None or not 0 <= micros < _DAY // _MICRO:
        return None
    try:
        return (datetime(day.year, day.month, day.day, tzinfo=where) + micros * _MICRO).astimezone(UTC)
    except OverflowError:
        return None


def unix_micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICRO


def from_unix_micros(micros: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def micros(length: timedelta) -> int:
    return length // _MICRO


def from_micros(micros: int) -> timedelta | None:
    try:
        return timedelta(microseconds=micros)
    except OverflowError:
        return None


def parse_duration(text: str) -> timedelta | None:
    """`PT1H30M` (ISO 8601), or units as in the language with blanks or none between them: `1h 30min`, `90s`."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    written = _LENGTH.fullmatch(text)
    if written is None:
        return iso_duration(text)
    total = sum(int(count) * _UNITS[unit] for count, unit in _PART.findall(written[2]))
    return from_micros(-total if written[1] else total)


_ZONES: dict[str, tzinfo | None] = {"UTC": UTC}
"""The zones asked for so far, and names that are none. There are some 600 zones."""
_ZONES_MAX = 2_000


def _zone(name: str) -> tzinfo | None:
    if name in _ZONES:
        return _ZONES[name]
    found: tzinfo | None = None
    if len(name) <= 64 and _ZONE.fullmatch(name):
        try:
            found = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            found = None
    if len(_ZONES) < _ZONES_MAX:
        _ZONES[name] = found
    return found


def _written(moment: datetime, pattern: str, allowed: str) -> str | None:
    """A moment by a pattern; None for a directive that is not among the `allowed`."""
    if len(pattern) > _LONGEST:
        return None
    pieces: list[str] = []
    for found in _PIECE.finditer(pattern):
        directive = found[1]
        if directive is None and found[0] != "%":
            pieces.append(found[0])
        elif directive is None or directive not in allowed:
            return None
        else:
            pieces.append(_directive(moment, directive))
    return sized_text("".join(pieces))


def _directive(moment: datetime, directive: str) -> str:
    match directive:
        case "Y":
            return f"{moment.year:04}"
        case "G":
            return f"{moment.isocalendar().year:04}"
        case "V":
            return f"{moment.isocalendar().week:02}"
        case "u":
            return str(moment.isoweekday())
        case "j":
            return f"{moment.timetuple().tm_yday:03}"
        case "b" | "B":
            name = _MONTHS[moment.month - 1]
        case "a" | "A":
            name = _WEEKDAYS[moment.weekday()]
        case "I":
            return f"{moment.hour % 12 or 12:02}"
        case "p":
            return "AM" if moment.hour < 12 else "PM"
        case "f":
            return f"{moment.microsecond:06}"
        case "z":
            return _offset(moment.utcoffset() or timedelta())
        case "Z":
            return moment.tzname() or ""
        case "%":
            return "%"
        case _:
            part = {"m": moment.month, "d": moment.day, "H": moment.hour, "M": moment.minute, "S": moment.second}[directive]
            return f"{part:02}"
    return name[:3] if directive.islower() else name


def _offset(away: timedelta) -> str:
    """`+01:00`; the seconds that offsets of the 19th century have are left out."""
    minutes = int(away.total_seconds()) // 60 if away >= timedelta() else -(int(-away.total_seconds()) // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _read(text: str, pattern: str) -> dict[str, str] | None:
    """What the directives of a pattern read; None where the text is not so, and for a pattern that cannot be read by."""
    reader = _reader(pattern) if len(pattern) <= _LONGEST and len(text) <= _LONGEST else None
    found = reader.fullmatch(text) if reader is not None else None
    return found.groupdict() if found is not None else None


def _reader(pattern: str) -> re.Pattern[str] | None:
    pieces: list[str] = []
    seen: set[str] = set()
    for found in _PIECE.finditer(pattern):
        directive = found[1]
        if directive is None and found[0] != "%":
            pieces.append(re.escape(found[0]))
        elif directive not in _READS or (directive in seen and directive != "%"):
            return None
        else:
            seen.add(directive)
            pieces.append(_READS[directive])
    return re.compile("".join(pieces), re.ASCII)


def _date_of(found: dict[str, str]) -> date | None:
    """The day of what was read: a year, and a month with a day or the day of the year; a weekday has to be the right one."""
    year = int(found.get("Y", "0"))
    if "j" in found:
        day = from_ordinal(date(year, 1, 1).toordinal() + int(found["j"]) - 1) if year > 0 and int(found["j"]) > 0 else None
        day = day if day is not None and day.year == year else None
        if "m" in found or "d" in found or "b" in found or "B" in found:
            return None
    else:
        names = [name[:3] for name in _MONTHS]
        months = [names.index(found[one][:3]) + 1 for one in ("b", "B") if one in found]
        months += [int(found["m"])] if "m" in found else []
        day = make_date(year, months[0], int(found["d"])) if len(months) == 1 and "d" in found else None
    said = found.get("a", found.get("A"))
    return day if day is not None and (said is None or _WEEKDAYS[day.weekday()].startswith(said)) else None


def _hour(found: dict[str, str]) -> int | None:
    """The hour of what was read, of 24 or of 12 with AM or PM; 0 where there is none."""
    if "I" in found:
        hour = int(found["I"])
        right = 1 <= hour <= 12 and "p" in found and "H" not in found
        return hour % 12 + (12 if found.get("p") == "PM" else 0) if right else None
    hour = int(found.get("H", "0"))
    return hour if hour <= 23 and "p" not in found else None
