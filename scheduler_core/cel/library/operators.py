"""Arithmetic, negation and membership: the operators without control flow.

Integers have 64 bits and overflow is an error; division and remainder truncate towards zero.
Source: the CEL specification; cel-go ``common/types``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.library.equality import COMPARED, MISSING, ORDER, differs, equal, find, is_same
from scheduler_core.cel.library.times import add_times, subtract_times
from scheduler_core.cel.overloads import Function
from scheduler_core.cel.values import INT_MAX, INT_MIN, UINT_MAX, Domains, Duration, Timestamp, Uint
from scheduler_core.cel.work import Work

_TIMES: Final = frozenset({Duration, Timestamp})


def in_range(amount: int, kind: type) -> int:
    """Return ``amount`` as an ``int`` or ``Uint``.

    Raises: EvaluationError where 64 bits do not hold it.
    """
    if kind is Uint:
        if 0 <= amount <= UINT_MAX:
            return Uint(amount)
        raise EvaluationError("unsigned integer overflow")
    if INT_MIN <= amount <= INT_MAX:
        return amount
    raise EvaluationError("integer overflow")


def add(work: Work, left: Any, right: Any) -> Any:
    """Add numbers or times, join strings, bytes or lists."""
    kind, other = type(left), type(right)
    if kind in _TIMES and other in _TIMES:
        return add_times(left, right)
    if kind is not other:
        raise no_such_overload("_+_", left, right)
    if kind is int or kind is Uint:
        return in_range(int(left) + int(right), kind)
    if kind is float:
        return left + right
    if kind is str or kind is bytes:
        work.write(len(left) + len(right))
        return left + right
    if kind is list:
        work.copy(len(left) + len(right))
        return left + right
    raise no_such_overload("_+_", left, right)


def subtract(left: Any, right: Any) -> Any:
    """Subtract numbers or times."""
    if type(left) in _TIMES and type(right) in _TIMES:
        return subtract_times(left, right)
    return _arithmetic("_-_", left, right, lambda a, b: a - b, lambda a, b: a - b)


def multiply(left: Any, right: Any) -> Any:
    """Multiply numbers."""
    return _arithmetic("_*_", left, right, lambda a, b: a * b, lambda a, b: a * b)


def divide(left: Any, right: Any) -> Any:
    """Divide numbers; integers towards zero."""
    return _arithmetic("_/_", left, right, _quotient, _float_quotient)


def remainder(left: Any, right: Any) -> Any:
    """Return what integer division leaves; it has the sign of the dividend."""
    if type(left) is float:
        raise no_such_overload("_%_", left, right)
    return _arithmetic("_%_", left, right, _remainder, _float_quotient)


def _arithmetic(
    symbol: str,
    left: Any,
    right: Any,
    whole: Callable[[int, int], int],
    real: Callable[[float, float], float],
) -> Any:
    kind = type(left)
    if kind is not type(right):
        raise no_such_overload(symbol, left, right)
    if kind is int or kind is Uint:
        return in_range(whole(int(left), int(right)), kind)
    if kind is float:
        return real(left, right)
    raise no_such_overload(symbol, left, right)


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def _float_quotient(left: float, right: float) -> float:
    if right != 0:
        return left / right
    return (
        math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    )


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    return left - right * _quotient(left, right)


def negate(value: Any) -> Any:
    """Return ``-value`` of a number or a duration."""
    kind = type(value)
    if kind is int:
        return in_range(-value, int)
    if kind is float:
        return -value
    if kind is Duration:
        return subtract_times(Duration(0), value)
    raise no_such_overload("-_", value)


def logical_not(value: Any) -> bool:
    """Return ``!value``."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload("!_", value)


def contains(work: Work, element: Any, container: Any) -> bool:
    """Return ``element in container``, for a list or the keys of a map."""
    kind = type(container)
    if kind is dict or kind is Domains:
        return find(work, container, element) is not MISSING
    if kind is list:
        for other in container:
            work.spend(COMPARED)
            if is_same(work, element, other):
                return True
        return False
    raise no_such_overload("@in", element, container)


OPERATORS: Final[dict[str, Function]] = {
    "_+_": Function(add, counts=True),
    "_-_": Function(subtract),
    "_*_": Function(multiply),
    "_/_": Function(divide),
    "_%_": Function(remainder),
    "-_": Function(negate),
    "!_": Function(logical_not),
    "@in": Function(contains, counts=True),
    "_==_": Function(equal, counts=True),
    "_!=_": Function(differs, counts=True),
    **{symbol: Function(compare, counts=True) for symbol, compare in ORDER.items()},
}
"""By the checker's name of the operator."""
