"""Reads a length of time as kubectl writes it."""

from __future__ import annotations

import re
from typing import Final

from tangram.errors import bad_argument

_FORM: Final = re.compile(r"([0-9]{1,6})([smhd])", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_age(option: str, text: str) -> float:
    """Return a length of time. Units: seconds. Raises: BadInput."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise bad_argument(
            option, text, "must be a number of at most six digits with s, m, h or d, such as 90m"
        )
    return float(found[1]) * _SECONDS[found[2]]
