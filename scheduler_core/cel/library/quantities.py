"""Quantities: exact amounts with Kubernetes' suffixes. Source: the Kubernetes quantity library."""

from __future__ import annotations

from typing import Final

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import INT_MAX, INT_MIN
from scheduler_core.quantity import NANO, RULE, Quantity

_Q: Final = "kubernetes.Quantity"


def parse(text: str) -> Quantity:
    """Read a quantity."""
    try:
        return Quantity.parse(text)
    except ValueError:
        raise EvaluationError(f"quantity {text[:40]!r} {RULE}") from None


def is_quantity(text: str) -> bool:
    """Whether a string reads as a quantity."""
    try:
        Quantity.parse(text)
    except ValueError:
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
    """Whether the amount is a whole number of 64 bits."""
    return amount.is_whole and INT_MIN <= amount.nano // NANO <= INT_MAX


def as_integer(amount: Quantity) -> int:
    """Return a whole amount."""
    if not is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.nano // NANO


def as_float(amount: Quantity) -> float:
    """Return the nearest double."""
    return amount.nano / NANO


def add(left: Quantity, right: Quantity) -> Quantity:
    """Add amounts."""
    return Quantity(left.nano + right.nano, left.family)


def add_int(left: Quantity, right: int) -> Quantity:
    """Add whole units."""
    return Quantity(left.nano + right * NANO, left.family)


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Subtract an amount."""
    return Quantity(left.nano - right.nano, left.family)


def subtract_int(left: Quantity, right: int) -> Quantity:
    """Subtract whole units."""
    return Quantity(left.nano - right * NANO, left.family)


OVERLOADS: Final = (
    Overload("string_to_quantity", "quantity(string)", _Q, parse),
    Overload("is_quantity_string", "isQuantity(string)", "bool", is_quantity),
    Overload("quantity_sign", f"sign({_Q})", "int", sign),
    Overload("quantity_is_greater_than", f"{_Q}.isGreaterThan({_Q})", "bool", is_greater),
    Overload("quantity_is_less_than", f"{_Q}.isLessThan({_Q})", "bool", is_less),
    Overload("quantity_compare_to", f"{_Q}.compareTo({_Q})", "int", compare),
    Overload("quantity_get_float", f"{_Q}.asApproximateFloat()", "double", as_float),
    Overload("quantity_get_int", f"{_Q}.asInteger()", "int", as_integer),
    Overload("quantity_is_integer", f"{_Q}.isInteger()", "bool", is_integer),
    Overload("quantity_add", f"{_Q}.add({_Q})", _Q, add),
    Overload("quantity_add_int", f"{_Q}.add(int)", _Q, add_int),
    Overload("quantity_sub", f"{_Q}.sub({_Q})", _Q, subtract),
    Overload("quantity_sub_int", f"{_Q}.sub(int)", _Q, subtract_int),
)
