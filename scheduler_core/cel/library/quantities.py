"""Quantities: exact amounts with Kubernetes' suffixes.

Kubernetes stores an amount as an integer only if it was written as one and is short enough. ``asInteger``
refuses all other amounts, even whole ones; ``LooseQuantity`` is such an amount.
Source: the Kubernetes quantity library; apimachinery ``resource.ParseQuantity``.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.base.quantity import NANO, Quantity
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.library.equality import EQUALS, quantities_equal
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import INT_MAX, INT_MIN, TYPE_NAMES
from scheduler_core.cel.work import Work

_Q: Final = "kubernetes.Quantity"
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SYNTAX: Final = re.compile(
    r"(?P<sign>[+-]?)0*+(?P<whole>[0-9]*+)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)
_MAX_LENGTH: Final = 1024
_MAX_EXPONENT: Final = 10_000  # larger ones count as this: the amount stays beyond all others
_EXACT_DIGITS: Final = 18
_EXACT_BINARY_DIGITS: Final = 14
_SURELY_EXACT: Final = 10**12 * NANO
_BITS: Final = 4  # sixteen binary digits of an amount are written for one unit


class LooseQuantity(Quantity):
    """An amount that ``asInteger`` refuses."""

    __slots__ = ()


TYPE_NAMES[LooseQuantity] = _Q
EQUALS[LooseQuantity] = quantities_equal


def parse(text: str) -> Quantity:
    """Read a quantity. Digits may be missing: ``Ki`` and ``-`` are zero."""
    match = _SYNTAX.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise EvaluationError(f"quantity {text[:40]!r} must be a number with a suffix, such as 4864Mi")
    whole, part = match["whole"] or "0", match["part"] or ""
    number = int(whole + part)
    if match["binary"]:
        shift, family = _BINARY[match["binary"]], "i"
        nano = _scaled(number << shift, -len(part))
        is_held = not part and len(whole) + shift * 3 // 10 <= _EXACT_BINARY_DIGITS
    else:
        power, family = _power(match), "e" if match["exponent"] else ""
        nano = _scaled(number, power - len(part))
        is_held = len(whole + part) <= _EXACT_DIGITS and power >= len(part) and _fits(nano)
    kind = Quantity if is_held or (not number and not part) else LooseQuantity
    return kind(-nano if match["sign"] == "-" else nano, family)


def quantity(work: Work, text: str) -> Quantity:
    """Read a quantity, and count how large it is."""
    return _counted(work, parse(text))


def _counted(work: Work, amount: Quantity) -> Quantity:
    work.spend(amount.nano.bit_length() >> _BITS)
    return amount


def _power(match: re.Match[str]) -> int:
    if match["exponent"] is None:
        return _DECIMAL[match["decimal"] or ""]
    digits = match["exponent"].lstrip("+-").lstrip("0")
    size = int(digits or 0) if len(digits) <= 5 else _MAX_EXPONENT
    size = min(size, _MAX_EXPONENT)
    return -size if match["exponent"].startswith("-") else size


def _scaled(number: int, power: int) -> int:
    """Return billionths, rounded up where they are not whole."""
    power += 9
    return number * int(10**power) if power >= 0 else -(-number // int(10**-power))


def _fits(nano: int) -> bool:
    return nano % NANO == 0 and INT_MIN <= nano // NANO <= INT_MAX


def is_quantity(work: Work, text: str) -> bool:
    """Whether a string reads as a quantity."""
    try:
        quantity(work, text)
    except EvaluationError:
        return False
    return True


def sign(amount: Quantity) -> int:
    """Return 1, 0 or -1."""
    return (amount.nano > 0) - (amount.nano < 0)


def compare(left: Quantity, right: Quantity) -> int:
    """Return 1, 0 or -1."""
    return (left.nano > right.nano) - (left.nano < right.nano)


def is_greater(left: Quantity, right: Quantity) -> bool:
    """Whether the left amount is the larger."""
    return left.nano > right.nano


def is_less(left: Quantity, right: Quantity) -> bool:
    """Whether the left amount is the smaller."""
    return left.nano < right.nano


def is_integer(amount: Quantity) -> bool:
    """Whether ``asInteger`` takes the amount. A device's is as the API server would write it."""
    if type(amount) is not Quantity or amount.nano % NANO:
        return False
    return abs(amount.nano) < _SURELY_EXACT or type(parse(str(amount))) is Quantity


def as_integer(amount: Quantity) -> int:
    """Return a whole amount."""
    if not is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.nano // NANO


def as_float(amount: Quantity) -> float:
    """Return the nearest double."""
    try:
        return amount.nano / NANO
    except OverflowError:
        return float("inf") if amount.nano > 0 else float("-inf")


def add(work: Work, left: Quantity, right: Quantity) -> Quantity:
    """Add amounts. A sum is held as an integer if both are."""
    return _counted(work, _sum(left, right))


def _sum(left: Quantity, right: Quantity) -> Quantity:
    if right.nano == 0:
        return left
    if left.nano == 0:
        return right
    nano = left.nano + right.nano
    is_held = type(left) is type(right) is Quantity and _fits(nano)
    return (Quantity if is_held else LooseQuantity)(nano, left.family)


def subtract(work: Work, left: Quantity, right: Quantity) -> Quantity:
    """Subtract an amount."""
    return add(work, left, type(right)(-right.nano, right.family))


def add_int(work: Work, left: Quantity, right: int) -> Quantity:
    """Add whole units."""
    return add(work, left, Quantity.of(right))


def subtract_int(work: Work, left: Quantity, right: int) -> Quantity:
    """Subtract whole units."""
    return add(work, left, Quantity.of(-right))


OVERLOADS: Final = (
    Overload("string_to_quantity", "quantity(string)", _Q, quantity, counts=True),
    Overload("is_quantity_string", "isQuantity(string)", "bool", is_quantity, counts=True),
    Overload("quantity_sign", f"sign({_Q})", "int", sign),
    Overload("quantity_is_greater_than", f"{_Q}.isGreaterThan({_Q})", "bool", is_greater),
    Overload("quantity_is_less_than", f"{_Q}.isLessThan({_Q})", "bool", is_less),
    Overload("quantity_compare_to", f"{_Q}.compareTo({_Q})", "int", compare),
    Overload("quantity_get_float", f"{_Q}.asApproximateFloat()", "double", as_float),
    Overload("quantity_get_int", f"{_Q}.asInteger()", "int", as_integer),
    Overload("quantity_is_integer", f"{_Q}.isInteger()", "bool", is_integer),
    Overload("quantity_add", f"{_Q}.add({_Q})", _Q, add, counts=True),
    Overload("quantity_add_int", f"{_Q}.add(int)", _Q, add_int, counts=True),
    Overload("quantity_sub", f"{_Q}.sub({_Q})", _Q, subtract, counts=True),
    Overload("quantity_sub_int", f"{_Q}.sub(int)", _Q, subtract_int, counts=True),
)
