"""GPUs and their MIG partitions as composite devices.

A GPU is the source of all its capacities; a partition draws from it what its profile needs. There is one
mixin each for what all partitions of a product, a profile, a GPU or a range of memory slices share. Keys and
types are those of KEP-4815's listing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from agent.hardware.types import Bdf, DriverVersions, Gpu, MigProfile, Placement
from agent.inventory.compute_instances import TYPE as TYPE_OF_CI
from agent.inventory.compute_instances import ComputeInstances
from agent.inventory.model import GpuEntry, Group, LinkedGpus, SplitGpus
from agent.inventory.modes import ATTRIBUTE, GpuMode, ModesOfGpu
from agent.inventory.names import (
    gpu_name,
    memory_slice_range,
    partition_name,
    product_label,
    profile_label,
)
from agent.inventory.numbers.numbering import NumberedGpu
from agent.inventory.operator_attributes import NO_ATTRIBUTES, OperatorAttributes
from agent.inventory.published import MigPartition, PublishedDevice, WholeGpu
from agent.inventory.shared_gpus import (
    MULTIPROCESSORS,
    SHARING_MODES,
    SharingMode,
    only_drawn,
    share_policies,
    shared_capacity,
    without_partitions_of,
)
from agent.inventory.sound.sharing import share
from agent.inventory.sound.versions import version_of
from agent.inventory.topology import address_attribute, direct_attribute, expendable, topology_attributes
from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import bare, qualified

_Attributes = dict[QualifiedName, AttributeValue]
_Capacity = dict[QualifiedName, Quantity]
_DIVIDED: Final = (MULTIPROCESSORS, *("copy_engines", "decoders", "encoders", "jpeg_engines", "ofa_engines"))
"""What MIG divides, by the field of a profile."""


class GpuDescriber:
    """Describes the GPUs of one node; collects the mixins that they share."""

    def __init__(
        self,
        driver: str,
        versions: DriverVersions,
        *,
        linked: LinkedGpus | None = None,
        split: SplitGpus | None = None,
        direct_switches: Collection[Bdf] = (),
        attributes: OperatorAttributes = NO_ATTRIBUTES,
    ) -> None:
        self.driver = driver
        self.versions = versions
        self._linked = linked
        self._has_shares = linked is not None
        self._split = split
        self._direct_switches = direct_switches
        self._attributes = attributes
        self._stated = sorted({key for one in attributes.gpus.values() for key in one})
        self.shared: dict[str, Mixin] = {}
        self.by_name: dict[DeviceName, PublishedDevice] = {}
        self.left_out: list[str] = []
        self._compute = ComputeInstances(driver, self.shared, self.by_name, self.left_out)

    def describe(self, entry: GpuEntry, modes: ModesOfGpu) -> Group:
        """Return the GPU and its partitions, and the devices that claims share, last.

        So a claim that can have another device of the GPU gets that one.
        """
        gpu, name = entry.gpu, gpu_name(entry.gpu.number)
        self._share_product(entry)
        own = self._whole_attributes(entry, modes)
        mixins = [Mixin(name=name, attributes=own, capacity=self._share_of(entry, shares_of(entry, modes)))]
        alone = self._mode(GpuMode.WHOLE, modes) | self._partition_attributes(gpu)
        devices = [CompositeDevice(name=name, includes=self._gpu_includes(entry), attributes=alone)]
        if entry.offers_whole and modes.whole:
            self.by_name[name] = WholeGpu(gpu, entry.partition)
        places = [
            (profile, placement)
            for profile in sorted(entry.profiles, key=lambda profile: profile_label(profile.name))
            for placement in profile.placements
            if entry.offers_partitions and modes.offers(profile.name, placement)
        ]
        partitions = [self._partition(entry, profile, placement) for profile, placement in places]
        leaves: list[CompositeDevice] = []
        if partitions:
            parent = self._parent_attributes(entry, self._mode(GpuMode.MIG, modes))
            mixins.append(Mixin(name=f"{name}-mig", attributes=parent, capacity=self._share_of(entry, 1)))
            if self._split is not None and self._split.has(entry.gpu.number):
                cut = list(zip(partitions, places, strict=True))
                partitions, leaves = self._split_up(entry, modes, cut, mixins)
        shared = self._shared(entry, modes, has_partitions=bool(partitions))
        return Group(mixins=tuple(mixins), devices=(*devices, *partitions, *leaves, *shared))

    def _split_up(
        self,
        entry: GpuEntry,
        modes: ModesOfGpu,
        cut: list[tuple[CompositeDevice, tuple[MigProfile, Placement]]],
        mixins: list[Mixin],
    ) -> tuple[list[CompositeDevice], list[CompositeDevice]]:
        """Return the partitions and their compute instances.

        Beside modes that are in use side by side there are none: groups do not tell them from other devices.
        """
        name, parent = gpu_name(entry.gpu.number), mixins[-1].attributes
        if modes.is_side_by_side:
            self.left_out.append(f"compute instances of {name}: none, its modes are in use side by side")
            return [partition for partition, _ in cut], []
        if self._has_shares:  # a share is the partition's, not its compute instances'
            mixins.append(Mixin(name=f"{name}-ci", attributes=parent))
        product = self._product_attributes(entry.gpu, TYPE_OF_CI)
        return self._compute.split_up(entry.gpu, cut, product, mixins[-1])

    def _shared(
        self, entry: GpuEntry, modes: ModesOfGpu, *, has_partitions: bool
    ) -> Iterator[CompositeDevice]:
        """Yield a device for each mode in which claims share the GPU.

        There is none where it cannot be used whole, or where its memory is unknown: shares are parts of that.
        """
        uuid = entry.gpu.uuid
        if entry.gpu.memory_bytes is None:
            return
        keeps_out = without_partitions_of(uuid, self.driver) if modes.is_side_by_side else None
        for one in SHARING_MODES:
            percent = one.percent(modes)
            if percent is not None and entry.offers_whole:
                device = self._shared_device(entry, one, percent)
                own = self._mode(one.mode, modes)
                yield replace(device, attributes=own, only_with=keeps_out if has_partitions else None)

    def _shared_device(self, entry: GpuEntry, mode: SharingMode, percent: int) -> CompositeDevice:
        gpu, driver = entry.gpu, self.driver
        gpu_itself = gpu_name(gpu.number)
        capacity = shared_capacity(self.shared[self._share_product(entry)].capacity, driver, percent)
        attributes = self._product_attributes(gpu, mode.device_type)
        mixin = Mixin(
            name=mode.mixin(gpu, percent),
            attributes=attributes,
            capacity=capacity,
            policies=share_policies(capacity, driver),
        )
        product = share(self.shared, mixin, gpu_itself)
        drawn = self._share_of(entry, 1)
        name = mode.name(gpu.number)
        self.by_name[name] = mode.published(gpu)
        return CompositeDevice(
            name=name,
            includes=(product, gpu_itself),
            sources=(gpu_itself,),
            capacity=drawn,
            policies={key: policy for one in drawn for key, policy in only_drawn(one).items()},
            is_shareable=True,
        )

    def _mode(self, mode: GpuMode, modes: ModesOfGpu) -> _Attributes:
        """Return the mode of a device as an attribute, nothing where it need not be told."""
        return {qualified(ATTRIBUTE, self.driver): str(mode)} if modes.is_told else {}

    def _partition_attributes(self, gpu: NumberedGpu) -> _Attributes:
        """Return the score and the bandwidth of a GPU that is an entry of the table by itself."""
        alone = None if self._linked is None else self._linked.alone(gpu.number)
        if alone is None:
            return {}
        found: _Attributes = {qualified("allocationScore", self.driver): alone.score}
        if alone.bandwidth is not None:
            found[qualified("ringBusBandwidth", self.driver)] = alone.bandwidth.whole
        return found

    def _partition(self, entry: GpuEntry, profile: MigProfile, placement: Placement) -> CompositeDevice:
        gpu = entry.gpu
        name = partition_name(gpu.number, profile.name, placement)
        self.by_name[name] = MigPartition(gpu, profile, placement)
        product = product_label(gpu.product_name)
        return CompositeDevice(
            name=name,
            includes=(
                self._share(gpu, f"mig-{product}", self._product_attributes(gpu, "mig"), {}),
                self._share_profile(gpu, profile),
                f"{gpu_name(gpu.number)}-mig",
                self._share_memory_slices(placement),
            ),
            sources=(gpu_name(gpu.number),),
        )

    def _share(self, gpu: NumberedGpu, name: str, attributes: _Attributes, capacity: _Capacity) -> str:
        mixin = Mixin(name=name, attributes=attributes, capacity=capacity)
        return share(self.shared, mixin, gpu_name(gpu.number))

    def _share_product(self, entry: GpuEntry) -> str:
        gpu = entry.gpu
        capacity = self._divisible(entry)
        if gpu.memory_bytes is not None:
            capacity[qualified("memory", self.driver)] = Quantity.bytes_of(gpu.memory_bytes)
        name = f"gpu-{product_label(gpu.product_name)}"
        return self._share(gpu, name, self._product_attributes(gpu, "gpu"), capacity)

    def _share_profile(self, gpu: NumberedGpu, profile: MigProfile) -> str:
        """Return the name of the profile's mixin; GPUs with different figures do not share one."""
        capacity = self._engines(profile)
        capacity[qualified("memory", self.driver)] = Quantity.bytes_of(profile.memory_bytes)
        name = f"{product_label(gpu.product_name)}-{profile_label(profile.name)}"
        known = self.shared.get(name)
        if known is not None and known.capacity != capacity:
            name = f"{gpu_name(gpu.number)}-{profile_label(profile.name)}"
        return self._share(gpu, name, {qualified("profile", self.driver): profile.name}, capacity)

    def _share_memory_slices(self, placement: Placement) -> str:
        capacity = {
            qualified(f"memorySlice{index}", self.driver): Quantity.of(1)
            for index in range(placement.start, placement.start + placement.size)
        }
        mixin = Mixin(name=f"memory-slices-{memory_slice_range(placement)}", capacity=capacity)
        return self.shared.setdefault(mixin.name, mixin).name

    def _gpu_includes(self, entry: GpuEntry) -> tuple[str, ...]:
        own = (self._share_product(entry), gpu_name(entry.gpu.number))
        if not entry.profiles:
            return own
        last = max(place.start + place.size for profile in entry.profiles for place in profile.placements)
        return (*own, self._share_memory_slices(Placement(0, last)))

    def _product_attributes(self, gpu: Gpu, kind: str) -> _Attributes:
        found: dict[str, AttributeValue | None] = {
            "type": kind,
            "architecture": gpu.architecture,
            "brand": gpu.brand,
            "productName": gpu.product_name,
            "cudaComputeCapability": gpu.cuda_compute_capability,
            "driverVersion": version_of(self.versions.driver),
            "cudaDriverVersion": version_of(self.versions.cuda),
        }
        return {qualified(key, self.driver): value for key, value in found.items() if value is not None}

    def _own_attributes(self, entry: GpuEntry, keys: tuple[str, str]) -> _Attributes:
        gpu = entry.gpu
        values: tuple[AttributeValue, ...] = (gpu.minor, str(gpu.uuid))
        identity = {qualified(key, self.driver): value for key, value in zip(keys, values, strict=True)}
        return (
            identity
            | topology_attributes(entry.function, self.driver)
            | dict(direct_attribute(entry.function, self.driver, self._direct_switches))
            | dict(address_attribute(entry.function))
            | dict(self._attributes.of_gpu(gpu.uuid))
        )

    def _parent_attributes(self, entry: GpuEntry, mode: _Attributes) -> _Attributes:
        """Return the attributes of a GPU that all its partitions repeat, within the limit per device.

        The partition with the most attributes sets the limit. All partitions of a GPU leave out the same
        keys, so that a constraint on a key treats them alike.
        """
        attributes = self._own_attributes(entry, ("parentMinor", "parentUUID")) | mode
        product = self._product_attributes(entry.gpu, "mig")
        widest = max(place.size for profile in entry.profiles for place in profile.placements)
        engines = len(self._engines(entry.profiles[0])) + 1  # plus the memory
        size = len(attributes) + len(product) + 1 + engines + widest + self._has_shares  # plus the profile
        return self._within_limit(attributes, size, f"partitions of {gpu_name(entry.gpu.number)} go", "they")

    def _whole_attributes(self, entry: GpuEntry, modes: ModesOfGpu) -> _Attributes:
        """Return the attributes of a GPU itself, within the limit that the whole GPU sets."""
        attributes = self._own_attributes(entry, ("minor", "uuid"))
        product = self.shared[self._share_product(entry)]
        slices = max(
            (place.start + place.size for one in entry.profiles for place in one.placements), default=0
        )
        size = len(attributes) + len(product.attributes) + len(product.capacity) + slices + self._has_shares
        size += len(self._mode(GpuMode.WHOLE, modes)) + len(self._partition_attributes(entry.gpu))
        return self._within_limit(attributes, size, f"{gpu_name(entry.gpu.number)} goes", "it")

    def _within_limit(self, attributes: _Attributes, size: int, who: str, they: str) -> _Attributes:
        """Return the attributes of devices that have ``size`` properties; what is left out is told."""
        given_up = _given_up(attributes, size, (*expendable(self.driver), *self._stated))
        if given_up:
            keys = ", ".join(bare(name, self.driver) for name in given_up)
            why = f"with {size} attributes and capacities {they} would exceed {limits.PROPERTIES}"
            self.left_out.append(f"{who} without {keys}: {why}")
        return {name: value for name, value in attributes.items() if name not in given_up}

    def _share_of(self, entry: GpuEntry, amount: int) -> _Capacity:
        """Return ``count`` shares of a GPU, nothing on a node without a table of partitions."""
        name = share_name(entry.gpu.number, self.driver)
        return {name: Quantity.of(amount)} if self._has_shares else {}

    def _divisible(self, entry: GpuEntry) -> _Capacity:
        """Return what all parts of a GPU share, with the hardware's own count of multiprocessors if known."""
        found = divisible(entry.profiles)
        own = entry.gpu.multiprocessors
        if own is not None:  # more than MIG divides on some models: 108 of an A100, whose 7g has 98
            found[MULTIPROCESSORS] = max(own, found.get(MULTIPROCESSORS, 0))
        return self._counted(found)

    def _engines(self, profile: MigProfile) -> _Capacity:
        return self._counted({field: getattr(profile, field) for field in _DIVIDED})

    def _counted(self, counts: Mapping[str, int]) -> _Capacity:
        """Return counts by the field of a profile as capacities."""
        return {
            qualified(field.replace("_", "-"), self.driver): Quantity.of(count)
            for field, count in counts.items()
        }


def most_instances(entry: GpuEntry) -> int:
    """Return how many MIG instances the GPU can have at once, 1 without MIG.

    Placements are intervals; taking the one that ends first, again and again, gives the most.
    """
    count, end = 0, 0
    places = (place for profile in entry.profiles for place in profile.placements)
    for place in sorted(places, key=lambda one: one.start + one.size):
        if place.start >= end:
            count, end = count + 1, place.start + place.size
    return max(count, 1)


def shares_of(entry: GpuEntry, modes: ModesOfGpu) -> int:
    """Return how many shares a GPU has: one for each device of it that can be in use at once."""
    return max(most_instances(entry), 2 if modes.is_side_by_side else 1)


def share_name(number: int, driver: str) -> QualifiedName:
    """Return the name of one GPU's shares: an NVLink partition draws all of them, a MIG device one."""
    return qualified(f"gpuShare{number}", driver)


def divisible(profiles: Collection[MigProfile], fields: Collection[str] = _DIVIDED) -> dict[str, int]:
    """Return what all MIG partitions of a GPU share, by the field of a profile; empty without profiles.

    The partition that fills the GPU has all of it. Without such a profile, what the partitions of one
    profile can have together is the best that is known.
    """
    if not profiles:
        return {}
    end = max(place.start + place.size for one in profiles for place in one.placements)
    filling = [(one, 1) for one in profiles if any(place.size == end for place in one.placements)]
    counted = filling or [(one, one.max_instances) for one in profiles]
    return {field: max(getattr(one, field) * count for one, count in counted) for field in fields}


def _given_up(
    attributes: Mapping[QualifiedName, object], size: int, order: tuple[QualifiedName, ...]
) -> tuple[QualifiedName, ...]:
    """Return the keys to leave out, in this order, until ``size`` is within the limit."""
    present = [name for name in order if name in attributes]
    return tuple(present[: max(0, size - limits.PROPERTIES)])
