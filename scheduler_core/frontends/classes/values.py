"""The values of properties and of requirements: texts, and what they read as.

An amount is a Kubernetes quantity (``30G``, ``1536Mi``), or a number with a prefix and a unit word
(``40GBPS``), where upper and lower case are equal. A version is one as drivers print it (``535``, ``12.6``,
``560.35.03``). A plain number reads as both: ``12.10`` is the amount 12.1, and a later version than ``12.9``.
What reads as neither is a text alone, and texts have no order.
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
_N: Final = "[0-9]{1,18}"
_PRE: Final = "(0|[1-9][0-9]{0,17}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = "[0-9A-Za-z-]+"
VERSION: Final = rf"({_N}|v?{_N}[.]{_N}([.]{_N}(-{_PRE}([.]{_PRE})*)?([+]{_BUILD}([.]{_BUILD})*)?)?)"
"""What reads as a version. CEL's ``semver(text, true)`` reads each of these as the same version.

Kubernetes takes a ``v``, short forms and leading zeros there, and a pre-release or build only behind three
numbers (source: apiserver 1.34, pkg/cel/library/semverlib.go). Here a ``v`` needs a dot: ``v100`` is a GPU.
"""
_VERSION: Final = re.compile(VERSION, re.ASCII)
_LONGEST_VERSION: Final = 64  # as long as the text of an attribute
SPELLING: Final = (("K", "k"), ("kI", "Ki"), ("I", "i"))
"""Replacements that turn a prefix in capitals into a prefix of quantities, in this order."""

AMOUNT_RULE: Final = (
    "must be an amount such as 30G, 1Gi or 40GBPS, or a version such as 535, 12.4 or 560.35.03"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact amount. Units: ``nano`` in billionths of ``unit``, which is empty for bytes and counts."""

    nano: int
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its readings.

    Shape: ``text`` is empty for what equals no text: published versions and capacities, which have a type,
           and lists, which cannot be compared at all.
    """

    text: str
    amount: Amount | None = None
    version: Version | None = None

    def __str__(self) -> str:
        if self.text:
            return self.text
        if self.amount is not None:
            return str(Quantity(self.amount.nano, "i"))
        return "a list" if self.version is None else str(self.version)


LIST: Final = Value("")


@lru_cache(maxsize=4096)
def value_of(text: str) -> Value:
    """Return the value of a text."""
    is_version = len(text) <= _LONGEST_VERSION and _VERSION.fullmatch(text) is not None
    return Value(text, _amount_of(text), Version.parse(text) if is_version else None)


def _amount_of(text: str) -> Amount | None:
    try:
        return Amount(Quantity.parse(text).nano)
    except ValueError:
        pass
    match = _WITH_UNIT.fullmatch(text.upper()) if text.isascii() else None
    if match is None:
        return None
    amount = match["amount"]
    for capitals, prefix in SPELLING:
        amount = amount.replace(capitals, prefix)
    try:
        nano = Quantity.parse(amount).nano
    except ValueError:
        return None
    return Amount(nano, "" if match["unit"] == BYTES else match["unit"])


def order(present: Value, wanted: Value, *, as_versions: bool = False) -> int | None:
    """Return -1, 0 or 1; None for values without an order: texts, and amounts of different units.

    Shape: values that both read as amounts and as versions are compared as versions if ``as_versions``.
    """
    versions = _order_of_versions(present.version, wanted.version)
    if as_versions and versions is not None:
        return versions
    one, other = present.amount, wanted.amount
    if one is not None and other is not None and one.unit == other.unit:
        return (one.nano > other.nano) - (one.nano < other.nano)
    return versions


def _order_of_versions(one: Version | None, other: Version | None) -> int | None:
    return None if one is None or other is None else (one > other) - (one < other)


def equal(present: Value, wanted: Value, *, as_versions: bool = False) -> bool:
    """Whether two values are equal: amounts and versions by value, texts exactly."""
    relation = order(present, wanted, as_versions=as_versions)
    return present.text == wanted.text != "" if relation is None else relation == 0
