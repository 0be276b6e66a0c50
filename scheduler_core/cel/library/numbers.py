"""Conversions between numbers, bools, strings and bytes.

Text is read as Go's ``strconv`` reads it and written as it writes it. Source: cel-go ``common/types``.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint
from scheduler_core.cel.work import Work

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED: Final = re.compile(r"[0-9]+", re.ASCII)
_DIGITS: Final = "[0-9](?:_?[0-9])*"
_DOUBLE: Final = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)p[+-]?[0-9]{1,5}", re.ASCII | re.IGNORECASE
)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_MAX_DIGITS: Final = 64
_EXPONENT_FROM: Final = 6  # Go writes larger doubles, and those below 1e-4, with an exponent


def same(value: Any) -> Any:
    """Return the value itself: the conversion to its own type."""
    return value


def _failed(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def bool_of_string(text: str) -> bool:
    """Read a bool as Go does."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed("string", "bool")


def int_of_string(text: str) -> int:
    """Read a decimal integer of 64 bits."""
    if len(text) > _MAX_DIGITS or not _INTEGER.fullmatch(text) or not INT_MIN <= int(text) <= INT_MAX:
        raise _failed("string", "int")
    return int(text)


def int_of_uint(value: Uint) -> int:
    """Return an unsigned integer as a signed one."""
    if value > INT_MAX:
        raise EvaluationError("integer overflow")
    return int(value)


def int_of_double(value: float) -> int:
    """Return a double without its fraction."""
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def uint_of_string(text: str) -> Uint:
    """Read an unsigned decimal integer of 64 bits."""
    if len(text) > _MAX_DIGITS or not _UNSIGNED.fullmatch(text) or int(text) > UINT_MAX:
        raise _failed("string", "uint")
    return Uint(text)


def uint_of_int(value: int) -> Uint:
    """Return a signed integer as an unsigned one."""
    if value < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def uint_of_double(value: float) -> Uint:
    """Return a double without its fraction."""
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def double_of_string(work: Work, text: str) -> float:
    """Read a double."""
    work.spend(len(text))
    try:
        if _HEXADECIMAL.fullmatch(text):
            return float.fromhex(text)
        value = float(text) if _DOUBLE.fullmatch(text) else None
    except OverflowError:
        value = None
    if value is None or (math.isinf(value) and "inf" not in text.lower()):
        raise _failed("string", "double")
    return value


def bool_text(value: bool) -> str:
    """Return ``true`` or ``false``."""
    return "true" if value else "false"


def double_text(value: float) -> str:
    """Write a double with the fewest digits that read back, as Go's format ``g`` does."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, exponent = _shortest(value)
    if -4 <= exponent < _EXPONENT_FROM:
        return sign + plain_text(digits, exponent)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{exponent:+03d}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Return sign, digits and the exponent of the first digit."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    first = int(exponent or 0) + len(whole) - 1 - (len(whole + part) - len(digits))
    return "-" if value < 0 else "", digits.rstrip("0"), first


def plain_text(digits: str, exponent: int) -> str:
    """Write digits without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    part = digits[exponent + 1 :]
    return f"{whole}.{part}" if part else whole


def bytes_of_string(work: Work, text: str) -> bytes:
    """Write UTF-8."""
    work.write(len(text))
    return text.encode()


def string_of_bytes(work: Work, value: bytes) -> str:
    """Read UTF-8."""
    work.write(len(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


OVERLOADS: Final = (
    Overload("bool_to_bool", "bool(bool)", "bool", same),
    Overload("string_to_bool", "bool(string)", "bool", bool_of_string),
    Overload("bytes_to_bytes", "bytes(bytes)", "bytes", same),
    Overload("string_to_bytes", "bytes(string)", "bytes", bytes_of_string, counts=True),
    Overload("double_to_double", "double(double)", "double", same),
    Overload("int64_to_double", "double(int)", "double", float),
    Overload("string_to_double", "double(string)", "double", double_of_string, counts=True),
    Overload("uint64_to_double", "double(uint)", "double", float),
    Overload("int64_to_int64", "int(int)", "int", same),
    Overload("double_to_int64", "int(double)", "int", int_of_double),
    Overload("string_to_int64", "int(string)", "int", int_of_string),
    Overload("uint64_to_int64", "int(uint)", "int", int_of_uint),
    Overload("uint64_to_uint64", "uint(uint)", "uint", same),
    Overload("double_to_uint64", "uint(double)", "uint", uint_of_double),
    Overload("int64_to_uint64", "uint(int)", "uint", uint_of_int),
    Overload("string_to_uint64", "uint(string)", "uint", uint_of_string),
    Overload("string_to_string", "string(string)", "string", same),
    Overload("bool_to_string", "string(bool)", "string", bool_text),
    Overload("bytes_to_string", "string(bytes)", "string", string_of_bytes, counts=True),
    Overload("double_to_string", "string(double)", "string", double_text),
    Overload("int64_to_string", "string(int)", "string", str),
    Overload("uint64_to_string", "string(uint)", "string", str),
)
