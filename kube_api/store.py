"""The objects of a kind as they are at the server: one copy, kept by a watch and by our own writes.

Takes watch events and answers to our writes; returns changes. They may come in any order: an event that is
older than what the store has does not turn it back, and an object that we deleted does not come back by a
late event. Nothing here asks a server. Safe between threads.

Source: KEP-5504 (versions of one kind can be compared); lists ask for the newest state
        (``kube_api.listing``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Event, RLock
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from kube_api.objects import Metadata, Object, Unreadable
from kube_api.table import Entry, Index, Key, Table
from kube_api.versions import is_older, newest
from kube_api.watch import Disconnected, Removed, Synced, Upserted, WatchEvent

V = TypeVar("V")
_NO_INDEXES: Final[Mapping[str, Index[object]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Change(Generic[V]):
    """What changed under one name.

    Shape: ``old`` is None for an object that is new, ``new`` for one that is gone, never both. An object that
           takes the name of another one is two changes: the old one is gone, then the new one is there.
    """

    key: Key
    old: V | None
    new: V | None


@dataclass(frozen=True, slots=True)
class Changed(Generic[V]):
    """A report of the server.

    Shape: ``changes`` is empty where the store knew it already; ``is_first`` says that this is the first
           complete list.
    """

    changes: tuple[Change[V], ...]
    is_first: bool = False


class Store(Generic[V]):
    """One copy of the objects of a kind, with indexes.

    Shape: ``keep`` returns what to keep of an object, such as its document or a decoded value, never None; an
           object counts as unchanged while that is equal. ``indexes`` are functions by name, from a kept
           value to its keys; a value may have none or several.
    """

    def __init__(self, keep: Callable[[Object], V], indexes: Mapping[str, Index[V]] = _NO_INDEXES) -> None:
        self._keep = keep
        self._lock = RLock()
        self._table: Table[V] = Table(indexes)
        self._unreadable: dict[Key, Unreadable] = {}
        self._listeners: list[Callable[[Change[V]], None]] = []
        self._synced = Event()
        self._seen = ""  # the newest version that the watch has reported
        # UIDs that we wrote or deleted since the last list, and UIDs that our writes showed to be gone while
        # the watch may still report their earlier states.
        self._ours: set[str] = set()
        self._gone: set[str] = set()

    def __len__(self) -> int:
        with self._lock:
            return len(self._table)

    @property
    def is_synced(self) -> bool:
        """Whether the store has been complete once."""
        return self._synced.is_set()

    def wait_until_synced(self, timeout_s: float) -> bool:
        """Wait until the store is complete and return whether it is."""
        return self._synced.wait(timeout_s)

    def get(self, name: str, namespace: str = "") -> V | None:
        """Return what is kept of an object, None where there is none."""
        with self._lock:
            return _value(self._table.get(Key(namespace, name)))

    def by_uid(self, uid: str) -> V | None:
        """Return what is kept of the object with a UID, None where there is none."""
        with self._lock:
            return _value(self._table.by_uid(uid))

    def values(self) -> tuple[V, ...]:
        """Return what is kept of all objects, in no order."""
        with self._lock:
            return tuple(one.value for one in self._table)

    def indexed(self, index: str, key: Hashable) -> tuple[V, ...]:
        """Return what is kept of the objects with a key in an index. Raises: KeyError, unknown index."""
        with self._lock:
            return tuple(one.value for one in self._table.indexed(index, key))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return the objects that exist and cannot be read now.

        Where one could be read before, the store still has its last readable state.
        """
        with self._lock:
            return tuple(self._unreadable.values())

    def subscribe(self, hear: Callable[[Change[V]], None]) -> None:
        """Call ``hear`` with all that is stored, each as new, and from now on with every change.

        Shape: changes come one at a time, in the order in which they happened to the store, which is locked
               meanwhile: ``hear`` must be quick, and must not feed this store.
        """
        with self._lock:
            for one in self._table:
                hear(Change(one.key, None, one.value))
            self._listeners.append(hear)

    def entry(self, found: Object) -> Entry[V]:
        """Return the entry of an object, for ``take``."""
        metadata = found.metadata
        return Entry(_key(metadata), metadata.uid, metadata.resource_version, self._keep(found))

    def take(self, event: WatchEvent[Entry[V]]) -> Changed[V]:
        """Take in an event of the watch and return what it changed."""
        with self._lock:
            match event:
                case Synced():
                    is_first = not self.is_synced
                    changes = self._replace(event)
                    self._synced.set()
                    return Changed(tuple(changes), is_first)
                case Upserted(object=entry):
                    changes = self._upserted(entry)
                case Removed(object=entry):
                    changes = self._removed(entry.key, entry.uid, entry.version)
                case Unreadable(metadata=metadata, is_gone=True):
                    changes = self._removed(_key(metadata), metadata.uid, metadata.resource_version)
                case Unreadable(metadata=metadata):
                    self._seen = newest(metadata.resource_version, self._seen)
                    self._unreadable[_key(metadata)] = event
                    changes = []
                case Disconnected():
                    changes = []
            return Changed(tuple(changes))

    def take_list(self, listed: Synced[Entry[V]]) -> tuple[Change[V], ...]:
        """Take in a list that somebody else than the watch has read, and return what it changed.

        The watch goes on meanwhile: what it reported after the list was read is not turned back.
        """
        with self._lock:
            if self._is_told(listed.resource_version):
                return ()
            unreadable = {_key(one.metadata) for one in listed.unreadable}
            present = {one.key for one in listed.items} | unreadable
            absent = [known for known in self._table if known.key not in present]
            gone = [one for one in absent if not is_older(listed.resource_version, one.version)]
            changes = [change for known in gone for change in self._drop(known)]
            return (*changes, *(change for entry in listed.items for change in self._put_newer(entry)))

    def wrote(self, stored: Object) -> tuple[Change[V], ...]:
        """Take in the answer to a write of ours and return what it changed."""
        entry = self.entry(stored)
        with self._lock:
            if self._is_told(entry.version):
                return ()  # the store has this write already, or what came after it
            known = self._table.get(entry.key)
            changes = self._put_newer(entry)
            if changes and known is not None and known.uid != entry.uid:
                self._note_gone(known.uid)
            self._ours.add(entry.uid)
            return tuple(changes)

    def deleted(self, uid: str) -> tuple[Change[V], ...]:
        """Take in that we deleted an object, which is gone, and return what it changed."""
        with self._lock:
            entry = self._table.by_uid(uid)
            if entry is None:
                return ()
            self._note_gone(uid)
            return tuple(self._drop(entry))

    def _is_told(self, version: str) -> bool:
        """Whether the watch has reported everything up to a version."""
        return bool(version) and (version == self._seen or is_older(version, self._seen))

    def _note_gone(self, uid: str) -> None:
        self._ours.add(uid)
        self._gone.add(uid)

    def _upserted(self, entry: Entry[V]) -> list[Change[V]]:
        self._seen = newest(entry.version, self._seen)
        return self._put_newer(entry)

    def _removed(self, key: Key, uid: str, version: str) -> list[Change[V]]:
        self._seen = newest(version, self._seen)
        self._gone.discard(uid)
        if (one := self._unreadable.get(key)) and one.metadata.uid in ("", uid):
            del self._unreadable[key]
        known = self._table.get(key)
        return self._drop(known) if known is not None and known.uid == uid else []

    def _replace(self, listed: Synced[Entry[V]]) -> list[Change[V]]:
        """Take over what a list says, except where we wrote or deleted while the list was on its way.

        The next list begins later and has seen those writes, so each of them outweighs one list only.
        """
        ours = self._ours if not is_older(listed.resource_version, self._seen) else set()  # else: a backup
        self._gone &= ours
        found = {one.key: one for one in listed.items if one.uid not in self._gone}
        for known in self._table:
            if known.uid in ours and is_older(listed.resource_version, known.version):
                found[known.key] = known
        self._unreadable = {_key(one.metadata): one for one in listed.unreadable if one.metadata.name}
        for key, one in self._unreadable.items():
            if (last := self._table.get(key)) and one.metadata.uid in ("", last.uid):
                found.setdefault(key, last)
        self._ours, self._seen = set(), listed.resource_version
        gone = [known for known in self._table if known.key not in found]
        changes = [change for known in gone for change in self._drop(known)]
        return changes + [change for entry in found.values() for change in self._put(entry)]

    def _put_newer(self, entry: Entry[V]) -> list[Change[V]]:
        known = self._table.get(entry.key)
        is_late = known is not None and is_older(entry.version, known.version)
        if is_late or entry.uid in self._gone:
            return []
        self._unreadable.pop(entry.key, None)
        return self._put(entry)

    def _put(self, entry: Entry[V]) -> list[Change[V]]:
        known = self._table.get(entry.key)
        if known is not None and (known.uid, known.version) == (entry.uid, entry.version):
            return []
        changes = self._drop(known) if known is not None and known.uid != entry.uid else []
        old = _value(self._table.get(entry.key))
        self._table.put(entry)
        if old is not None and old == entry.value:
            return changes
        return [*changes, *self._tell(Change(entry.key, old, entry.value))]

    def _drop(self, known: Entry[V]) -> list[Change[V]]:
        self._table.drop(known.key)
        return self._tell(Change(known.key, known.value, None))

    def _tell(self, change: Change[V]) -> list[Change[V]]:
        for hear in self._listeners:
            hear(change)
        return [change]


def _key(metadata: Metadata) -> Key:
    return Key(metadata.namespace, metadata.name)


def _value(entry: Entry[V] | None) -> V | None:
    return None if entry is None else entry.value
