"""Annotation text to checked JSON: every refusal names object, annotation, path, value and what is allowed.

Strict where Go's decoder is lax: a repeated key, a number that is none and anything after the value are
refused, since each hides what the author meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.codec.fields import Fields

SCHEDULING: Final = "scheduling.koordinator.sh/"
_LONGEST: Final = 256 * 1024
"""Kubernetes allows this much for all annotations of an object together. Units: bytes."""


def annotation(subject: str, name: str, value: object, error: type[InvalidInput]) -> Fields:
    """Return the object that an annotation holds.

    Shape: ``value`` is its text, or what some reader has made of it already.
    Raises: ``error`` for text that is no JSON object.
    """
    where = f"{subject}: annotation {SCHEDULING}{name}"
    if isinstance(value, str):
        value = _parsed(where, value, error)
    if not isinstance(value, Mapping):
        raise error(where, "", value, "must be a JSON object")
    return Fields(value, where, "", error)


def choice(fields: Fields, key: str, allowed: Sequence[str]) -> str | None:
    """Return one of the allowed texts, None where the key is absent. An empty text counts as absent."""
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
                raise error(where, key, None, "stands twice in one object")
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
        raise error(where, "", None, "is nested too deeply, or has a number too long, to be read") from None
