"""How an engine chooses among the answers that exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Take the first devices in listed order, as upstream does."""


FIRST_FIT: Final = FirstFit()
Policy = FirstFit
