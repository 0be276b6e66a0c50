"""What a log line is about, as fields beside its text: pod, claim, request, device and the like.

A line gets the fields of the ``with`` blocks around it and its own. They are taken when the line is logged,
also where it is written later.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import MappingProxyType
from typing import Any, Final

FIELDS: Final = ("node", "namespace", "pod", "claim", "uid", "request", "device")
"""The fields of lines, in the order in which they are written. Every value is a string."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_about: Final[ContextVar[Mapping[str, str]]] = ContextVar("about", default=_NONE)


def fields(
    *,
    node: str = "",
    namespace: str = "",
    pod: str = "",
    claim: str = "",
    uid: str = "",
    request: str = "",
    device: str = "",
) -> dict[str, Any]:
    """Return the ``extra`` of a log call. Shape: several pods or devices have commas between them."""
    return {"fields": _given(node, namespace, pod, claim, uid, request, device)}


class LogAbout:
    """A block whose lines have fields. Every claim has several, and a generator would cost twice as much."""

    __slots__ = ("_before", "_given")

    _before: Token[Mapping[str, str]]

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def __enter__(self) -> None:
        self._before = _about.set({**_about.get(), **self._given})

    def __exit__(self, *_error: object) -> None:
        _about.reset(self._before)


def log_about(
    *,
    node: str = "",
    namespace: str = "",
    pod: str = "",
    claim: str = "",
    uid: str = "",
    request: str = "",
    device: str = "",
) -> LogAbout:
    """Give the fields to all lines that this thread logs within a ``with`` block."""
    return LogAbout(_given(node, namespace, pod, claim, uid, request, device))


def fields_of(record: logging.LogRecord) -> Mapping[str, str]:
    """Return the fields of a line."""
    found: Mapping[str, str] = getattr(record, "fields", _NONE)
    return found


class AddFields(logging.Filter):
    """The filter that gives a line the fields of the blocks around it. It comes before all other filters."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields; every line passes."""
        if about := _about.get():
            record.fields = {**about, **fields_of(record)}
        return True


def _given(*values: str) -> dict[str, str]:
    return {name: value for name, value in zip(FIELDS, values, strict=True) if value}
