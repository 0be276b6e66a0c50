"""Compute instances that leave room in their GPU instance, as devices that are cut from a MIG partition.

A MIG partition whose GPU instance may be split supplies its compute slices itself; all else it draws from its
GPU, once for all that is cut from it. A compute instance draws the compute slices at its place. Memory and
engines are those of the GPU instance, shared by all its compute instances, so they are no capacity here.
Source: NVIDIA MIG User Guide, "Compute Instances"; decision 0042.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from agent.hardware.types import ComputeProfile, MigProfile, Placement
from agent.inventory.names import (
    compute_instance_name,
    gpu_name,
    memory_slice_range,
    product_label,
    profile_label,
)
from agent.inventory.numbers.numbering import NumberedGpu
from agent.inventory.published import MigComputeInstance, PublishedDevice
from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import qualified

TYPE: Final = "compute-instance"
_Attributes = Mapping[QualifiedName, AttributeValue]
Cut = tuple[CompositeDevice, tuple[MigProfile, Placement]]
"""A MIG partition as a device, its profile and its place."""


@dataclass(frozen=True, slots=True)
class ComputeInstances:
    """Describes the compute instances of a node. Shape: all but ``driver`` are added to on the way."""

    driver: str
    mixins: dict[str, Mixin]
    by_name: dict[DeviceName, PublishedDevice]
    left_out: list[str]

    def split_up(
        self, gpu: NumberedGpu, found: Iterable[Cut], product: _Attributes, parent: Mixin
    ) -> tuple[list[CompositeDevice], list[CompositeDevice]]:
        """Return MIG partitions, those to be split with compute slices, and what is cut from them.

        Shape: ``product`` the attributes of the GPU's product, ``parent`` the mixin of the GPU's parts.
        A profile whose partitions would exceed the limit of a device stays whole, with the reason.
        """
        partitions: list[CompositeDevice] = []
        leaves: list[CompositeDevice] = []
        too_large: dict[str, int] = {}
        for partition, (profile, placement) in found:
            size = self._size(partition, profile, parent)
            if not profile.narrower:
                partitions.append(partition)
            elif size > limits.PROPERTIES:
                partitions.append(partition)
                too_large[profile.name] = size
            else:
                whole = self._supplied(partition, profile)
                partitions.append(whole)
                leaves += self._cut_from(gpu, whole, (profile, placement), product, parent.name)
        self.left_out.extend(
            f"compute instances of {gpu_name(gpu.number)}: none in {name}, whose devices would have {size} "
            f"attributes and capacities; {limits.PROPERTIES} are allowed"
            for name, size in too_large.items()
        )
        return partitions, leaves

    def _size(self, partition: CompositeDevice, profile: MigProfile, parent: Mixin) -> int:
        """Return how many attributes and capacities a partition has with its compute slices."""
        mixins = [self.mixins[name] for name in partition.includes if name in self.mixins]
        keys = {key for mixin in (*mixins, parent) for key in (*mixin.attributes, *mixin.capacity)}
        return len(keys) + profile.compute_slices

    def _supplied(self, partition: CompositeDevice, profile: MigProfile) -> CompositeDevice:
        """Return a MIG partition that supplies its own compute slices."""
        mixin = self._slices(Placement(0, profile.compute_slices))
        includes = (*partition.includes, mixin)
        return replace(partition, includes=includes, sources=(partition.name, *partition.sources))

    def _cut_from(
        self,
        gpu: NumberedGpu,
        partition: CompositeDevice,
        at: tuple[MigProfile, Placement],
        product: _Attributes,
        parent: str,
    ) -> Iterator[CompositeDevice]:
        """Yield what can be cut from a MIG partition, narrow ones first."""
        profile, placement = at
        name_of_product = f"{TYPE}-{product_label(gpu.product_name)}"
        self.mixins.setdefault(name_of_product, Mixin(name=name_of_product, attributes=product))
        for narrower in profile.narrower:
            own = self._profile(gpu, profile, narrower)
            for start in narrower.starts:
                place = Placement(start, narrower.width)
                name = compute_instance_name(gpu.number, profile.name, placement, place)
                self.by_name[name] = MigComputeInstance(gpu, profile, placement, place)
                yield CompositeDevice(
                    name=name,
                    includes=(name_of_product, own, parent, self._slices(place)),
                    sources=(partition.name,),
                )

    def _profile(self, gpu: NumberedGpu, profile: MigProfile, narrower: ComputeProfile) -> str:
        full = f"{narrower.width}c.{profile.name}"
        name = f"{product_label(gpu.product_name)}-{profile_label(full)}"
        attributes = {"profile": full, "parentProfile": profile.name}
        count = narrower.multiprocessors
        known = {} if count is None else {qualified("multiprocessors", self.driver): Quantity.of(count)}
        self.mixins.setdefault(
            name,
            Mixin(
                name=name,
                attributes={qualified(key, self.driver): value for key, value in attributes.items()},
                capacity=known,
            ),
        )
        return name

    def _slices(self, place: Placement) -> str:
        name = f"compute-slices-{memory_slice_range(place)}"
        capacity = {
            qualified(f"computeSlice{index}", self.driver): Quantity.of(1)
            for index in range(place.start, place.start + place.size)
        }
        self.mixins.setdefault(name, Mixin(name=name, capacity=capacity))
        return name
