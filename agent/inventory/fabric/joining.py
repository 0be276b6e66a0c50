"""PURE: which GPUs and groups of GPUs the fabric manager lets be used, and why others are not offered.

Takes an inventory; returns the part of it that can be prepared. In Shared NVSwitch mode a GPU reaches its
links, and a CUDA program starts, only while a partition with the GPU is active. So exactly the fabric
manager's partitions are offered, each GPU alone where it has a partition of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from agent.hardware.errors import HardwareError
from agent.hardware.fabric.types import FabricGpu, FabricMode, FabricPartition
from agent.hardware.types import Gpu, GpuUuid
from agent.inventory.model import Fabric, GpuEntry, Inventory, LinkedGpus
from agent.inventory.names import gpu_name, linked_name
from agent.inventory.shared_gpus import SHARING_MODES
from agent.inventory.withheld import Cause, Reason, Withheld
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.partitions.table import Partition, PartitionTable, with_scores

_LINK: Final = "NVLink"
_ELSEWHERE: Final = "the user asks for another device: the fabric manager decides which sets exist"
_NOT_ALONE: Final = Reason(
    Cause.NO_FABRIC_PARTITION, "the fabric manager has no partition of this GPU alone", _ELSEWHERE
)
_NOT_JOINED: Final = Reason(
    Cause.NO_FABRIC_PARTITION, "the fabric manager has no partition of exactly these GPUs", _ELSEWHERE
)
_NO_SHARES: Final = Reason(
    Cause.NO_FABRIC_PARTITION,
    "a GPU whose links are joined on request is not offered in shares",
    "the operator leaves shared and mps out of its --gpu-modes",
)
_VGPU: Final = Reason(
    Cause.FABRIC_MANAGER,
    "the fabric manager joins virtual functions of GPUs (FABRIC_MODE=2), which are not prepared",
    "the operator runs it with FABRIC_MODE=1",
)


def fabric_in(mode: FabricMode, partitions: tuple[FabricPartition, ...] = ()) -> Fabric:
    """Return how GPUs are joined in a mode."""
    return Fabric(mode, partitions, _VGPU if mode is FabricMode.VGPU else None)


def fabric_without_answer(mode: FabricMode, error: HardwareError) -> Fabric:
    """Return how GPUs are joined where the fabric manager does not say it: not at all."""
    text = f"{error.attempted} on {error.subject} failed: {error.reason}"
    remedy = error.remedy or "the operator looks at the fabric manager"
    return Fabric(mode, problem=Reason(Cause.FABRIC_MANAGER, text, remedy), is_unread=True)


def as_fabric_allows(inventory: Inventory) -> Inventory:
    """Return what of the inventory can be prepared; ``withheld`` has what was taken from it.

    Shape: MIG partitions stay, since they use no links. The table is the fabric manager's; where the options
           give one, what both have, with the scores of the given one and the bandwidths that it states. It
           is honored.
    """
    fabric = inventory.fabric
    if not fabric.is_in_the_way:
        return inventory
    if fabric.problem is not None:
        return _without_all(inventory, fabric.problem)
    ids = partition_ids(fabric.partitions, (entry.gpu for entry in inventory.gpus))
    numbers = {entry.gpu.uuid: entry.gpu.number for entry in inventory.gpus}
    bandwidths = {one.id: one.bandwidth for one in fabric.partitions}
    possible = {
        tuple(sorted(numbers[uuid] for uuid in members)): bandwidths[id_] for members, id_ in ids.items()
    }
    entries = tuple(replace(one, partition=ids.get(frozenset({one.gpu.uuid}))) for one in inventory.gpus)
    withheld = (*_not_alone(entries), *_not_joined(inventory.linked, possible), *_no_shares(inventory))
    return replace(
        inventory,
        gpus=entries,
        linked=LinkedGpus(_table(inventory.linked, possible), is_honored=True),
        modes=inventory.modes.unshared,
        withheld=(*inventory.withheld, *withheld),
    )


def partition_ids(
    partitions: Iterable[FabricPartition], gpus: Iterable[Gpu]
) -> Mapping[frozenset[GpuUuid], int]:
    """Return the fabric manager's id of every group whose GPUs are all known.

    A GPU is found by its UUID or address. By its module only where the fabric manager tells neither of any
    GPU: the two numbers need not be equal then. Source: Fabric Manager User Guide, "Data Structures".
    """
    listed, known = tuple(partitions), tuple(gpus)
    has_identities = any(gpu.uuid or gpu.bdf for one in listed for gpu in one.gpus)
    names = _by_identity(known) if has_identities else _by_module(known)
    found = {one.id: [_found(names, gpu) for gpu in one.gpus] for one in listed}
    return {
        frozenset(uuid for uuid in members if uuid): id_
        for id_, members in found.items()
        if members and all(members)
    }


def _by_identity(gpus: Iterable[Gpu]) -> Mapping[object, GpuUuid]:
    return {name: gpu.uuid for gpu in gpus for name in (gpu.uuid, gpu.bdf)}


def _by_module(gpus: Iterable[Gpu]) -> Mapping[object, GpuUuid]:
    known = tuple(gpu for gpu in gpus if gpu.module_id is not None)
    counts = Counter(gpu.module_id for gpu in known)
    return {gpu.module_id: gpu.uuid for gpu in known if counts[gpu.module_id] == 1}


def _found(names: Mapping[object, GpuUuid], gpu: FabricGpu) -> GpuUuid | None:
    if gpu.uuid or gpu.bdf:
        return names.get(gpu.uuid) if gpu.uuid else names.get(gpu.bdf)
    return names.get(gpu.physical_id)


def _without_all(inventory: Inventory, problem: Reason) -> Inventory:
    """Return the inventory without whole GPUs. Groups are unknown, except those of a given table."""
    alone = (gpu_name(entry.gpu.number) for entry in inventory.gpus if entry.offers_whole)
    joined = (linked_name(one.minors) for one in _groups(inventory.linked))
    return replace(
        inventory,
        gpus=tuple(replace(entry, offers_whole=False) for entry in inventory.gpus),
        linked=LinkedGpus(PartitionTable({}), is_honored=True),
        modes=inventory.modes.unshared,
        withheld=(
            *inventory.withheld,
            *(Withheld(name, "gpu", problem) for name in alone),
            *(Withheld(name, "gpu-partition", problem) for name in joined),
            *_no_shares(inventory),
        ),
    )


def _table(given: LinkedGpus | None, possible: Mapping[tuple[int, ...], int | None]) -> PartitionTable:
    """Return the table that counts. Single GPUs that a table leaves out are those of the fabric manager.

    Shape: ``possible`` has the bandwidth of each group, None if it is unknown. Units: bytes per second.
    """
    joined = {minors: _partition(minors, bandwidth) for minors, bandwidth in sorted(possible.items())}
    by_size: dict[int, tuple[Partition, ...]] = {}
    if given is None:
        for minors, one in joined.items():
            by_size[len(minors)] = (*by_size.get(len(minors), ()), one)
        return with_scores(PartitionTable(by_size)) if by_size else PartitionTable({})
    for size, partitions in given.table.by_size.items():
        by_size[size] = tuple(
            replace(one, bandwidth=one.bandwidth or joined[one.minors].bandwidth)
            for one in partitions
            if one.minors in joined
        )
    if not given.table.by_size.get(1):
        by_size[1] = tuple(one for minors, one in joined.items() if len(minors) == 1)
    return replace(given.table, by_size=by_size)


def _partition(minors: tuple[int, ...], bandwidth: int | None) -> Partition:
    if len(minors) == 1:  # the links of a GPU that is alone join it to nothing
        return Partition(minors=minors)
    return Partition(minors=minors, link=_LINK, bandwidth=Quantity.of(bandwidth) if bandwidth else None)


def _not_alone(entries: Iterable[GpuEntry]) -> Iterator[Withheld]:
    for entry in entries:
        if entry.offers_whole and entry.partition is None:
            yield Withheld(gpu_name(entry.gpu.number), "gpu", _NOT_ALONE)


def _not_joined(given: LinkedGpus | None, possible: Collection[tuple[int, ...]]) -> Iterator[Withheld]:
    for one in _groups(given):
        if one.minors not in possible:
            yield Withheld(linked_name(one.minors), "gpu-partition", _NOT_JOINED)


def _groups(given: LinkedGpus | None) -> Iterator[Partition]:
    """Yield the groups of a given table, small ones first."""
    by_size = given.table.by_size if given else {}
    return (one for size, partitions in sorted(by_size.items()) if size > 1 for one in partitions)


def _no_shares(inventory: Inventory) -> Iterator[Withheld]:
    for entry in inventory.gpus:
        modes = inventory.modes.of(entry.gpu.number)
        for one in SHARING_MODES:
            if one.percent(modes) is not None:
                yield Withheld(one.name(entry.gpu.number), one.device_type, _NO_SHARES)
