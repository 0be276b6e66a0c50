"""What can go wrong with an expression, inside this package. ``selectors`` makes it a SelectorError."""

from __future__ import annotations

from typing import Final


class CompileError(Exception):
    """The expression is refused before any device is looked at."""


class EvaluationError(Exception):
    """CEL's error value: ``&&`` and ``||`` absorb it, everything else passes it on."""


class WorkExceeded(Exception):
    """The evaluation takes more work than allowed. Nothing absorbs it."""


NO_OVERLOAD: Final = "no such overload"
_SHOWN: Final = 64


def shown(value: object) -> str:
    """Return a value for a message: short, however large it is."""
    match value:
        case str():
            return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
        case bool() | int() | float():
            return str(value)
        case _:
            return f"a value of type {type(value).__name__}"


def no_such_overload(function: str, *arguments: object) -> EvaluationError:
    """Return the error for arguments that no overload of ``function`` takes."""
    kinds = ", ".join(type(argument).__name__ for argument in arguments)
    return EvaluationError(f"{NO_OVERLOAD}: {function}({kinds})")


def no_such_key(key: object) -> EvaluationError:
    """Return the error for a key that a map does not hold, or a field that a device lacks."""
    return EvaluationError(f"no such key: {shown(key)}")
