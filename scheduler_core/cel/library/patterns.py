"""Regular expressions: RE2, as in Kubernetes, so that no pattern can take exponential time.

The work of a search is the length of the text times the size of the compiled pattern; the compilation is
counted by that size too. Attribute values repeat across devices, so answers for short values are kept.
Source: CEL standard definitions (``matches``); the Kubernetes regex library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.work import Work

_MEMORY: Final = 1 << 19
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True  # nothing here reads groups
_OPTIONS.max_mem = _MEMORY
_KEPT_PATTERNS: Final = 16
_KEPT_ANSWERS: Final = 4096
_SHORT_VALUE: Final = 64
_SHORT_PATTERN: Final = 256
_FAILED: Final = 50_000
"""What a pattern costs that does not compile, in units of work: at most as long as RE2 tries."""
_COMPILED: Final = 4
"""What an instruction of a compiled pattern costs to make, in units of work."""
_STEPS: Final = 4  # bits: sixteen instructions applied to a character are one unit
_SEARCH: Final = 32


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. Units: ``size`` in instructions of RE2."""

    regexp: Any
    size: int


@lru_cache(maxsize=_KEPT_PATTERNS)
def _compiled(text: str) -> Pattern:
    try:
        regexp = re2.compile(text, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "not an RE2 pattern"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise EvaluationError(f"illegal pattern: {reason}") from None
    re2.purge()  # it keeps more patterns than we want in memory
    return Pattern(regexp, regexp.programsize)


def pattern(work: Work, text: str) -> Pattern:
    """Compile a pattern. It is counted each time, also where it is still known.

    Raises: EvaluationError where it is none.
    """
    work.spend(len(text))
    try:
        compiled = _compiled(text)
    except EvaluationError:
        work.spend(_FAILED)
        raise
    work.spend(_COMPILED * compiled.size)
    return compiled


def search_work(size: int, length: int) -> int:
    """Return the work of a search for a pattern of some size through a text of some length."""
    return _SEARCH + ((length + 1) * size >> _STEPS)


def _first(work: Work, value: str, text: str) -> str | None:
    """Return the first match, None where there is none."""
    if len(value) <= _SHORT_VALUE and len(text) <= _SHORT_PATTERN:
        return _remembered(work, value, text)
    compiled = pattern(work, text)
    work.spend(search_work(compiled.size, len(value)))
    return _match(compiled, value)


def _remembered(work: Work, value: str, text: str) -> str | None:
    """Return the first match, from memory where it is known, and count it in either case."""
    try:
        units, found = _answer(value, text)
    except EvaluationError:
        work.spend(_FAILED)
        raise
    work.spend(units)
    return found


@lru_cache(maxsize=_KEPT_ANSWERS)
def _answer(value: str, text: str) -> tuple[int, str | None]:
    """Return the work of compiling and searching, and what is found."""
    compiled = _compiled(text)
    units = len(text) + _COMPILED * compiled.size + search_work(compiled.size, len(value))
    return units, _match(compiled, value)


def _match(compiled: Pattern, value: str) -> str | None:
    found = compiled.regexp.search(value)
    return None if found is None else str(found.group())


def matches(work: Work, value: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the value."""
    return _first(work, value, text) is not None


def find(work: Work, value: str, text: str) -> str:
    """Return the first match, the empty string where there is none."""
    return _first(work, value, text) or ""


def find_all(work: Work, value: str, text: str, limit: int = -1) -> list[str]:
    """Return the first ``limit`` matches, all of them where it is negative."""
    compiled = pattern(work, text)
    searches = compiled.regexp.finditer(value)
    found: list[str] = []
    position = 0
    while limit < 0 or len(found) < limit:
        work.spend(search_work(compiled.size, len(value) - position))
        match = next(searches, None)
        if match is None:
            break
        position = match.end()
        work.make(1)
        work.write(position - match.start())
        found.append(match.group())
    return found


OVERLOADS: Final = (
    Overload("matches", "matches(string,string)", "bool", matches, counts=True),
    Overload("matches_string", "string.matches(string)", "bool", matches, counts=True),
    Overload("string_find_string", "string.find(string)", "string", find, counts=True),
    Overload("string_find_all_string", "string.findAll(string)", "list<string>", find_all, counts=True),
    Overload(
        "string_find_all_string_int", "string.findAll(string,int)", "list<string>", find_all, counts=True
    ),
)
