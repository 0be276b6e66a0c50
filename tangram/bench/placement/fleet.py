"""Fleets of equal nodes on which the claims of a trace are allocated by an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random
from statistics import mean
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import Policy
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import Device, QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from scheduler_core.planning.simulation import Arrival, Simulation
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.cluster import classes, features, memory_slices
from tangram.bench.copied import renamed
from tangram.bench.machine import DRIVER
from tangram.bench.placement.mixes import Mix
from tangram.undecided import decided_or_none

Order = Callable[[Sequence[Node]], Sequence[Node]]
_WARM: Final = 5  # one part of so many fills the nodes, and is not counted
_SLICE: Final = 5 << 30  # bytes of a memory slice, where claims share a GPU
_SAMPLE: Final = 25  # arrivals between two counts of nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the claims of a trace, or of several.

    Shape: ``preferred`` claims that got their first alternatives.
    Units: ``refused_slices`` memory slices; ``utilisation`` and ``whole_nodes`` shares, in the mean.
    """

    asked: int
    refused: int
    refused_slices: int
    preferred: int
    utilisation: float
    whole_nodes: float

    @classmethod
    def added(cls, several: Sequence[Outcome]) -> Outcome:
        """Return what became of several traces together."""
        return cls(
            asked=sum(one.asked for one in several),
            refused=sum(one.refused for one in several),
            refused_slices=sum(one.refused_slices for one in several),
            preferred=sum(one.preferred for one in several),
            utilisation=mean(one.utilisation for one in several),
            whole_nodes=mean(one.whole_nodes for one in several),
        )


@dataclass(frozen=True)
class Fleet:
    """Equal nodes.

    Shape: one pool for each node; ``slices`` are the memory slices of all nodes, ``gpus`` their GPUs.
    """

    pools: tuple[Pool, ...]
    gpus: int
    slices: int

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes by name."""
        return tuple(Node(pool.id.name) for pool in self.pools)


def fleet(pool: Pool, nodes: int, *, is_shared: bool) -> Fleet:
    """Return nodes with the devices of a pool; with ``is_shared`` half of their GPUs serve many claims."""
    usable = _half_shared(pool) if is_shared else pool
    pools = tuple(renamed(usable, f"node-{number:03d}", number) for number in range(nodes))
    gpus = [device for device in pool.devices if _is_gpu(device)]
    return Fleet(pools, nodes * len(gpus), nodes * sum(map(memory_slices, gpus)))


def shuffled(seed: int) -> Order:
    """Return what puts nodes into another order at each call."""
    chance = Random(seed)
    return lambda nodes: chance.sample(nodes, len(nodes))


class Run:
    """An engine that allocates the claims of a trace one after another; it holds them and counts.

    Shape: ``order`` None asks for any node, else for the nodes in that order; ``alternatives_apart`` asks for
           the preferred alternatives on all nodes before it asks for the others.
    """

    def __init__(
        self, mix: Mix, fleet: Fleet, policy: Policy, order: Order | None = None, *, alternatives_apart: bool
    ) -> None:
        self._fleet = fleet
        self._order = order
        self._kinds = mix.kinds
        self._is_apart = alternatives_apart
        self._engine = Engine(ClusterState(classes(), features()), policy)
        for pool in fleet.pools:
            self._engine.state.set_pool(pool)
        self._sizes = {device.name: memory_slices(device) for device in fleet.pools[0].devices}
        self._capacity = fleet.slices
        self._arrivals: Sequence[Arrival] = ()
        self._warm = self._refused = self._refused_slices = 0
        self._held: dict[int, tuple[str, int]] = {}
        self._on_node: Counter[str] = Counter()
        self._used = self._preferred = 0
        self._area = self._since = self._now = 0.0
        self._whole: list[float] = []

    def outcome(self, trace: Sequence[Arrival]) -> Outcome:
        """Return what becomes of a trace, in which nothing waits."""
        self._arrivals, self._warm = trace, len(trace) // _WARM
        Simulation(trace, self, self, patience=0).run()
        return Outcome(
            asked=len(trace) - self._warm,
            refused=self._refused,
            refused_slices=self._refused_slices,
            preferred=self._preferred,
            utilisation=self._area / max(self._now - self._since, 1e-9) / self._capacity,
            whole_nodes=sum(self._whole) / max(len(self._whole), 1),
        )

    def passes(self, until: float) -> None:
        """Count what was in use for a while."""
        self._area += self._used * (until - self._now)
        self._now = until

    def arrives(self, number: int) -> None:
        """Begin to count with the first arrival that finds the nodes filled."""
        if number == self._warm:
            self._area, self._since, self._preferred = 0.0, self._now, 0

    def place(self, number: int, arrival: Arrival) -> Allocation | None:
        """Allocate a claim."""
        kind = self._kinds[arrival.ask]
        nodes = None if self._order is None else self._order(self._fleet.nodes)
        for asked, claim in enumerate(kind.apart if self._is_apart else (kind.claim,)):
            found = decided_or_none(self._engine.decide_somewhere([claim], nodes))
            if found is not None:
                self._hold(number, arrival, found, is_preferred=asked == 0)
                return found
        return None

    def placed(self, number: int, allocation: Allocation, waited: float) -> None:  # noqa: ARG002
        """Count unused nodes: the claim was counted when it was held."""
        self._count_nodes(number)

    def refuses(self, number: int) -> None:
        """Count a claim that fits nowhere."""
        if number >= self._warm:
            self._refused += 1
            self._refused_slices += self._kinds[self._arrivals[number].ask].slices
        self._count_nodes(number)

    def leave(self, number: int) -> None:
        """Release a claim."""
        self._engine.state.release(_ref(number))
        node, size = self._held.pop(number)
        self._on_node[node] -= 1
        self._used -= size

    def left(self, number: int) -> None:
        """Do nothing more: it is counted when it is released."""

    def _count_nodes(self, number: int) -> None:
        """Count the unused nodes after an arrival, now and then."""
        if number >= self._warm and number % _SAMPLE == 0:
            free = sum(self._on_node[node.name] == 0 for node in self._fleet.nodes)
            self._whole.append(free / len(self._fleet.nodes))

    def _hold(self, number: int, arrival: Arrival, found: Allocation, *, is_preferred: bool) -> None:
        (given,) = found.results.values()
        first = {request.alternatives[0].name for request in self._kinds[arrival.ask].claim.requests}
        results = tuple(_shared(result, number) for result in given)
        self._engine.state.hold(AllocatedClaim(ref=_ref(number), results=results))
        size = sum(map(self._size, results))
        self._preferred += is_preferred and all(result.request in first for result in results)
        self._used += size
        self._held[number] = (found.node, size)
        self._on_node[found.node] += 1

    def _size(self, result: AllocatedDevice) -> int:
        if result.consumed:
            return result.consumed["memory"].whole // _SLICE
        return self._sizes[result.device.device]


def _ref(number: int) -> ClaimRef:
    return ClaimRef("trace", str(number))


def _shared(result: AllocatedDevice, number: int) -> AllocatedDevice:
    """Return an allocated device; one that several claims share gets the claim's own share ID."""
    return replace(result, share_id=str(number)) if result.consumed else result


_MEMORY: Final = QualifiedName(f"{DRIVER}/memory")
_TYPE: Final = QualifiedName(f"{DRIVER}/type")
_SHARED: Final = QualifiedName(f"{DRIVER}/shared")


def _is_gpu(device: Device) -> bool:
    return device.attributes.get(_TYPE) == "gpu"


def _half_shared(pool: Pool) -> Pool:
    """Return the pool with every second GPU shared by its memory, and without partitions of these."""
    gpus = [device.name for device in pool.devices if _is_gpu(device)]
    shared = gpus[1::2]
    kept = [one for one in pool.devices if not any(one.name.startswith(f"{gpu}-") for gpu in shared)]
    return replace(pool, devices=tuple(_marked(one, is_shared=one.name in shared) for one in kept))


def _marked(device: Device, *, is_shared: bool) -> Device:
    attributes = {**device.attributes, _SHARED: is_shared}
    if not is_shared:
        return replace(device, attributes=attributes)
    return replace(
        device,
        attributes=attributes,
        capacity={_MEMORY: Quantity.of(8 * _SLICE)},
        is_shareable=True,
        draws=(),
        parents=(),
    )
