"""Selects devices that cannot overlap, for a cluster without shared counters. Pure.

An API server or scheduler without counters sees every partition as free, whatever is allocated. There a GPU
is one device while it has no MIG instances; once it has some, they are the devices. An NVLink partition is a
device only if none of its GPUs is a device alone. Names and attributes are those of the full pool, so
allocated claims keep their meaning when the form changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agent.hardware.types import GpuInstance
from agent.inventory.model import NodeDevices
from agent.inventory.published import (
    GpuPartition,
    ImexChannel,
    MigComputeInstance,
    MigPartition,
    MpsGpu,
    NicVf,
    SharedGpu,
    WholeGpu,
    WholeNic,
)
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.dialects.project import project, spellings
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.pool import Pool


def fixed_pool(devices: NodeDevices, instances: Iterable[GpuInstance]) -> Pool:
    """Return the devices of a pool that share nothing with each other, under their v1 names.

    Shape: devices in pool order, without draws; the pool has no sources.
    Raises: CannotProject.
    """
    names = spellings(devices.pool).devices
    chosen = {names[name] for name in _chosen(devices, instances) if name in names}
    projected = project(with_groups(devices.pool))
    kept = tuple(replace(one, draws=()) for one in projected.devices if one.name in chosen)
    return replace(projected, devices=kept, sources={})


def _chosen(devices: NodeDevices, instances: Iterable[GpuInstance]) -> Iterator[DeviceName]:
    existing = {one.spec for one in instances}
    gone = {spec.parent for spec in existing}
    with_vfs = {device.pf.function.bdf for device in devices.by_name.values() if isinstance(device, NicVf)}
    for name, device in devices.by_name.items():
        match device:
            case WholeGpu(gpu=gpu):
                is_fixed = gpu.uuid not in gone
                gone.add(gpu.uuid)
            case SharedGpu() | MpsGpu() | MigComputeInstance():
                is_fixed = False  # nothing would keep it apart from the GPU or the MIG partition
            case GpuPartition(gpus=gpus):
                # Single GPUs come first, then small partitions: the first to claim a GPU is its device.
                is_fixed = gone.isdisjoint(gpu.uuid for gpu in gpus)
                gone |= {gpu.uuid for gpu in gpus} if is_fixed else set()
            case MigPartition():
                is_fixed = device.spec in existing
            case WholeNic(pf=pf):
                is_fixed = pf.function.bdf not in with_vfs
            case NicVf() | ImexChannel():
                is_fixed = True
        if is_fixed:
            yield name


def without(pool: Pool, lost: frozenset[str]) -> Pool:
    """Return the pool without the devices that need a dropped field: they would be allocated wrongly."""
    return replace(pool, devices=tuple(one for one in pool.devices if not _needs(one) & lost))


def _needs(device: Device) -> set[str]:
    needed = {
        "taints": device.taints,
        "bindingConditions": device.binding.conditions,
        "bindingFailureConditions": device.binding.failure_conditions,
        "bindsToNode": device.binding.to_node,
        "allowMultipleAllocations": device.is_shareable,
    }
    return {field for field, value in needed.items() if value}
