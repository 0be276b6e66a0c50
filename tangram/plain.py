"""Values to JSON: dataclasses become objects with camelCase keys, amounts and versions become text.

An obstacle also gets its ``kind``, the name of its class, and its ``text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.obstacles import Obstacle
from scheduler_core.model.sentences import obstacle_text


def plain(value: object) -> Any:
    """Return ``value`` as JSON says it. Raises: TypeError for what has no plain form."""
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return value.value
        case str():
            return str(value)
        case Quantity() | Version() | PurePath():
            return str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _ if isinstance(value, Obstacle):
            return {"kind": type(value).__name__, "text": obstacle_text(value), **_fields(value)}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _fields(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no plain form")


def _fields(value: Any) -> dict[str, Any]:
    return {_camel_case(field.name): plain(getattr(value, field.name)) for field in fields(value)}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
