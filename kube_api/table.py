"""Entries by namespace and name, by UID, and by the keys of indexes. Pure; for one thread.

An index is a function from a value to its keys. Each change updates its results, so a look-up costs as
much as its answer and a change as much as the keys of the entry that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")

Index = Callable[[V], Iterable[Hashable]]
"""Returns the keys of a value, the same for equal values."""


class Key(NamedTuple):
    """The name of an object. Shape: ``namespace`` is empty for kinds without one."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry(Generic[V]):
    """What is kept of one object, and which object in which version it is."""

    key: Key
    uid: str
    version: str
    value: V


class Table(Generic[V]):
    """Entries that are found without a search."""

    def __init__(self, indexes: Mapping[str, Index[V]]) -> None:
        self._indexes = dict(indexes)
        self._entries: dict[Key, Entry[V]] = {}
        self._by_uid: dict[str, Entry[V]] = {}
        self._indexed: dict[str, dict[Hashable, dict[Key, Entry[V]]]] = {name: {} for name in indexes}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry[V]]:
        return iter(self._entries.values())

    def get(self, key: Key) -> Entry[V] | None:
        """Return the entry of a name."""
        return self._entries.get(key)

    def by_uid(self, uid: str) -> Entry[V] | None:
        """Return the entry of a UID."""
        return self._by_uid.get(uid)

    def indexed(self, index: str, key: Hashable) -> Iterable[Entry[V]]:
        """Return the entries with a key in an index. Raises: KeyError for an unknown index."""
        return self._indexed[index].get(key, {}).values()

    def put(self, entry: Entry[V]) -> None:
        """Store an entry in the place of the one with its name."""
        keys = {name: tuple(index(entry.value)) for name, index in self._indexes.items()}
        self.drop(entry.key)
        self._entries[entry.key] = self._by_uid[entry.uid] = entry
        for name, found in keys.items():
            for key in found:
                self._indexed[name].setdefault(key, {})[entry.key] = entry

    def drop(self, key: Key) -> None:
        """Forget the entry of a name, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        if self._by_uid.get(entry.uid) is entry:
            del self._by_uid[entry.uid]
        for name, index in self._indexes.items():
            entries = self._indexed[name]
            for one in index(entry.value):
                found = entries.get(one, {})
                found.pop(key, None)
                if not found:
                    entries.pop(one, None)
