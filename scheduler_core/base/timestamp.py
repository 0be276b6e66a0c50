"""Time stamps of the API as numbers. Texts in, seconds out; no clock and no calendar of the machine."""

from __future__ import annotations

import re
from typing import Final

_STAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d(?:\.\d+)?)(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_MARCH_FIRST: Final = 719_468  # days from 0000-03-01 to 1970-01-01


def seconds_of(text: str) -> float | None:
    """Return a time stamp with a time zone as seconds since 1970 in UTC, None for any other text.

    Source: RFC 3339; the days by the rule of the Gregorian calendar, with years that begin in March.
    """
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute = map(int, found.groups()[:5])
    since_march = year - (month < 3)
    days = 365 * since_march + since_march // 4 - since_march // 100 + since_march // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - _MARCH_FIRST
    offset = int(found[8] or 0) * 3600 + int(found[9] or 0) * 60
    return (
        days * 86400 + hour * 3600 + minute * 60 + float(found[6]) - (-offset if found[7] == "-" else offset)
    )
