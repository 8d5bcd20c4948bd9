"""Days, moments, lengths of time, time zones."""

from __future__ import annotations

from ael.check.builtin import DAY, DUR, TS, B, I, S, native
from ael.types.type import AnonymousRecord, optional

_LOCAL = AnonymousRecord((("date", DAY), ("micros", I), ("offset", DUR), ("name", S)))

TABLE = (
    native("time.make_date", {"year": I, "month": I, "day": I}, optional(DAY)),
    native("time.ordinal", {"day": DAY}, I),
    native("time.from_ordinal", {"ordinal": I}, optional(DAY)),
    native("time.parse_date", {"text": S, "pattern": S}, optional(DAY)),
    native("time.format_date", {"day": DAY, "pattern": S}, optional(S)),
    native("time.parse", {"text": S}, optional(TS)),
    native("time.parse_in", {"text": S, "pattern": S, "zone": S}, optional(TS)),
    native("time.format_time", {"at": TS, "pattern": S, "zone": S}, optional(S)),
    native("time.is_zone", {"zone": S}, B),
    native("time.local", {"at": TS, "zone": S}, optional(_LOCAL)),
    native("time.resolve", {"day": DAY, "micros": I, "zone": S}, optional(TS)),
    native("time.unix_micros", {"at": TS}, I),
    native("time.from_unix_micros", {"micros": I}, optional(TS)),
    native("time.micros", {"length": DUR}, I),
    native("time.from_micros", {"micros": I}, optional(DUR)),
    native("time.parse_duration", {"text": S}, optional(DUR)),
)
