"""All overloads, by identity and by the name of their function."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from scheduler_core.cel.library import (
    formatting,
    lists,
    named_formats,
    networks,
    numbers,
    optionals,
    patterns,
    quantities,
    semvers,
    strings,
    times,
    urls,
)
from scheduler_core.cel.overloads import Overload

OVERLOADS: Final[tuple[Overload, ...]] = (
    *numbers.OVERLOADS,
    *strings.OVERLOADS,
    *patterns.OVERLOADS,
    *lists.OVERLOADS,
    *optionals.OVERLOADS,
    *times.OVERLOADS,
    *quantities.OVERLOADS,
    *semvers.OVERLOADS,
    *formatting.OVERLOADS,
    *networks.OVERLOADS,
    *urls.OVERLOADS,
    *named_formats.OVERLOADS,
)
BY_ID: Final = {overload.id: overload for overload in OVERLOADS}


def _name(overload: Overload) -> str:
    return overload.name


BY_NAME: Final[dict[str, tuple[Overload, ...]]] = {
    name: tuple(overloads) for name, overloads in groupby(sorted(OVERLOADS, key=_name), key=_name)
}
