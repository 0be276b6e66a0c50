"""Errors in a command line, and their exit status."""

from __future__ import annotations

import sys
from typing import Final

DONE: Final = 0
"""Exit status: the program ran until a signal came."""
FAILED: Final = 1
"""Exit status: the program could not start."""
WRONG_OPTIONS: Final = 2
"""Exit status: the options are wrong; nothing was changed."""

_SHOWN: Final = 200


class InvalidOption(Exception):
    """An option, or several together, that a user must change.

    Shape: ``option`` as the user writes it, ``value`` the given text, None where the rule is not about one
           value, ``rule`` the rule that it breaks.
    """

    def __init__(self, option: str, value: object, rule: str) -> None:
        self.option = option
        self.value = value
        self.rule = rule
        given = "" if value is None else f" {_shown(value)}"
        super().__init__(f"cannot use {option}{given}: {rule}; see --help")


def require(holds: bool, option: str, value: object, rule: str) -> None:
    """Refuse an option that breaks its rule. Raises: InvalidOption."""
    if not holds:
        raise InvalidOption(option, value, rule)


def refuse(program: str, error: Exception, status: int) -> int:
    """Write why a program cannot start as one line on standard error, and return the exit status."""
    sys.stderr.write(f"{program}: {' '.join(str(error).split())}\n")
    return status


def _shown(value: object) -> str:
    text = repr(str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
