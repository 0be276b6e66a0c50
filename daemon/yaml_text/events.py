"""Builds what YAML usually is straight from the parser's events: mappings, lists and scalars.

Takes a loader that stands at the beginning of a text, and returns its documents, or None where the text has
anything else: an anchor, an alias, a tag, a merge, a key that comes twice, a mistake. The caller then reads
it with all of YAML, which takes three times as long and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

import yaml

from daemon.document import Progress
from daemon.yaml_text.unusual import Unusual

_TEXT: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "tag:yaml.org,2002:merge"
_EVENTS: Final = 50_000  # between two calls of a Progress: some tenths of a second
_NONE: Final = object()


def plain_documents(
    loader: yaml.CSafeLoader, max_depth: int, max_values: int, progress: Progress | None
) -> list[tuple[int, Any]] | None:
    """Return the line and the value of every document that is not empty, None for an unusual text."""
    try:
        return _Builder(loader, max_depth, max_values).documents(progress)
    except (Unusual, yaml.YAMLError, ValueError, ArithmeticError):
        return None
    finally:
        loader.dispose()


class _Builder:
    """One text on its way into values.

    Shape: ``_around`` is the collection that is being filled, in a document's outermost one is its value;
           ``_key`` the key that waits for its value; ``_outer`` both of the collections around it.
    """

    def __init__(self, loader: yaml.CSafeLoader, max_depth: int, max_values: int) -> None:
        self._loader: Any = loader  # its methods of C have no types
        self._max_depth = max_depth
        self._max_values = max_values
        self._known: dict[str, Any] = {}  # values of scalars without quotes: slices repeat most of them
        self._around: Any = []
        self._key: str | None = None
        self._outer: list[tuple[Any, str | None]] = []

    def documents(self, progress: Progress | None) -> list[tuple[int, Any]]:
        """Return the documents. Raises: Unusual, yaml.YAMLError."""
        found = list[tuple[int, Any]]()
        count, line, before = 0, 0, 0
        next_event, steps = self._loader.get_event, self._steps()
        while (kind := type(event := next_event())) is not yaml.StreamEndEvent:
            count += 1
            if progress is not None and count % _EVENTS == 0:
                progress(event.start_mark.index)
            if kind in steps:
                line = line or event.start_mark.line + 1
                steps[kind](event)
            elif kind is yaml.DocumentStartEvent:
                self._around, line, before = [], 0, count
            elif kind is yaml.DocumentEndEvent:
                if count - before > self._max_values:
                    raise Unusual
                if self._around[0] is not None:
                    found.append((line, self._around[0]))
            elif kind is not yaml.StreamStartEvent:
                raise Unusual
        return found

    def _steps(self) -> Mapping[type[Any], Callable[[Any], None]]:
        """Return what is done at each kind of event inside a document."""
        return {
            yaml.ScalarEvent: self._take_scalar,
            yaml.MappingStartEvent: self._open_mapping,
            yaml.SequenceStartEvent: self._open_list,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
        }

    def _take_scalar(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            raise Unusual
        value = event.value
        if event.implicit[0]:
            value = self._known.get(value, _NONE)
            if value is _NONE:
                value = self._scalar(event)
        self._add(value)

    def _open_mapping(self, event: Any) -> None:
        self._open({}, event)

    def _open_list(self, event: Any) -> None:
        self._open([], event)

    def _open(self, collection: Any, event: Any) -> None:
        if event.anchor is not None or event.tag is not None or len(self._outer) >= self._max_depth:
            raise Unusual
        self._outer.append((self._around, self._key))
        self._around, self._key = collection, None

    def _close(self, _event: Any) -> None:
        value = self._around
        self._around, self._key = self._outer.pop()
        self._add(value)

    def _add(self, value: Any) -> None:
        """Put a value into the collection that is being filled; in a mapping keys and values take turns."""
        if type(self._around) is list:
            self._around.append(value)
        elif self._key is not None:
            self._around[self._key] = value
            self._key = None
        elif type(value) is str and value not in self._around:
            self._key = value
        else:
            raise Unusual

    def _scalar(self, event: Any) -> Any:
        """Return the value of a scalar without quotes, and keep it."""
        tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag == _MERGE:
            raise Unusual
        value = event.value
        if tag != _TEXT:
            node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
            value = self._loader.construct_object(node, deep=True)
        if isinstance(value, float) and not isfinite(value):
            raise Unusual
        self._known[event.value] = value
        return value
