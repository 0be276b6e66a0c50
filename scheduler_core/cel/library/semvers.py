"""Semantic versions: strict in ``semver()``, as attributes carry them otherwise.

Source: semver.org 2.0.0; the Kubernetes semver library, version 1.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.base.version import Version
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.work import Work

_S: Final = "kubernetes.Semver"
_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_STRICT: Final = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    rf"(?:-(?P<pre>{_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_NUMBER_BELOW: Final = 2**64
_MAX_DIGITS: Final = 20
RULE: Final = "must be a semantic version such as 1.2.3 or 1.2.3-rc.1"


def _read(text: str) -> Version | None:
    match = _STRICT.fullmatch(text)
    if match is None:
        return None
    parts = match["pre"].split(".") if match["pre"] else []
    numbers = [match["major"], match["minor"], match["patch"], *filter(str.isdigit, parts)]
    if any(len(number) > _MAX_DIGITS or int(number) >= _NUMBER_BELOW for number in numbers):
        return None
    pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    major, minor, patch = map(int, numbers[:3])
    return Version(text, (major, minor, patch, 0 if pre else 1, pre))


def _read_normalized(text: str) -> Version | None:
    """Drop a leading ``v`` and leading zeros, and complete a short version."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if set(parts[-1]) & set("+-"):
            return None
        parts += ["0"] * (3 - len(parts))
    return _read(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isascii() and rest[:1].isdigit() else "0" + rest


def parse(work: Work, text: str, normalize: bool = False) -> Version:
    """Read a version, strictly unless ``normalize``."""
    work.write(len(text))
    version = _read_normalized(text) if normalize else _read(text)
    if version is None:
        raise EvaluationError(f"semver {text[:64]!r} {RULE}")
    return version


def is_semver(work: Work, text: str, normalize: bool = False) -> bool:
    """Whether a string reads as a version."""
    work.write(len(text))
    return (_read_normalized(text) if normalize else _read(text)) is not None


def compare(left: Version, right: Version) -> int:
    """Return 1, 0 or -1 by precedence."""
    return (left.key > right.key) - (left.key < right.key)


def is_greater(left: Version, right: Version) -> bool:
    """Whether the left version is the newer."""
    return left.key > right.key


def is_less(left: Version, right: Version) -> bool:
    """Whether the left version is the older."""
    return left.key < right.key


OVERLOADS: Final = (
    Overload("string_to_semver", "semver(string)", _S, parse, counts=True),
    Overload("string_bool_to_semver", "semver(string,bool)", _S, parse, counts=True),
    Overload("is_semver_string", "isSemver(string)", "bool", is_semver, counts=True),
    Overload("is_semver_string_bool", "isSemver(string,bool)", "bool", is_semver, counts=True),
    Overload("semver_is_greater_than", f"{_S}.isGreaterThan({_S})", "bool", is_greater),
    Overload("semver_is_less_than", f"{_S}.isLessThan({_S})", "bool", is_less),
    Overload("semver_compare_to", f"{_S}.compareTo({_S})", "int", compare),
    Overload("semver_major", f"{_S}.major()", "int", lambda version: version.key[0]),
    Overload("semver_minor", f"{_S}.minor()", "int", lambda version: version.key[1]),
    Overload("semver_patch", f"{_S}.patch()", "int", lambda version: version.key[2]),
)
