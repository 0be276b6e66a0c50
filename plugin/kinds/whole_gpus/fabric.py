"""What the fabric manager does for whole GPUs: their partition is active as long as a claim has them.

Takes claimed devices that say which partition they need; one that says none needs nothing here. A partition
is ours because the record names it before it is activated: until then nobody's is active with these GPUs, and
the fabric manager activates none twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET

from agent.hardware.errors import InUse, NotFound
from agent.hardware.fabric.types import FabricMode, FabricPartition
from agent.inventory.fabric.joining import partition_ids
from plugin.base.errors import NotReady, PlacementTaken
from plugin.kinds.kind import Foreign, Progress
from plugin.kinds.used_whole import ClaimedWholeGpus
from plugin.machine.context import Context
from plugin.machine.node import NodeSnapshot

_log = logging.getLogger(__name__)
_DEACTIVATE = "the operator, or the program that activated it, must deactivate it"
_READ_ANEW = "the operator restarts the plugin, which reads anew how GPUs are joined"


def refuse_occupied(context: Context, devices: Sequence[ClaimedWholeGpus]) -> None:
    """Check that no partition with a GPU of the devices is active.

    Raises: PlacementTaken naming it; NotReady; HardwareError.
    """
    needing = [device for device in devices if device.fabric_partition is not UNSET]
    for device in devices:
        _refuse_unplanned(context, device)
    present = context.machine.fabric.partitions() if needing else ()
    for device in needing:
        wanted = _partition(context, present, device)
        gpus = {gpu.physical_id for gpu in wanted.gpus}
        for other in present:
            if other.is_active and gpus & {gpu.physical_id for gpu in other.gpus}:
                raise _taken(device, f"no claim activated {_text(other)}")


def activate(context: Context, device: ClaimedWholeGpus, progress: Progress) -> None:
    """Activate the partition of a device, unless it is active.

    Raises: PlacementTaken where somebody else was faster; NotReady; HardwareError.
    """
    wanted = device.fabric_partition
    if wanted is UNSET:
        return
    fabric = context.machine.fabric
    if _partition(context, fabric.partitions(), device).is_active:
        return
    try:
        fabric.activate(wanted)
    except InUse as error:
        # Somebody else's now: what undoes the claim must not deactivate it.
        progress.note(msgspec.structs.replace(device, fabric_partition=UNSET))
        raise _taken(device, error.reason) from error
    _log.info("device %s: fabric partition %d is active", device.device, wanted)


def deactivate(context: Context, devices: Sequence[ClaimedWholeGpus]) -> None:
    """Deactivate the partitions of devices, the last one first; one that is not active is no error.

    Each is asked for, active or not: an activation that timed out may come true only now.
    Raises: HardwareError.
    """
    partitions = [one.fabric_partition for one in devices if one.fabric_partition is not UNSET]
    fabric = context.machine.fabric
    if not partitions or fabric.mode() is not FabricMode.SHARED:
        return
    for partition in reversed(partitions):
        try:
            fabric.deactivate(partition)
        except NotFound as error:
            _log.info("fabric partition %d was not active any more: %s", partition, error.reason)


def foreign(node: NodeSnapshot, held: Iterable[ClaimedWholeGpus], *, is_alone: bool) -> Iterator[Foreign]:
    """Yield the active partitions of single GPUs, or of several, that no claim activated."""
    ours = {device.fabric_partition for device in held}
    for partition in node.fabric.partitions:
        if partition.is_active and partition.id not in ours and (len(partition.gpus) == 1) == is_alone:
            yield Foreign("fabric manager", _text(partition))


def _refuse_unplanned(context: Context, device: ClaimedWholeGpus) -> None:
    """Check that a device which needs no partition needs none indeed. Raises: NotReady; HardwareError."""
    if device.fabric_partition is UNSET and context.machine.fabric.mode() is FabricMode.SHARED:
        reason = "its GPUs are joined by the fabric manager now, and were not when the node was read"
        raise NotReady("use", f"device {device.device}", reason, _READ_ANEW)


def _partition(
    context: Context, present: Iterable[FabricPartition], device: ClaimedWholeGpus
) -> FabricPartition:
    """Return the partition of a device as it is now. Raises: NotReady where it has other GPUs, or is gone."""
    listed = tuple(present)
    ids = partition_ids(listed, context.node.gpus.values())
    found = next((one for one in listed if one.id == device.fabric_partition), None)
    if found is None or ids.get(frozenset(device.members)) != found.id:
        reason = f"the fabric manager has no partition {device.fabric_partition} of its GPUs any more"
        raise NotReady("use", f"device {device.device}", reason, _READ_ANEW)
    return found


def _taken(device: ClaimedWholeGpus, reason: str) -> PlacementTaken:
    subject = f"fabric partition {device.fabric_partition} for device {device.device}"
    return PlacementTaken("activate", subject, reason, _DEACTIVATE)


def _text(partition: FabricPartition) -> str:
    modules = ", ".join(str(gpu.physical_id) for gpu in partition.gpus)
    return f"fabric partition {partition.id} (GPU modules {modules}), which is active"
