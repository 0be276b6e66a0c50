"""How many parts of each kind still fit in a cluster, after one answer or after another.

Takes pools and the devices in use. Returns the number of parts that still fit, with its price by policy
``best-fit``. Pools that the tables do not cover are not counted and cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.part_counts import PartKey
from scheduler_core.engine.policy.part_kinds import PartKinds
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.pool import Pool
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component
from scheduler_core.tables.pool_compiler import PoolCompiler, is_whole

States = Mapping[Component, int]
"""The states of the components that claims have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDifference:
    """How many parts of one kind still fit with an answer, and with another one.

    Shape: ``like`` is the first device of the kind; other kinds are ignored while one is counted.
    Units: devices.
    """

    like: DeviceId
    with_answer: int
    with_other: int


class RemainingParts:
    """The parts that fit in a cluster without the claims in question."""

    def __init__(self, cluster: Cluster) -> None:
        compiler = PoolCompiler(cluster.features)
        pools = (pool.with_features(cluster.features) for pool in cluster.pools)
        regular = (pool for pool in pools if is_whole(pool) and _is_counted(pool))
        self._pools = {(pool.id.driver, pool.id.name): compiler.compile(pool) for pool in regular}
        self._part_kinds_of = PartKinds((), SelectorCache(), Effort())
        self._likes: dict[PartKey, DeviceId] = {}
        self._weights: dict[PartKey, float] = {}
        self._totals: Counter[PartKey] = Counter()
        self._hold(cluster)
        for pool in self._pools.values():
            for component in pool.components:
                self._enter(component)

    def after(self, devices: Iterable[DeviceId]) -> States:
        """Return the states with some more devices taken."""
        states: dict[Component, int] = {}
        for device in devices:
            place = self._place(device)
            if place is not None:
                component, position = place
                states[component] = states.get(component, component.state) | 1 << position
        return states

    def price(self, states: States) -> float:
        """Return the price of these states. Units: those of ``best-fit``, 0 without a change."""
        lost = self._lost(states)
        return sum(
            self._weights[key] * log((self._totals[key] + 1) / (self._totals[key] + 1 - count))
            for key, count in lost.items()
        )

    def differences(self, answer: States, other: States) -> tuple[PartDifference, ...]:
        """Return the kinds of which another number fits. Shape: the largest difference in price first."""
        lost, lost_by_other = self._lost(answer), self._lost(other)
        found = []
        for key, total in self._totals.items():
            with_answer, with_other = total - lost[key], total - lost_by_other[key]
            if with_answer != with_other:
                price = self._weights[key] * log((with_answer + 1) / (with_other + 1))
                like = self._likes[key]
                one = PartDifference(like=like, with_answer=with_answer, with_other=with_other)
                found.append((-abs(price), one))
        return tuple(one for _, one in sorted(found, key=lambda entry: entry[0]))

    def _hold(self, cluster: Cluster) -> None:
        for claim in cluster.allocated:
            for result in claim.results:
                place = None if result.admin_access else self._place(result.device)
                if place is not None:
                    place[0].state |= 1 << place[1]

    def _enter(self, component: Component) -> None:
        for part_kind, count in self._fit(component, component.state):
            mask = next(
                one.mask
                for one in self._part_kinds_of.part_counts(component).part_kinds
                if one.key == part_kind
            )
            name = component.layout.names[next(positions(mask))]
            pool = component.pool
            self._likes.setdefault(part_kind, DeviceId(pool.driver, pool.name, name))
            self._totals[part_kind] += count

    def _lost(self, states: States) -> Counter[PartKey]:
        lost: Counter[PartKey] = Counter()
        for component, state in states.items():
            lost.update(dict(self._fit(component, component.state)))
            lost.subtract(dict(self._fit(component, state)))
        return lost

    def _fit(self, component: Component, state: int) -> list[tuple[PartKey, int]]:
        part_counts = self._part_kinds_of.part_counts(component)
        for part_kind in part_counts.part_kinds:
            self._weights.setdefault(part_kind.key, part_kind.weight)
        return [
            (part_kind.key, count)
            for part_kind, count in zip(part_counts.part_kinds, part_counts.fit(state), strict=True)
        ]

    def _place(self, device: DeviceId) -> tuple[Component, int] | None:
        pool = self._pools.get((device.driver, device.pool))
        return None if pool is None else pool.find(device.device)


def _is_counted(pool: Pool) -> bool:
    """Whether the tables alone say what is left: no device is shareable or has an expression."""
    return not any(device.is_shareable or device.only_with is not None for device in pool.devices)
