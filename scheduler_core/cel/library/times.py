"""Durations and timestamps: arithmetic, parts, and their texts.

A timestamp lies in the years 1 to 9999, a duration has 64 bits of nanoseconds. Calendar parts are UTC
unless an offset such as ``+02:00`` is given; names of time zones need a data base that the core has not.
Source: the CEL specification; cel-go ``common/types``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.library.calendar import DAY, Moment, date_of, days_before
from scheduler_core.cel.library.numbers import plain_text, same
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})", re.ASCII)
_MONTH_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MIN_TIME: Final = days_before(1, 1, 1) * DAY * SECOND
MAX_TIME: Final = days_before(10000, 1, 1) * DAY * SECOND - 1
_MAX_TEXT: Final = 128


def _duration(nanoseconds: int) -> Duration:
    if not INT_MIN <= nanoseconds <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanoseconds)


def _timestamp(nanoseconds: int) -> Timestamp:
    if not MIN_TIME <= nanoseconds <= MAX_TIME:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds)


def add_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    """Add durations, or a duration and a timestamp."""
    total = left.nanoseconds + right.nanoseconds
    match left, right:
        case Duration(), Duration():
            return _duration(total)
        case Timestamp(), Timestamp():
            raise no_such_overload("_+_", left, right)
        case _:
            return _timestamp(total)


def subtract_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    """Subtract a duration, or a timestamp from a timestamp."""
    difference = left.nanoseconds - right.nanoseconds
    match left, right:
        case Duration(), Timestamp():
            raise no_such_overload("_-_", left, right)
        case Timestamp(), Duration():
            return _timestamp(difference)
        case _:
            return _duration(difference)


def duration_of_string(text: str) -> Duration:
    """Read a duration such as ``1h30m`` or ``-1.5s``, as Go does."""
    negative, body = text.startswith("-"), text[1:] if text[:1] in ("+", "-") else text
    total, position = 0, 0
    while position < len(body) and body != "0":
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]) or len(text) > _MAX_TEXT:
            raise EvaluationError(f"time: invalid duration {text[:40]!r}")
        part = match[2] or ""
        total += int(match[1] + part or "0") * _UNITS[match[3]] // int(10 ** len(part))
        position = match.end()
    if not body:
        raise EvaluationError(f"time: invalid duration {text[:40]!r}")
    return _duration(-total if negative else total)


def duration_text(value: Duration) -> str:
    """Write a duration in seconds."""
    sign, amount = ("-", -value.nanoseconds) if value.nanoseconds < 0 else ("", value.nanoseconds)
    whole, part = divmod(amount, SECOND)
    digits = f"{whole}{part:09d}".lstrip("0")
    return f"{sign}{plain_text(digits.rstrip('0'), len(digits) - 10) if digits else 0}s"


def timestamp_of_string(text: str) -> Timestamp:
    """Read a timestamp in RFC 3339."""
    match = _RFC3339.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if match is None:
        raise EvaluationError(f"timestamp {text[:40]!r} must be in RFC 3339, such as 2026-01-31T12:00:00Z")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    if not _is_valid(year, month, day) or hour > 23 or minute > 59 or second > 59:
        raise EvaluationError(f"timestamp {text[:40]!r}: a part is out of range")
    seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second
    if match[8]:
        seconds -= _offset_seconds(match[8], match[9], match[10])
    return _timestamp(seconds * SECOND + int((match[7] or "0")[:9].ljust(9, "0")))


def is_date(text: str) -> bool:
    """Whether a text is a date such as 2026-01-31."""
    match = _DATE.fullmatch(text)
    return match is not None and _is_valid(*map(int, match.groups()))


def _is_valid(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_LENGTHS[month - 1]:
        return False
    return date_of(days_before(year, month, day)) == (year, month, day)


def _offset_seconds(sign: str, hours: str, minutes: str) -> int:
    amount = int(hours) * 3600 + int(minutes) * 60
    return -amount if sign == "-" else amount


def timestamp_of_int(seconds: int) -> Timestamp:
    """Return the time so many seconds after 1970."""
    return _timestamp(seconds * SECOND)


def timestamp_text(value: Timestamp) -> str:
    """Write a timestamp in RFC 3339, in UTC."""
    moment = Moment.of(value.nanoseconds)
    year, month, day = moment.date
    part = f"{moment.nanosecond:09d}".rstrip("0")
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{'.' + part if part else ''}Z"


def _part_of(read: Callable[[Moment], int]) -> Callable[..., int]:
    def part(value: Timestamp, zone: str = "") -> int:
        return read(Moment.of(value.nanoseconds + _zone(zone) * SECOND))

    return part


def _zone(zone: str) -> int:
    if zone in ("", "UTC"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        raise EvaluationError(f"time zone {zone[:40]!r}: only UTC and offsets such as +02:00 are known")
    return _offset_seconds(*match.groups())


def _truncated(unit: int) -> Callable[[Duration], int]:
    def parts(value: Duration) -> int:
        amount = abs(value.nanoseconds) // unit
        return -amount if value.nanoseconds < 0 else amount

    return parts


_PARTS: Final[tuple[tuple[str, str, str, Callable[[Moment], int]], ...]] = (
    ("getFullYear", "timestamp_to_year", "_with_tz", lambda moment: moment.date[0]),
    ("getMonth", "timestamp_to_month", "_with_tz", lambda moment: moment.date[1] - 1),
    ("getDayOfYear", "timestamp_to_day_of_year", "_with_tz", lambda moment: moment.day_of_year),
    ("getDayOfMonth", "timestamp_to_day_of_month", "_with_tz", lambda moment: moment.date[2] - 1),
    ("getDate", "timestamp_to_day_of_month_1_based", "_with_tz", lambda moment: moment.date[2]),
    ("getDayOfWeek", "timestamp_to_day_of_week", "_with_tz", lambda moment: moment.day_of_week),
    ("getHours", "timestamp_to_hours", "_with_tz", lambda moment: moment.hour),
    ("getMinutes", "timestamp_to_minutes", "_with_tz", lambda moment: moment.minute),
    ("getSeconds", "timestamp_to_seconds", "_tz", lambda moment: moment.second),
    ("getMilliseconds", "timestamp_to_milliseconds", "_with_tz", lambda moment: moment.nanosecond // 10**6),
)


def _part_overloads() -> tuple[Overload, ...]:
    overloads: list[Any] = []
    for name, identity, suffix, read in _PARTS:
        part = _part_of(read)
        overloads.append(Overload(identity, f"timestamp.{name}()", "int", part))
        overloads.append(Overload(identity + suffix, f"timestamp.{name}(string)", "int", part))
    return tuple(overloads)


OVERLOADS: Final = (
    Overload("duration_to_duration", "duration(duration)", "duration", same),
    Overload("string_to_duration", "duration(string)", "duration", duration_of_string),
    Overload("timestamp_to_timestamp", "timestamp(timestamp)", "timestamp", same),
    Overload("int64_to_timestamp", "timestamp(int)", "timestamp", timestamp_of_int),
    Overload("string_to_timestamp", "timestamp(string)", "timestamp", timestamp_of_string),
    Overload("duration_to_int64", "int(duration)", "int", lambda value: value.nanoseconds),
    Overload("timestamp_to_int64", "int(timestamp)", "int", lambda value: value.nanoseconds // SECOND),
    Overload("duration_to_string", "string(duration)", "string", duration_text),
    Overload("timestamp_to_string", "string(timestamp)", "string", timestamp_text),
    Overload("duration_to_hours", "duration.getHours()", "int", _truncated(3600 * SECOND)),
    Overload("duration_to_minutes", "duration.getMinutes()", "int", _truncated(60 * SECOND)),
    Overload("duration_to_seconds", "duration.getSeconds()", "int", _truncated(SECOND)),
    Overload("duration_to_milliseconds", "duration.getMilliseconds()", "int", _truncated(10**6)),
    *_part_overloads(),
)
