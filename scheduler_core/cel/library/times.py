"""Durations and timestamps: arithmetic and calendar parts.

Calendar parts are in UTC unless an offset such as ``+02:00``, or the name of a time zone, is given.
Source: the CEL specification; cel-go ``common/types``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.library.calendar import Moment
from scheduler_core.cel.library.numbers import same
from scheduler_core.cel.library.time_texts import (
    SECOND,
    duration,
    duration_of_string,
    duration_text,
    seconds_of_zone,
    timestamp,
    timestamp_of_int,
    timestamp_of_string,
    timestamp_text,
)
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import Duration, Timestamp


def add_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    """Add durations, or a duration and a timestamp."""
    total = left.nanoseconds + right.nanoseconds
    match left, right:
        case Duration(), Duration():
            return duration(total)
        case (Timestamp(offset=offset), Duration()) | (Duration(), Timestamp(offset=offset)):
            return timestamp(total, offset)
        case _:
            raise no_such_overload("_+_", left, right)


def subtract_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    """Subtract a duration, or a timestamp from a timestamp."""
    difference = left.nanoseconds - right.nanoseconds
    match left, right:
        case Timestamp(offset=offset), Duration():
            return timestamp(difference, offset)
        case Duration(), Timestamp():
            raise no_such_overload("_-_", left, right)
        case _:
            return duration(difference)


def _part_of(read: Callable[[Moment], int]) -> Callable[..., int]:
    def part(value: Timestamp, zone: str = "") -> int:
        offset = seconds_of_zone(zone, value.nanoseconds // SECOND)
        return read(Moment.of(value.nanoseconds + offset * SECOND))

    return part


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
