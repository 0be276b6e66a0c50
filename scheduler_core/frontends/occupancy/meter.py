"""The use and the fragmentation of all GPUs of a state, kept up to date as claims come and go.

It counts as ``view`` does, and reads a GPU anew only where its state changed since the last question. Equal
GPUs in equal states are counted once. A pool that is not in tables is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.occupancy.reading import Part, StructureFactsCache, label_masks, read_boards
from scheduler_core.frontends.occupancy.room import LIMIT, Masks, Rooms
from scheduler_core.frontends.occupancy.usage import PoolUsage
from scheduler_core.frontends.occupancy.values import GpuRoom
from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import CompiledPool, Component
from scheduler_core.tables.occupancy import OccupancyTables


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """The GPUs of a state together.

    Shape: ``in_use`` counts a partition as its part of the memory slices of its GPU, and a GPU that claims
           share as one.
    Units: GPUs.
    """

    gpus: int
    in_use: float
    room: GpuRoom


@dataclass(frozen=True, slots=True)
class _Shape:
    """What there is to know of the devices of one GPU in a component. Equal ones share their readings."""

    tables: OccupancyTables
    mask: int
    offered: tuple[tuple[int, int], ...]
    labels: Masks
    slices: tuple[tuple[int, ...], ...]


_Reading = tuple[float, int, int]
"""The part in use of a GPU, and its room."""


@dataclass(slots=True)
class GpuMeter:
    """Follows the GPUs of a state. Only one thread may use it and the state."""

    state: ClusterState
    _facts: StructureFactsCache = field(default_factory=StructureFactsCache)
    _rooms: Rooms = field(default_factory=Rooms)
    _shapes: dict[Component, tuple[_Shape, ...]] = field(default_factory=dict)
    _known: dict[_Shape, dict[int, _Reading]] = field(default_factory=dict)
    _readings: dict[Component, _Reading] = field(default_factory=dict)
    _moved: set[Component] = field(default_factory=set)
    _gpus: int = 0
    _in_use: float = 0.0
    _now: int = 0
    _best: int = 0

    def __post_init__(self) -> None:
        for pool in self.state.views.pools:
            if isinstance(pool, CompiledPool):
                self._enter(pool)
        self._moved.update(self._shapes)
        self.state.subscribe(self)

    def read(self) -> GpuUse:
        """Return what is in use now, and what fits."""
        for component in self._moved:
            before, after = self._readings.get(component, (0.0, 0, 0)), self._read(component)
            self._readings[component] = after
            self._in_use += after[0] - before[0]
            self._now += after[1] - before[1]
            self._best += after[2] - before[2]
        self._moved.clear()
        return GpuUse(gpus=self._gpus, in_use=self._in_use, room=GpuRoom(self._now, self._best))

    def component_entered(self, component: Component) -> None:
        """Do nothing: the pools of the state are those that it had at first."""

    def component_left(self, component: Component) -> None:
        """Do nothing: the pools of the state are those that it had at first."""

    def component_moved(self, component: Component, before: int) -> None:  # noqa: ARG002 - as others are told
        """Count a component anew at the next question."""
        if component in self._shapes:
            self._moved.add(component)

    def view_dropped(self, node_view: NodeView) -> None:
        """Do nothing."""

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """Do nothing."""

    def devices_given(self, nodes: Iterable[str]) -> None:
        """Do nothing."""

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """Do nothing."""

    def _enter(self, pool: CompiledPool) -> None:
        usage = PoolUsage(pool, is_usable=True)
        boards = read_boards(pool, self._facts).gpus.values()
        self._gpus += len(boards)
        found: dict[Component, list[_Shape]] = {}
        for board in boards:
            for part in board.parts:
                found.setdefault(part.component, []).append(self._shape(part, usage))
        self._shapes |= {component: tuple(shapes) for component, shapes in found.items()}

    def _shape(self, part: Part, usage: PoolUsage) -> _Shape:
        slices = self._facts.of(part.component).memory_slices
        labels = tuple(label_masks(part.component, part.mask).values())
        offered = usage.offered(part)
        sizes = {mask & offered: len(slices[next(positions(mask))]) for mask in labels if mask & offered}
        with_slices = tuple((mask, size) for mask, size in sizes.items() if size)
        return _Shape(part.component.template.tables, part.mask, with_slices, labels, slices)

    def _read(self, component: Component) -> _Reading:
        used, now, best = 0.0, 0, 0
        for shape in self._shapes[component]:
            known = self._known.setdefault(shape, {})
            reading = known.get(component.state)
            if reading is None:
                if len(known) >= LIMIT:
                    known.clear()
                reading = known[component.state] = self._counted(shape, component.state)
            used, now, best = used + reading[0], now + reading[1], best + reading[2]
        return used, now, best

    def _counted(self, shape: _Shape, state: int) -> _Reading:
        room = GpuRoom(0, 0)
        if shape.offered:
            room = self._rooms.room(shape.tables, dict(shape.offered), shape.labels, state)
        return _used(shape, state), room.now, room.best


def _used(shape: _Shape, state: int) -> float:
    """Return the part of a GPU that is in use."""
    for position in positions(state & ~shape.mask):
        if not shape.tables.free(1 << position) & shape.mask:
            return 1.0  # a partition of several GPUs leaves nothing of this one
    total = {one for position in positions(shape.mask) for one in shape.slices[position]}
    taken = {one for position in positions(state & shape.mask) for one in shape.slices[position]}
    if not total:
        return float(state & shape.mask != 0)
    return len(taken) / len(total)
