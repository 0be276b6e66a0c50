"""PURE: a table of kinds, and which row a device belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.inventory.published import PublishedDevice
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Kind, PreparableKind, Wanted

AnyKind = PreparableKind[Any, Any]


class KindTable:
    """Rows in the order in which the devices of one claim are set up; they are taken down in the reverse."""

    def __init__(self, *rows: Kind[Any]) -> None:
        self.rows: tuple[Kind[Any], ...] = rows
        self.preparable: tuple[AnyKind, ...] = tuple(row for row in rows if isinstance(row, PreparableKind))
        self._of_published: dict[type, Kind[Any]] = {row.published: row for row in reversed(rows)}
        self._of_claimed: dict[type, AnyKind] = {row.claimed: row for row in self.preparable}

    def of_published(self, published: PublishedDevice) -> Kind[Any]:
        """Return the row that watches a device which the agent publishes: the first one of its type."""
        return self._of_published[type(published)]

    def of_wanted(self, wanted: Wanted[PublishedDevice]) -> Kind[Any]:
        """Return the first row that takes a device which a claim was allocated."""
        return next(row for row in self.rows if row.takes(wanted))

    def of_claimed(self, device: Claimed) -> AnyKind:
        """Return the kind of a claim's device."""
        return self._of_claimed[type(device)]

    def by_kind(self, devices: Iterable[Claimed]) -> Iterator[tuple[AnyKind, Sequence[Claimed]]]:
        """Yield the kinds that some of the devices have, in order, each with all of its devices."""
        found: dict[type[Claimed], list[Claimed]] = {}
        for device in devices:
            found.setdefault(type(device), []).append(device)
        if len(found) == 1:  # most claims; this is asked several times in each call
            ((kind, mine),) = found.items()
            yield self._of_claimed[kind], mine
            return
        for row in self.preparable:
            if row.claimed in found:
                yield row, found[row.claimed]
