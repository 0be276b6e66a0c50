"""Demands: how many units of which type a pod wants, and how they are to stand together."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.table import PartitionSpec, PartitionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Units of one type.

    Shape: ``units`` all that match, usable or not; ``others`` those of the type that do not match; ``count``
           None for all of ``units``; ``may_grow`` where more may come, one per scope of the first type;
           ``deepest`` how close together they must be: 0 one device, 1 below one switch, 2 in one NUMA
           node, 3 anywhere.
    """

    kind: str
    units: tuple[NodeDevice, ...]
    count: int | None
    others: tuple[NodeDevice, ...] = ()
    may_grow: bool = False
    deepest: int = 3

    @property
    def usable(self) -> tuple[NodeDevice, ...]:
        """Return the units that could be had, the first choice first."""
        return tuple(sorted((one for one in self.units if one.takes), key=lambda one: one.order))


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """That the first type comes in partitions.

    Shape: ``table`` is None where the node has none; ``is_binding`` where nothing else will do.
    """

    table: PartitionTable | None
    spec: PartitionSpec
    is_binding: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDemand:
    """What is to be placed.

    Shape: ``first`` is chosen with a view to ``together``, which stand as close to it as they can;
           ``is_same_pcie`` where the PCIe scopes of all must be equal; ``apart`` come on their own.
    """

    first: Wanted | None
    together: tuple[Wanted, ...] = ()
    apart: tuple[Wanted, ...] = ()
    is_same_pcie: bool = False
    partitioned: Partitioned | None = None
