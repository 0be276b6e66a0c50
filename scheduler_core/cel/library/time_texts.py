"""Parsing and writing of durations such as ``1h30m`` and of timestamps in RFC 3339.

A timestamp lies in the years 1 to 9999, a duration has 64 bits of nanoseconds. Source: Go's ``time``;
cel-go ``common/types``.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.library.calendar import DAY, Moment, date_of, days_before
from scheduler_core.cel.library.numbers import plain_text
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
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?[0-9]{1,6}):([+-]?[0-9]{1,6})", re.ASCII)
"""Source: cel-go ``inTimeZone``, which reads any two integers. Six digits are 114 years of hours."""
_MONTH_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MIN_TIME: Final = days_before(1, 1, 1) * DAY * SECOND
MAX_TIME: Final = days_before(10000, 1, 1) * DAY * SECOND - 1
_MAX_TEXT: Final = 128


def duration(nanoseconds: int) -> Duration:
    """Return a duration.

    Raises: EvaluationError where 64 bits do not hold it.
    """
    if not INT_MIN <= nanoseconds <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanoseconds)


def timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """Return a point in time.

    Raises: EvaluationError outside the years 1 to 9999.
    """
    if not MIN_TIME <= nanoseconds <= MAX_TIME:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds, offset)


def duration_of_string(text: str) -> Duration:
    """Read a duration such as ``1h30m`` or ``-1.5s``, as Go does."""
    if len(text) > _MAX_TEXT:
        raise EvaluationError(f"time: invalid duration {text[:40]!r}")
    negative, body = text.startswith("-"), text[1:] if text[:1] in ("+", "-") else text
    total, position = 0, 0
    while position < len(body) and body != "0":
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]):
            raise EvaluationError(f"time: invalid duration {text[:40]!r}")
        part = match[2] or ""
        total += int(match[1] + part or "0") * _UNITS[match[3]] // int(10 ** len(part))
        position = match.end()
    if not body:
        raise EvaluationError(f"time: invalid duration {text[:40]!r}")
    return duration(-total if negative else total)


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
    offset = _offset_seconds(match[8], match[9], match[10]) if match[8] else 0
    seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset
    return timestamp(seconds * SECOND + int((match[7] or "0")[:9].ljust(9, "0")), offset)


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
    return timestamp(seconds * SECOND)


def timestamp_text(value: Timestamp) -> str:
    """Write a timestamp in RFC 3339, with the offset that it was written with."""
    moment = Moment.of(value.nanoseconds + value.offset * SECOND)
    year, month, day = moment.date
    part = f"{moment.nanosecond:09d}".rstrip("0")
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{'.' + part if part else ''}{_zone_text(value.offset)}"


def _zone_text(offset: int) -> str:
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}" if offset else "Z"


def seconds_of_zone(zone: str, moment: int) -> int:
    """Return the offset from UTC that a zone has at a moment.

    Units: seconds; the moment since 1970.
    Shape: a zone is an offset such as ``+02:00`` if it has a colon, else a name. ``Local`` is the zone of
           the server's process, and those run in UTC.
    """
    if zone in ("", "UTC", "Local"):
        return 0
    if ":" not in zone:
        from scheduler_core.cel.library.zones import offset_at  # few expressions name a zone

        found = offset_at(zone, moment)
        if found is None:
            raise EvaluationError(f"unknown time zone {zone[:40]}")
        return found
    match = _OFFSET.fullmatch(zone)
    if match is None:
        raise EvaluationError(f"time zone {zone[:40]!r}: must be an offset such as +02:00")
    hours, minutes = int(match[1]), int(match[2])
    return (hours * 60 + (-minutes if zone.startswith("-") else minutes)) * 60
