"""The proleptic Gregorian calendar in integers: days since 1970 to dates and back."""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

DAY: Final = 86400
_ERA: Final = 146097  # days of 400 years
_EPOCH: Final = 719468  # days from 0000-03-01 to 1970-01-01


def days_before(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date. Years begin in March, so that leap days come last."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _ERA + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day, so many days after 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH, _ERA)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


@dataclass(frozen=True, slots=True)
class Moment:
    """The parts of a point in time. Shape: ``date`` is year, month, day, the last two from 1."""

    days: int
    date: tuple[int, int, int]
    hour: int
    minute: int
    second: int
    nanosecond: int

    @classmethod
    def of(cls, nanoseconds: int) -> Moment:
        """Return the parts of a time given in nanoseconds since 1970."""
        seconds, nanosecond = divmod(nanoseconds, 10**9)
        days, rest = divmod(seconds, DAY)
        return cls(days, date_of(days), rest // 3600, rest // 60 % 60, rest % 60, nanosecond)

    @property
    def day_of_year(self) -> int:
        """Return the day of the year, from 0."""
        return self.days - days_before(self.date[0], 1, 1)

    @property
    def day_of_week(self) -> int:
        """Return the day of the week, Sunday is 0."""
        return (self.days + 4) % 7
