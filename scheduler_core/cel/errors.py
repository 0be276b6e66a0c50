"""What can go wrong with an expression, inside this package. ``selectors`` makes it a SelectorError."""

from __future__ import annotations

from typing import Final


class CompileError(Exception):
    """The expression is refused before any device is looked at."""


class EvaluationError(Exception):
    """CEL's error value: ``&&`` and ``||`` absorb it, everything else passes it on."""


class CostExceeded(Exception):
    """The evaluation became too expensive. Nothing absorbs it."""


NO_OVERLOAD: Final = "no such overload"


def no_such_overload(function: str, *arguments: object) -> EvaluationError:
    """Return the error for arguments that no overload of ``function`` takes."""
    kinds = ", ".join(type(argument).__name__ for argument in arguments)
    return EvaluationError(f"{NO_OVERLOAD}: {function}({kinds})")


def no_such_key(key: object) -> EvaluationError:
    """Return the error for a key that a map does not hold, or a field that a device lacks."""
    return EvaluationError(f"no such key: {key}")
