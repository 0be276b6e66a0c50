"""The values of properties and of requirements: amounts, versions and texts.

Takes texts. An amount is a Kubernetes quantity (``30G``, ``1536Mi``), or a number with a prefix and a unit
word (``40GBPS``), where upper and lower case are equal. Everything that is neither an amount nor a version is
a text, and texts have no order.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version

BYTES: Final = "B"
"""The unit word that Kubernetes quantities leave out: ``30GB`` equals ``30G``."""

PREFIXED: Final = "[+-]?[0-9.]+([KMGTPE]I?)?"
"""The amount before a unit word, in capitals. A unit word does not begin with a letter of a prefix."""
_WITH_UNIT: Final = re.compile(rf"(?P<amount>{PREFIXED})(?P<unit>[A-DFHJLNOQRSU-Z][A-Z]*)", re.ASCII)
VERSION: Final = r"(0|[1-9][0-9]{0,17})([.](0|[1-9][0-9]{0,17})){2}"
_VERSION: Final = re.compile(VERSION, re.ASCII)
SPELLING: Final = (("K", "k"), ("kI", "Ki"), ("I", "i"))
"""Replacements that turn a prefix in capitals into a prefix of quantities, in this order."""

AMOUNT_RULE: Final = (
    "must be an amount such as 30G, 1Gi or 40GBPS, or a version of three numbers such as 560.35.3"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact amount. Units: ``nano`` in billionths of ``unit``, which is empty for bytes and counts."""

    nano: int
    unit: str = ""


Value = Amount | Version | str
"""Shape: the text is empty for a property that cannot be compared, such as a list."""


@lru_cache(maxsize=4096)
def value_of(text: str) -> Value:
    """Return the value of a text."""
    try:
        return Amount(Quantity.parse(text).nano)
    except ValueError:
        pass
    if _VERSION.fullmatch(text):
        return Version.parse(text)
    found = _WITH_UNIT.fullmatch(text.upper()) if text.isascii() else None
    if found is None:
        return text
    try:
        nano = Quantity.parse(_spelled(found["amount"])).nano
    except ValueError:
        return text
    return Amount(nano, "" if found["unit"] == BYTES else found["unit"])


def _spelled(amount: str) -> str:
    for capitals, prefix in SPELLING:
        amount = amount.replace(capitals, prefix)
    return amount


def order(found: Value, wanted: Value) -> int | None:
    """Return -1, 0 or 1; None for values without an order: texts, and amounts of different units."""
    match found, wanted:
        case Amount(), Amount() if found.unit == wanted.unit:
            return (found.nano > wanted.nano) - (found.nano < wanted.nano)
        case Version(), Version():
            return (found > wanted) - (found < wanted)
        case _:
            return None


def equal(found: Value, wanted: Value) -> bool:
    """Whether two values are equal: amounts and versions by value, texts exactly."""
    if isinstance(found, str) and isinstance(wanted, str):
        return found == wanted
    return order(found, wanted) == 0
