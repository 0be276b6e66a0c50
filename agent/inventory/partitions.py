"""Groups of GPUs joined by NVLink (partitions) as composite devices of two, four or eight whole GPUs.

Every GPU has shares under a name of its own. A partition draws all shares of each member; a MIG device draws
one share of its GPU. So counting alone keeps single GPUs, MIG devices and partitions apart. One name for all
GPUs would not work: a device draws a dimension from one source only.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

from agent.inventory.fabric.joining import partition_ids
from agent.inventory.gpus import share_name, shares_of
from agent.inventory.model import GpuEntry, Group, Inventory, LinkedGpus
from agent.inventory.modes import GpuModes
from agent.inventory.names import gpu_name, linked_name
from agent.inventory.published import GpuPartition, PublishedDevice
from agent.inventory.topology import override_attribute, switch_attributes, topology_attributes
from agent.inventory.withheld import Cause, Reason, Withheld
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.partitions.table import Partition, PartitionTable, table_of
from scheduler_core.model.composite import CompositeDevice
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.places import NUMA_NODE, PCIE_ROOT


class PartitionDescriber:
    """Describes the partitions of one node."""

    def __init__(self, driver: str, modes: GpuModes) -> None:
        self.driver = driver
        self.modes = modes
        self.groups: list[Group] = []
        self.by_name: dict[DeviceName, PublishedDevice] = {}
        self.withheld: list[Withheld] = []

    def describe(self, inventory: Inventory, linked: LinkedGpus) -> None:
        """Describe the table's partitions by size, the highest score first, since first-fit takes the first.

        A partition with a member that is missing or cannot be allocated whole is withheld, with the reason.
        """
        entries = {entry.gpu.number: entry for entry in inventory.gpus}
        ids = partition_ids(inventory.fabric.partitions, (entry.gpu for entry in inventory.gpus))
        devices = []
        for size, partitions in sorted(linked.table.by_size.items()):
            for one in sorted(partitions, key=lambda partition: -partition.score):
                name = linked_name(one.minors)
                missing = [
                    each for each in one.minors if each not in entries or not self._is_whole(entries[each])
                ]
                if missing:
                    self.withheld.append(Withheld(name, "gpu-partition", _missing(missing[0])))
                elif size > 1:
                    members = [entries[number] for number in one.minors]
                    devices.append(self._device(name, one, members, linked.table))
                    gpus = tuple(entry.gpu for entry in members)
                    self.by_name[name] = GpuPartition(gpus, ids.get(frozenset(gpu.uuid for gpu in gpus)))
        if devices:
            self.groups.append(Group(mixins=(), devices=tuple(devices)))

    def _is_whole(self, entry: GpuEntry) -> bool:
        return entry.offers_whole and self.modes.of(entry.gpu.number).whole

    def _device(
        self, name: DeviceName, partition: Partition, members: list[GpuEntry], table: PartitionTable
    ) -> CompositeDevice:
        gpus = [entry.gpu for entry in members]
        found: dict[str, AttributeValue | None] = {
            "type": "gpu-partition",
            "gpuCount": len(members),
            "gpuMinors": ",".join(map(str, sorted(gpu.minor for gpu in gpus))),
            "productName": _common(gpu.product_name for gpu in gpus),
            "architecture": _common(gpu.architecture for gpu in gpus),
            "cudaComputeCapability": _common(gpu.cuda_compute_capability for gpu in gpus),
            "gpuLinkType": partition.link,
            "ringBusBandwidth": partition.bandwidth.whole if partition.bandwidth is not None else None,
            "allocationScore": partition.score,
            "isScoreComputed": table.is_computed,
        }
        own = {qualified(key, self.driver): value for key, value in found.items() if value is not None}
        shares = {
            share_name(entry.gpu.number, self.driver): Quantity.of(
                shares_of(entry, self.modes.of(entry.gpu.number))
            )
            for entry in members
        }
        return CompositeDevice(
            name=name,
            attributes=own | self._place(members),
            capacity=shares,
            sources=tuple(gpu_name(number) for number in partition.minors),
        )

    def _place(self, members: list[GpuEntry]) -> dict[QualifiedName, AttributeValue]:
        """Return the topology scopes that all members share."""
        places = [topology_attributes(entry.function, self.driver) for entry in members]
        common = {scope: _common(place.get(scope) for place in places) for scope in (PCIE_ROOT, NUMA_NODE)}
        paths = [entry.function.path.switches if entry.function is not None else () for entry in members]
        switches = [
            each[0]
            for each in itertools.takewhile(lambda each: len(set(each)) == 1, zip(*paths, strict=False))
        ]
        stated = {name for entry in members if entry.function is not None for name in entry.function.stated}
        known = {scope: value for scope, value in common.items() if value is not None}
        shared = switch_attributes(switches, self.driver)
        return known | shared | dict(override_attribute(stated, self.driver))


def shipped_table(board: str) -> PartitionTable:
    """Return the table that the fabric manager of a board uses, such as ``hgx-h100``.

    The table names GPUs by number, in the order of PCI addresses on the hosts where it was read; a host with
    another order needs its own table.
    Raises: KeyError for an unknown board.
    """
    tables = {one.name.removesuffix(".json"): one for one in _shipped()}
    content = json.loads(tables[board].read_text(encoding="utf-8"))
    return table_of(f"table {board}", content["partitions"])


def shipped_boards() -> tuple[str, ...]:
    """Return the boards with a shipped table."""
    return tuple(sorted(one.name.removesuffix(".json") for one in _shipped()))


def _shipped() -> Iterator[Traversable]:
    folder = resources.files("agent.inventory") / "tables"
    return (one for one in folder.iterdir() if one.name.endswith(".json"))


def _missing(number: int) -> Reason:
    text = f"GPU {number} is missing, or cannot be allocated whole"
    return Reason(Cause.NO_WHOLE_GPU, text, "the operator repairs the GPU, or gives the node its own table")


def _common(values: Iterator[AttributeValue | None]) -> AttributeValue | None:
    """Return the common value, None if the values differ."""
    first, *rest = values
    return first if all(one == first for one in rest) else None
