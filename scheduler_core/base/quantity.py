"""Kubernetes quantities as exact integers.

A quantity is a number of billionths (nano), the smallest step of the API. There are no floats. Rounding is
the API's own: an amount below one nano is rounded away from zero. Quantities are compared by amount; the
suffix family is kept for printing only.
Source: apimachinery ``resource.Quantity`` and its serialisation rules.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass

NANO: Final = 10**9
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_SYNTAX: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]))?",
    re.ASCII,
)
RULE: Final = "must be a Kubernetes quantity such as 4864Mi, 1, 500m or 5e9"
_MAX_DIGITS: Final = 64  # far above the API's 63-bit range; bounds the work on hostile input
_MAX_EXPONENT: Final = 64
_MOST_BINARY: Final = (2**63 - 1) * NANO
"""The API reads larger amounts with a binary suffix, from 8Ei on, as this one."""
_CACHED: Final = 4096  # texts whose quantity is cached


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount.

    Units: ``nano`` billionths of the unit of the dimension (bytes, cores, slices, bit/s).
    """

    nano: int
    family: str = field(default="", compare=False)  # "" decimal, "i" binary, "e" exponent

    def __eq__(self, other: object) -> bool:
        # The generated method builds two tuples, and pools compare thousands of amounts.
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    @classmethod
    def of(cls, amount: int) -> Quantity:
        """Return ``amount`` whole units."""
        return cls(amount * NANO)

    @classmethod
    def bytes_of(cls, amount: int) -> Quantity:
        """Return ``amount`` bytes. They are printed with binary suffixes."""
        return cls(amount * NANO, "i")

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity as the API server does.

        Raises: ValueError with the text and the rule.
        """
        return _parsed(text)

    def __str__(self) -> str:
        if self.family == "i" and self.nano % NANO == 0 and abs(self.nano) >= 1024 * NANO:
            return _binary_text(self.nano // NANO)
        return _decimal_text(self.nano, "e" if self.family == "e" else "")

    def plus(self, other: Quantity) -> Quantity:
        """Return the sum, in the family of this amount."""
        return Quantity(self.nano + other.nano, self.family)

    @property
    def is_whole(self) -> bool:
        """Whether the amount is a whole number of units."""
        return self.nano % NANO == 0

    @property
    def whole(self) -> int:
        """Return the amount in units, rounded up as the API's ``Value()`` does."""
        return -(-self.nano // NANO)


@lru_cache(maxsize=_CACHED)
def _parsed(text: str) -> Quantity:
    """Read a quantity. Equal texts give the same object, which makes comparing them cheap."""
    match = _SYNTAX.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        raise ValueError(f"{text!r} {RULE}")
    digits = match["whole"] + (match["part"] or "")
    exponent = int(match["exponent"] or 0)
    if len(digits) > _MAX_DIGITS or abs(exponent) > _MAX_EXPONENT:
        raise ValueError(f"{text[:40]!r}… {RULE}: at most {_MAX_DIGITS} digits")
    number = int(digits)
    scale = len(match["part"] or "")
    if match["binary"]:
        amount = _signed(match["sign"], number * _BINARY[match["binary"]] * NANO, scale)
        return Quantity(min(amount, _MOST_BINARY), "i")
    power = exponent if match["exponent"] else _DECIMAL[match["decimal"] or ""]
    family = "e" if match["exponent"] else ""
    return Quantity(_signed(match["sign"], number * NANO, scale - power), family)


def _signed(sign: str, number: int, scale: int) -> int:
    """Return ``number / 10**scale``, rounded up in magnitude to a whole nano."""
    value = number * _power(-scale) if scale < 0 else -(-number // _power(scale))
    return -value if sign == "-" else value


def _power(exponent: int) -> int:
    return int(10**exponent)


@lru_cache(maxsize=_CACHED)
def _binary_text(amount: int) -> str:
    for suffix, size in reversed(_BINARY.items()):
        if amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


@lru_cache(maxsize=_CACHED)
def _decimal_text(nano: int, family: str) -> str:
    if nano == 0:
        return "0"
    for suffix, power in reversed(_DECIMAL.items()):
        if nano % 10 ** (power + 9) == 0:
            amount = nano // 10 ** (power + 9)
            if family == "e" and power > 0:
                while amount % 1000 == 0:
                    amount, power = amount // 1000, power + 3  # noqa: PLW2901 - there is no suffix beyond E
                return f"{amount}e{power}"
            return f"{amount}{suffix}"
    raise AssertionError("every amount is a whole number of nanos")
