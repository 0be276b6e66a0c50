"""The pods that wait for devices, and which of them is tried next.

Pods that ask for the same in every respect are of one *shape*: where the first of them does not fit, the
others do not fit either, so only the first is tried. A pod that did not fit is tried again after ``wake``.
Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple


class Order(NamedTuple):
    """The order of pods: higher priority first, then the older one, then the UID."""

    behind: int
    created: str
    uid: str

    @classmethod
    def of(cls, priority: int, created: str, uid: str) -> Order:
        """Return the place of a pod."""
        return cls(-priority, created, uid)


@dataclass(frozen=True, slots=True)
class Entry:
    """A pod in the line. Shape: pods of equal ``shape`` fit or do not fit together."""

    order: Order
    shape: Hashable

    @property
    def uid(self) -> str:
        """Return the UID of the pod."""
        return self.order.uid


class WaitingLine:
    """Pods by shape. A shape is *ready* until its first pod was refused, and again after ``wake``."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._shapes: dict[Hashable, list[Order]] = {}
        self._ready: list[tuple[Order, int]] = []
        self._tickets: dict[int, Hashable] = {}
        self._ticket_of: dict[Hashable, int] = {}
        self._issued = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def holds(self, entry: Entry) -> bool:
        """Whether a pod is in the line with this place and shape."""
        return self._entries.get(entry.uid) == entry

    def put(self, entry: Entry) -> None:
        """Put a pod into the line, or give one that is in it another place or shape.

        Pods of its shape are tried again.
        """
        if self._entries.get(entry.uid) != entry:
            self._entries[entry.uid] = entry
            heappush(self._shapes.setdefault(entry.shape, []), entry.order)
        self._make_ready(entry.shape)

    def remove(self, uid: str) -> None:
        """Forget a pod, if it is known. The next pod of its shape is tried at its place."""
        entry = self._entries.pop(uid, None)
        if entry is not None and self._is_ready(entry.shape):
            self._make_ready(entry.shape)

    def next(self) -> Entry | None:
        """Return the first pod whose shape is ready, None where there is none. It stays in the line."""
        while self._ready:
            order, ticket = self._ready[0]
            shape = self._tickets.get(ticket)
            first = None if shape is None else self._first(shape)
            if first is not None and first.order == order:
                return first
            heappop(self._ready)
            if shape is not None:
                self._forget(shape)
                if first is not None:
                    self._make_ready(shape)
        return None

    def refused(self, entry: Entry) -> None:
        """Note that a pod does not fit. Its shape is not tried before ``wake`` or ``put``."""
        if self._entries.get(entry.uid) == entry:
            self._forget(entry.shape)

    def wake(self) -> None:
        """Try all shapes again: something changed that may help any of them."""
        for shape in list(self._shapes):
            self._make_ready(shape)

    def same_shape(self, entry: Entry) -> Iterator[Entry]:
        """Yield the pods of the same shape, that pod too, in no order."""
        orders = self._shapes.get(entry.shape, ())
        found = (self._entries.get(order.uid) for order in orders)
        yield from (one for one in found if one is not None and one.shape == entry.shape)

    def _is_ready(self, shape: Hashable) -> bool:
        return shape in self._ticket_of

    def _make_ready(self, shape: Hashable) -> None:
        first = self._first(shape)
        self._forget(shape)
        if first is None:
            return
        self._issued += 1
        self._tickets[self._issued] = shape
        self._ticket_of[shape] = self._issued
        heappush(self._ready, (first.order, self._issued))

    def _forget(self, shape: Hashable) -> None:
        ticket = self._ticket_of.pop(shape, None)
        if ticket is not None:
            del self._tickets[ticket]

    def _first(self, shape: Hashable) -> Entry | None:
        """Return the first pod of a shape; places that are no longer true are dropped."""
        orders = self._shapes.get(shape)
        while orders:
            entry = self._entries.get(orders[0].uid)
            if entry is not None and entry.order == orders[0] and entry.shape == shape:
                return entry
            heappop(orders)
        self._shapes.pop(shape, None)
        return None
