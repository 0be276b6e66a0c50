"""The occupancy of a cluster state: what is there, what is free, and who holds the rest.

Reads the pools and claims of a ``ClusterState``. What a pool says is kept until the state reports a change of
this pool, so that asking again after one claim reads one pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler_core.base.errors import CannotProject
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.frontends.occupancy.gpus import GpuReader
from scheduler_core.frontends.occupancy.nics import nic_of, others_of
from scheduler_core.frontends.occupancy.reading import Board, Part, StructureFactsCache, read_boards
from scheduler_core.frontends.occupancy.room import Rooms, total
from scheduler_core.frontends.occupancy.totals import added, holders_of, namespace_totals
from scheduler_core.frontends.occupancy.usage import usage_of
from scheduler_core.frontends.occupancy.values import ClusterOccupancy, Gpu, Nic, NodeOccupancy, OtherDevices
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import OnNode, SliceSelection
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_views import Kept, PoolKey, restored
from scheduler_core.tables.component import CompiledPool
from scheduler_core.tables.pool_compiler import PoolCompiler

_Rows = Mapping[str, NodeOccupancy]
"""What one pool has, by node; the empty name for what belongs to no single node."""


class OccupancyView:
    """Answers what a cluster state has and who holds it. Only one thread may use it and the state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._compiler = PoolCompiler(state.features)
        self._facts = StructureFactsCache()
        self._rooms = Rooms()
        self._rows: dict[PoolKey, _Rows] = {}
        self._changed: set[PoolKey] = set()
        state.follow_pools(self)

    def pool_changed(self, pool: PoolKey) -> None:
        """Read a pool anew at the next question."""
        self._changed.add(pool)

    def pool_held(self, pool: PoolKey) -> None:
        """Read a pool anew at the next question."""
        self._changed.add(pool)

    def node_changed(self, name: str) -> None:
        """Do nothing: labels of nodes are not shown."""

    def cluster(self, pods: Mapping[ClaimRef, tuple[str, ...]] | None = None) -> ClusterOccupancy:
        """Return the occupancy of the whole cluster. Shape: ``pods`` by the claims reserved for them."""
        self._refresh()
        rows: dict[str, list[NodeOccupancy]] = {}
        for key in sorted(self._rows):
            for name, one in self._rows[key].items():
                rows.setdefault(name, []).append(one)
        names = sorted(rows, key=lambda name: (not name, name))
        nodes = tuple(_joined(name, rows[name]) for name in names)
        claims = self._state.assignments.concerning(self._held_pools())
        holders = holders_of(claims, pods or {})
        return ClusterOccupancy(
            nodes=nodes,
            holders=holders,
            namespaces=namespace_totals(nodes, holders),
            free=added(one for node in nodes for one in node.free),
            room=total([node.room for node in nodes if node.room is not None]),
        )

    def _held_pools(self) -> list[PoolKey]:
        return [(pool.id.driver, pool.id.name) for pool in self._state.views.pools]

    def _refresh(self) -> None:
        for key in self._changed:
            pool = self._state.views.get(key)
            if pool is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = self._read(pool, key)
        self._changed.clear()

    def _read(self, pool: Kept, key: PoolKey) -> _Rows:
        published = pool if isinstance(pool, Pool) else None
        compiled, is_usable, unknown = self._compiled(pool)
        problems = (*_problems(pool), *unknown)
        if compiled is None:
            name = _owner(published.seen_from if published else ())
            return {name: NodeOccupancy(name=name, problems=problems)}
        usage = usage_of(compiled, self._state.assignments.concerning([key]), is_usable=is_usable)
        boards = read_boards(compiled, self._facts)
        gpus: dict[str, list[Gpu]] = {}
        nics: dict[str, list[Nic]] = {}
        others: dict[str, list[Part]] = {}
        for board in boards.gpus.values():
            gpu = GpuReader(board, usage, self._facts, self._rooms).read()
            gpus.setdefault(_node_of(board), []).append(gpu)
        for board in boards.nics.values():
            nics.setdefault(_node_of(board), []).append(nic_of(board, usage))
        for part in boards.others:
            others.setdefault(_node_of(Board("", [part])), []).append(part)
        names = {**gpus, **nics, **others} or {_owner(compiled.seen_from): None}
        return {
            name: _row(
                name,
                tuple(gpus.get(name, ())),
                tuple(nics.get(name, ())),
                tuple(others_of(others.get(name, ()), usage)),
                problems if index == 0 else (),
            )
            for index, name in enumerate(names)
        }

    def _compiled(self, pool: Kept) -> tuple[CompiledPool | None, bool, tuple[str, ...]]:
        """Return the pool in tables that say what fits.

        Shape: with it whether anything of it can be allocated, and why what is free is not known.
        """
        if isinstance(pool, CompiledPool):
            if not any(one.template.structure_class.judges for one in pool.components):
                return pool, True, ()
            try:
                return self._compiler.compile(with_groups(restored(pool))), True, ()
            except CannotProject as error:
                return pool, False, (f"what is free of pool {pool.id} is not known: {error}",)
        if pool.problem is not None:
            return None, False, ()
        whole = replace(pool, is_complete=True, older=None)
        return self._compiler.compile_if_regular(whole), False, ()


def _problems(pool: Kept) -> tuple[str, ...]:
    found = [f"{name} of pool {pool.id} is left out: {one.reason}" for name, one in pool.rejected.items()]
    if isinstance(pool, Pool):
        if pool.problem is not None:
            found.append(f"pool {pool.id} cannot be used: {pool.problem}")
        elif not pool.is_complete:
            found.append(
                f"pool {pool.id} cannot be used: slices of its generation {pool.generation} are missing"
            )
        elif pool.older is not None:
            found.append(f"pool {pool.id} is changing: older slices of it still count on some nodes")
    return tuple(found)


def _node_of(board: Board) -> str:
    """Return the node of the devices, empty where they are not all of one node by name."""
    names: set[str] = set()
    for part in board.parts:
        nodes = part.component.nodes
        found = nodes if isinstance(nodes, tuple) else (nodes,)
        names |= {one.name for one in found if isinstance(one, OnNode)}
        if any(not isinstance(one, OnNode) for one in found) and not names:
            return ""
    return names.pop() if len(names) == 1 else ""


def _owner(seen_from: tuple[SliceSelection, ...]) -> str:
    names = {one.name for one in seen_from if isinstance(one, OnNode)}
    return names.pop() if len(names) == 1 else ""


def _row(
    name: str,
    gpus: tuple[Gpu, ...],
    nics: tuple[Nic, ...],
    others: tuple[OtherDevices, ...],
    problems: tuple[str, ...],
) -> NodeOccupancy:
    return NodeOccupancy(
        name=name,
        gpus=gpus,
        nics=nics,
        others=others,
        problems=problems,
        free=added(one for gpu in gpus for one in gpu.free),
        room=total([gpu.room for gpu in gpus if gpu.room is not None]),
    )


def _joined(name: str, rows: list[NodeOccupancy]) -> NodeOccupancy:
    if len(rows) == 1:
        return rows[0]
    return _row(
        name,
        tuple(gpu for row in rows for gpu in row.gpus),
        tuple(nic for row in rows for nic in row.nics),
        tuple(other for row in rows for other in row.others),
        tuple(problem for row in rows for problem in row.problems),
    )
