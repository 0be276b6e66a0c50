"""The page's value as it changes, for any number of readers. Safe between threads.

Takes whole values; readers get the first one, then what has changed since the one that they have.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any, Final

Value = Mapping[str, Any]
_NODES: Final = "nodes"


def changes(old: Value, new: Value) -> dict[str, Any]:
    """PURE: return what the page needs to know of a change: nodes by name, None for one that is gone.

    Shape: every other key whose value is another one, whole.
    """
    found = {key: value for key, value in new.items() if key != _NODES and old.get(key) != value}
    before = {one["name"]: one for one in old[_NODES]}
    after = {one["name"]: one for one in new[_NODES]}
    nodes = {name: node for name, node in after.items() if before.get(name) != node}
    gone = dict.fromkeys(name for name in before if name not in after)
    if nodes or gone:
        found[_NODES] = {**nodes, **gone}
    return found


class Ended(Exception):
    """The server ends: readers go."""


class Hub:
    """Holds the newest value. Readers that are slow miss what was between, and nothing of the end."""

    def __init__(self, value: Value) -> None:
        self._changed = threading.Condition()
        self._value = value
        self._number = 0
        self._is_ended = False

    @property
    def value(self) -> Value:
        """Return the newest value."""
        with self._changed:
            return self._value

    def put(self, value: Value) -> None:
        """Replace the value."""
        with self._changed:
            self._value = value
            self._number += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let all readers go."""
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def next(self, number: int | None, wait_s: float) -> tuple[int, Value] | None:
        """Wait for a value that is newer than a number and return both, None where none has come in time.

        Shape: ``number`` None for the value as it is. Raises: Ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_ended or number != self._number, wait_s)
            if self._is_ended:
                raise Ended
            return None if number == self._number else (self._number, self._value)


def event(name: str, value: Value) -> bytes:
    """PURE: return one server-sent event. JSON has no line ends of its own, so that it is one line."""
    return f"event: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n".encode()
