"""Which parts of a node are interchangeable. The search tries only one of several interchangeable parts.

Components that share a value which a constraint compares form a *cluster*, for example a GPU and the NICs
below its switch. Two clusters are interchangeable where their components have the same tables, offer the same
positions to the same requests, and have values of their own at the same positions. A node's state is written
as the multiset of its clusters' states. So two states that differ by an exchange of such clusters are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from scheduler_core.engine.search.attribute_values import AttributeValues
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.tables.bits import mask_of

_LARGEST: Final = 8
"""How many components a cluster may have; an attribute that would join more joins none."""


class Symmetry:
    """The clusters of a search space.

    Shape: ``clusters`` has the components of each cluster; ``classes`` a number that interchangeable clusters
           share; ``shared`` per compared attribute the values in more than one cluster, as a mask.
    """

    def __init__(self, space: SearchSpace, compared: Sequence[AttributeValues], *, is_fixed: bool) -> None:
        """``is_fixed``: no two clusters are interchangeable, even if they are equal."""
        owners = [_owners(space, values) for values in compared]
        self.clusters = _clusters(space, owners)
        self._order = tuple(
            tuple(bit for bit, (number, _) in enumerate(space.devices) if number in cluster)
            for cluster in map(frozenset, self.clusters)
        )
        self._devices = tuple(map(mask_of, self._order))
        self._private = tuple(
            tuple(_private(mine, frozenset(cluster)) for cluster in self.clusters) for mine in owners
        )
        self.shared = tuple(
            (1 << len(values.holders)) - 1 & ~mask_of(value for mine in private for value in mine)
            for values, private in zip(compared, self._private, strict=True)
        )
        numbers: dict[Hashable, int] = {}
        self.classes = tuple(
            numbers.setdefault(cluster if is_fixed else self._look(space, compared, cluster), cluster)
            for cluster in range(len(self.clusters))
        )

    def local(self, cluster: int, devices: int) -> int:
        """Return some devices, numbered within a cluster, without those of other clusters."""
        if not devices & self._devices[cluster]:
            return 0
        return mask_of(place for place, bit in enumerate(self._order[cluster]) if devices >> bit & 1)

    def local_values(self, cluster: int, number: int, values: int) -> int:
        """Return some values of a compared attribute, numbered among the cluster's own values."""
        mine = self._private[number][cluster]
        return mask_of(place for place, value in enumerate(mine) if values >> value & 1)

    def _look(self, space: SearchSpace, compared: Sequence[AttributeValues], cluster: int) -> Hashable:
        """Return a key that is equal for interchangeable clusters."""
        order, first = self._order[cluster], self.clusters[cluster]
        places = {component: place for place, component in enumerate(first)}
        return (
            tuple(space.tables[component] for component in first),
            tuple((places[number], position) for number, position in map(space.devices.__getitem__, order)),
            tuple(space.totals(bit) for bit in order if space.shareable >> bit & 1),
            tuple(
                (
                    self.local(cluster, one.candidates),
                    self.local(cluster, one.chosen),
                    _shares(one.shares, order),
                )
                for options in space.requests
                for one in options
            ),
            tuple(
                tuple(self._seen(cluster, number, values.of.get(bit, 0)) for bit in order)
                for number, values in enumerate(compared)
            ),
        )

    def _seen(self, cluster: int, number: int, values: int) -> tuple[int, int]:
        return values & self.shared[number], self.local_values(cluster, number, values)


def _shares(shares: Mapping[int, tuple[int, ...]], order: Sequence[int]) -> Hashable:
    return tuple(shares.get(bit) for bit in order) if shares else ()


def _owners(space: SearchSpace, values: AttributeValues) -> list[frozenset[int]]:
    """Return, per value, the components that have devices with it."""
    return [
        frozenset(number for number, mask in enumerate(space.masks) if mask & holders)
        for holders in values.holders
    ]


def _clusters(space: SearchSpace, owners: Sequence[Sequence[frozenset[int]]]) -> tuple[tuple[int, ...], ...]:
    """Join the components that share values, attribute by attribute, as long as clusters stay small.

    Shape: components without devices are in no cluster.
    """
    joined = {number: frozenset((number,)) for number, mask in enumerate(space.masks) if mask}
    for values in sorted(owners, key=len, reverse=True):
        attempt = dict(joined)
        for components in values:
            union = frozenset[int]().union(*(attempt[one] for one in components))
            attempt.update(dict.fromkeys(union, union))
        if max(map(len, attempt.values()), default=0) <= _LARGEST:
            joined = attempt
    return tuple(tuple(sorted(cluster)) for cluster in sorted(set(joined.values()), key=min))


def _private(owners: Sequence[frozenset[int]], cluster: frozenset[int]) -> tuple[int, ...]:
    """Return the values that only devices of a cluster have."""
    return tuple(value for value, components in enumerate(owners) if components and components <= cluster)
