"""The page's value as it changes, for any number of readers. Safe between threads.

Takes whole values; readers get the first one, then what has changed since the one that they have, as events.
Each event is encoded once, however many read it, and node by node: other threads run between two nodes.
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


class _Moment:
    """One value and how it is told. Safe between threads."""

    def __init__(self, value: Value, before: Value | None) -> None:
        self.value = value
        self._before = before
        self._lock = threading.Lock()
        self._text: str | None = None
        self._all = self._change = b""

    def text(self) -> str:
        """Return the value as JSON."""
        with self._lock:
            return self._encoded()

    def all(self) -> bytes:
        """Return the event of the whole value."""
        with self._lock:
            self._all = self._all or event("all", self._encoded())
            return self._all

    def change(self) -> bytes:
        """Return the event of what is another one than in the value before."""
        with self._lock:
            if self._before is not None:
                self._change = event("change", encoded(changes(self._before, self.value)))
                self._before = None
            return self._change

    def _encoded(self) -> str:
        if self._text is None:
            self._text = encoded(self.value)
        return self._text


class Hub:
    """Holds the newest value. Readers that are slow miss what was between, and nothing of the end."""

    def __init__(self, value: Value) -> None:
        self._changed = threading.Condition()
        self._moment = _Moment(value, None)
        self._number = 0
        self._is_ended = False

    @property
    def value(self) -> Value:
        """Return the newest value."""
        with self._changed:
            return self._moment.value

    def text(self) -> str:
        """Return the newest value as JSON."""
        with self._changed:
            moment = self._moment
        return moment.text()

    def put(self, value: Value) -> None:
        """Replace the value."""
        with self._changed:
            self._moment = _Moment(value, self._moment.value)
            self._number += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let all readers go."""
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def next(self, number: int | None, wait_s: float) -> tuple[int, bytes] | None:
        """Wait for a value that is newer than a number and return both, None where none has come in time.

        Shape: ``number`` is that of the reader's value, None without one; the value is an event, ``change``
               where the reader's is the one before, else ``all``. Raises: Ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_ended or number != self._number, wait_s)
            if self._is_ended:
                raise Ended
            if number == self._number:
                return None
            newest, moment = self._number, self._moment
        return newest, moment.change() if number == newest - 1 else moment.all()


def encoded(value: Value) -> str:
    """PURE: return a value, or changes of one, as JSON. It is made node by node."""
    nodes = value.get(_NODES)
    parts = [f"{_json(key)}:{_json(one)}" for key, one in value.items() if key != _NODES]
    if isinstance(nodes, Mapping):
        parts.append(
            f'"{_NODES}":{{{",".join(f"{_json(name)}:{_json(one)}" for name, one in nodes.items())}}}'
        )
    elif nodes is not None:
        parts.append(f'"{_NODES}":[{",".join(map(_json, nodes))}]')
    return f"{{{','.join(parts)}}}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def event(name: str, text: str) -> bytes:
    """PURE: return one server-sent event. JSON has no line ends of its own, so that it is one line."""
    return f"event: {name}\ndata: {text}\n\n".encode()
