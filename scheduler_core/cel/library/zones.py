"""Named time zones such as ``America/New_York``, from the data of the package ``tzdata``.

An API server reads the zones of its image. The nodes' images may lack them, and two nodes with different
ones would decide differently: so the data is that of one pinned package, on every machine alike. Reading it
is like importing a module: always the same text, from inside the installation.
Source: Go ``time.LoadLocation``; RFC 9636.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

import tzdata  # by name: the image keeps only packages that are imported

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN = timedelta(days=2)
_FIRST = datetime.min.replace(tzinfo=UTC) + _MARGIN
_LAST = datetime.max.replace(tzinfo=UTC) - _MARGIN
"""A local time beyond these may lie outside the years that Python knows. No zone changes in between."""


def offset_at(name: str, seconds: int) -> int | None:
    """Return the offset from UTC that a zone has at a time; None if there is no zone of that name.

    Units: seconds; the time since 1970-01-01T00:00:00Z.
    """
    if name not in _names():
        return None
    moment = min(max(_EPOCH + timedelta(seconds=seconds), _FIRST), _LAST)
    offset = moment.astimezone(_zone(name)).utcoffset()
    assert offset is not None  # a ZoneInfo has an offset at any time
    return int(offset.total_seconds())


@cache
def _names() -> frozenset[str]:
    return frozenset(resources.files(tzdata).joinpath("zones").read_text(encoding="utf-8").split())


@cache
def _zone(name: str) -> ZoneInfo:
    with resources.files(tzdata).joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, name)
