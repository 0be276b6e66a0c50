"""Builds the lists and mappings of a YAML document from its lines, each read as column, key and value."""

from __future__ import annotations

from typing import Any

from daemon.yaml_text.line import OPEN
from daemon.yaml_text.unusual import Unusual


class Builder:
    """The document that is being built.

    Shape: ``_open`` has the collections that lines may still add to, with their columns, the innermost last;
           ``_waiting`` and ``_key`` name the place whose value has not come, ``_at`` the column of its key.
    """

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._begin()

    def _begin(self) -> None:
        self._root: dict[str, Any] = {"": None}
        self._open = list[tuple[int, Any]]()
        self._waiting: dict[str, Any] | None = self._root
        self._key = ""
        self._at = -1

    def end(self) -> Any:
        """Return the document, and begin the next one."""
        content = self._root[""]
        self._begin()
        return content

    def take_item(self, column: int, key: str | None, value: Any) -> None:
        """Add an item to a list: a value, or a mapping whose first key is given. Raises: Unusual."""
        if self._waiting is not None and column >= self._at:
            items: Any = []
            self._fill(column, items)
        else:
            items = self._innermost(column)
            if type(items) is not list:
                raise Unusual
        if key is None:
            items.append(value() if type(value) is type else value)
            self._waiting = None
        else:
            mapping: dict[str, Any] = {}
            items.append(mapping)
            self._push(column + 2, mapping)
            self._put(column + 2, mapping, key, value)

    def take_key(self, column: int, key: str | None, value: Any) -> None:
        """Add a key to a mapping. Raises: Unusual."""
        if self._waiting is not None and column > self._at:
            mapping: Any = {}
            self._fill(column, mapping)
        else:
            mapping = self._innermost(column)
            if type(mapping) is list:  # a list may stand below the first letter of its key
                self._open.pop()
                mapping = self._innermost(column)
            if type(mapping) is not dict or key in mapping:
                raise Unusual
        self._put(column, mapping, key, value)

    def _put(self, column: int, mapping: dict[str, Any], key: Any, value: Any) -> None:
        if value is OPEN:
            mapping[key] = None
            self._waiting, self._key, self._at = mapping, key, column
        else:
            mapping[key] = value() if type(value) is type else value
            self._waiting = None

    def _fill(self, column: int, collection: Any) -> None:
        """Put a collection into the place that waits for its value."""
        assert self._waiting is not None
        self._waiting[self._key] = collection
        self._push(column, collection)

    def _push(self, column: int, collection: Any) -> None:
        if len(self._open) >= self._max_depth - 1:  # an empty collection may come in it
            raise Unusual
        self._open.append((column, collection))

    def _innermost(self, column: int) -> Any:
        """Return the collection of a column, and close those within it. Raises: Unusual for none."""
        collections = self._open
        while collections and collections[-1][0] > column:
            collections.pop()
        if not collections or collections[-1][0] != column:
            raise Unusual
        return collections[-1][1]
