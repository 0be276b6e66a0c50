"""Regular expressions: RE2, as in Kubernetes, so that no pattern can take exponential time.

Attribute values repeat across devices, so answers are remembered by pattern and value.
Source: CEL standard definitions (``matches``); the Kubernetes regex library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.overloads import Overload

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_MEMORY: Final = 1 << 20
_OPTIONS.max_mem = _MEMORY


@lru_cache(maxsize=256)
def pattern(text: str) -> Any:
    """Compile a pattern.

    Raises: EvaluationError where it is none.
    """
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "not an RE2 pattern"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise EvaluationError(f"illegal pattern: {reason}") from None


@lru_cache(maxsize=4096)
def matches(value: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the value."""
    return pattern(text).search(value) is not None


@lru_cache(maxsize=4096)
def find(value: str, text: str) -> str:
    """Return the first match, the empty string where there is none."""
    found = pattern(text).search(value)
    return "" if found is None else str(found.group())


def find_all(value: str, text: str, limit: int = -1) -> list[str]:
    """Return the first ``limit`` matches, all of them where it is negative."""
    found: list[str] = []
    for match in pattern(text).finditer(value):
        if 0 <= limit <= len(found):
            break
        found.append(match.group())
    return found


OVERLOADS: Final = (
    Overload("matches", "matches(string,string)", "bool", matches),
    Overload("matches_string", "string.matches(string)", "bool", matches),
    Overload("string_find_string", "string.find(string)", "string", find),
    Overload("string_find_all_string", "string.findAll(string)", "list<string>", find_all),
    Overload("string_find_all_string_int", "string.findAll(string,int)", "list<string>", find_all),
)
