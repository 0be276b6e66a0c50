"""PURE: which devices nobody can have while a foreign instance exists.

The node's ledger counts it, as it counts what claims hold: memory slices, compute slices, engines, the whole
GPU and its other forms. Where the instance is no device of the node (its profile is not offered), the devices
at its memory slices count, and all that need the whole GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

from agent.hardware.types import ComputeSpec, GpuUuid
from agent.inventory.foreign.found import NOTHING, FoundForeign, InTheWay
from agent.inventory.model import NodeDevices
from agent.inventory.published import MigComputeInstance, MigPartition, PublishedDevice, gpus_of
from scheduler_core.books.ledger import Ledger
from scheduler_core.model.device import DeviceName


class Overlaps:
    """Compares devices with foreign instances, and caches the last result. For one thread."""

    def __init__(self) -> None:
        self._last: tuple[NodeDevices, Sequence[FoundForeign], InTheWay] | None = None

    def of(self, devices: NodeDevices, found: Sequence[FoundForeign]) -> InTheWay:
        """Return ``in_the_way``: the identical object while devices and instances are the same."""
        if self._last is None or self._last[0] is not devices or self._last[1] != found:
            self._last = devices, found, in_the_way(devices, found)
        return self._last[2]


def in_the_way(devices: NodeDevices, found: Sequence[FoundForeign]) -> InTheWay:
    """Return the devices that overlap foreign instances, each with the first one that it overlaps."""
    if not found:
        return NOTHING
    overlapping: dict[DeviceName, FoundForeign] = {}
    together = copy(devices.books)
    for one in found:
        alone = copy(devices.books)
        for ledger in (alone, together):
            _enter(ledger, one, devices)
        for name in _lost(devices, [one], alone):
            overlapping.setdefault(name, one)
    for name in _lost(devices, found, together):
        overlapping.setdefault(name, _first_on(devices.by_name[name], found))
    return InTheWay(
        tuple(found), {name: overlapping[name] for name in devices.by_name if name in overlapping}
    )


def _enter(ledger: Ledger, one: FoundForeign, devices: NodeDevices) -> None:
    name = _device_of(one, devices)
    if name is not None:
        ledger.record(name, one.name)


def _device_of(one: FoundForeign, devices: NodeDevices) -> DeviceName | None:
    """Return the device that the instance would be, None where the node has none like it."""
    spec, compute = one.what.instance.spec, one.what.compute
    if compute is not None and compute.place is not None:
        part = devices.by_hardware.get(ComputeSpec(spec, compute.place))
        if part is not None:
            return part
    return devices.by_hardware.get(spec)


def _lost(devices: NodeDevices, found: Sequence[FoundForeign], ledger: Ledger) -> Iterator[DeviceName]:
    """Yield the devices of the instances' GPUs that the instances keep from everybody."""
    gpus = {one.gpu.uuid for one in found}
    unknown = [one for one in found if _device_of(one, devices) is None]
    for name, device in devices.by_name.items():
        if gpus.isdisjoint(gpu.uuid for gpu in gpus_of(device)) or not devices.books.admits(name):
            continue
        if not ledger.admits(name) or any(_is_at(device, one) for one in unknown):
            yield name


def _is_at(device: PublishedDevice, one: FoundForeign) -> bool:
    """Whether a device lies at an instance's memory slices, or needs the GPU of it whole."""
    if one.gpu.uuid not in _uuids(device):
        return False
    if isinstance(device, MigPartition | MigComputeInstance):
        return device.placement.overlaps(one.what.instance.placement)
    return True


def _first_on(device: PublishedDevice, found: Sequence[FoundForeign]) -> FoundForeign:
    return next(one for one in found if one.gpu.uuid in _uuids(device))


def _uuids(device: PublishedDevice) -> set[GpuUuid]:
    return {gpu.uuid for gpu in gpus_of(device)}
