"""Reads JSON from annotations. Every error names object, annotation, path, value and what is allowed.

It is stricter than Go's decoder: a repeated key, ``NaN`` and text after the value are refused, because they
hide what the author meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.codec.fields import Fields

SCHEDULING: Final = "scheduling.koordinator.sh/"
_LONGEST: Final = 256 * 1024
"""The limit of Kubernetes for all annotations of an object together. Units: bytes."""


def annotation(
    subject: str, name: str, value: object, error: type[InvalidInput], prefix: str = SCHEDULING
) -> Fields:
    """Return the JSON object in an annotation.

    Shape: ``value`` is the text, or the object if the text is parsed already.
    Raises: ``error`` for text that is no JSON object.
    """
    where = f"{subject}: annotation {prefix}{name}"
    if isinstance(value, str):
        value = _parsed(where, value, error)
    if not isinstance(value, Mapping):
        raise error(where, "", value, "must be a JSON object")
    return Fields(value, where, "", error)


def choice(fields: Fields, key: str, allowed: Sequence[str]) -> str | None:
    """Return one of the allowed texts; None where the key is absent or the text is empty."""
    value = fields.values.get(key)
    if value is None or value == "":
        return None
    if value not in allowed:
        raise fields.refuse(key, f"must be one of {', '.join(allowed)}", value)
    return str(value)


def _parsed(where: str, text: str, error: type[InvalidInput]) -> Any:
    if len(text.encode()) > _LONGEST:
        raise error(where, "", None, f"is longer than {_LONGEST} bytes")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise error(where, key, None, "is listed twice in one object")
            found[key] = value
        return found

    def constant(name: str) -> Any:
        raise error(where, "", name, "is no JSON number")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno} column {problem.colno}"
        raise error(where, "", text, f"is not JSON at {place}: {problem.msg}") from None
    except (RecursionError, ValueError):
        raise error(
            where, "", None, "cannot be read: it is nested too deeply, or a number is too long"
        ) from None
