"""Optionals: values that may be absent. Source: CEL optional syntax; cel-go ``cel.OptionalTypes``."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import NONE, Duration, Option, some
from scheduler_core.cel.work import Work

_EMPTY: Final = (False, 0, 0.0, "", b"", None, Duration(0))


def value_of(option: Option) -> Any:
    """Return what the optional holds."""
    if not option.is_present:
        raise EvaluationError("optional.none() dereference")
    return option.value


def of_non_zero(value: Any) -> Option:
    """Return none for the zero value of a type: 0, false, empty text, list or map."""
    is_zero = not value if isinstance(value, list | dict) else value in _EMPTY
    return NONE if is_zero else some(value)


def unwrap(work: Work, options: list[Option]) -> list[Any]:
    """Return the values of the optionals that hold one."""
    work.copy(2 * len(options))
    for option in options:
        if not isinstance(option, Option):
            raise no_such_overload("unwrap", option)
    return [option.value for option in options if option.is_present]


_O: Final = "optional_type<~V>"
OVERLOADS: Final = (
    Overload("optional_of", r"optional\.of(~V)", _O, some),
    Overload("optional_ofNonZeroValue", r"optional\.ofNonZeroValue(~V)", _O, of_non_zero),
    Overload("optional_none", r"optional\.none()", _O, lambda: NONE),
    Overload("optional_value", f"{_O}.value()", "~V", value_of),
    Overload("optional_hasValue", f"{_O}.hasValue()", "bool", lambda option: option.is_present),
    Overload("optional_unwrap", f"optional\\.unwrap(list<{_O}>)", "list<~V>", unwrap, counts=True),
    Overload("optional_unwrapOpt", f"list<{_O}>.unwrapOpt()", "list<~V>", unwrap, counts=True),
)
