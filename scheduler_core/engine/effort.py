"""How much was searched, as a number that tests can hold on to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Effort:
    """Shape: ``steps`` devices tried, vectors of counts joined; tables looked up do not count."""

    steps: int = 0
