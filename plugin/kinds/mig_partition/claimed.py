"""PURE: what the plan and the record hold of a MIG partition, and of a compute instance in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypedDict

import msgspec

from agent.hardware.ports import Gpus
from agent.hardware.types import ComputeSpec, GpuUuid, MigInstance, MigSpec, Placement
from agent.inventory.model import NodeDevices
from agent.inventory.published import Hardware, MigComputeInstance, MigPartition
from plugin.kinds import gpus
from plugin.kinds.claimed import Claimed
from plugin.machine.lock_target import LockTarget
from scheduler_core.model.device import DeviceName


class ClaimedMigDevice(Claimed, frozen=True, kw_only=True):
    """A MIG device of a claim: one CI in a GI.

    Shape: ``gi_id`` is None until the GI is known to exist, ``ci_id`` and ``mig_uuid`` until the CI is.
           The GI's id is durable before a CI is created in it.
    """

    parent_uuid: str
    profile_id: int
    start: int
    size: int
    gi_id: int | None = None
    ci_id: int | None = None
    mig_uuid: str | None = None

    @property
    def gpu(self) -> GpuUuid:
        """Return the parent."""
        return GpuUuid(self.parent_uuid)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the parent."""
        return gpus.lock_targets_of([self.gpu])

    @property
    def spec(self) -> MigSpec:
        """Return the GI that the hardware was, or will be, asked for."""
        return MigSpec(self.gpu, self.profile_id, Placement(self.start, self.size))

    @property
    def place(self) -> Placement | None:
        """Return its place in the GI, None where it fills the GI."""
        return None

    @property
    def identity(self) -> str:
        """Return the UUID that containers get. The instance exists."""
        return str(self.mig_uuid)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        placement = {"start": self.start, "size": self.size}
        return {"uuid": self.mig_uuid, "parentUUID": self.parent_uuid, "placement": placement}

    def with_gpu_instance(self, gi_id: int | None) -> Self:
        """Return the device with its GI (None: with none) and no CI yet."""
        return msgspec.structs.replace(self, gi_id=gi_id, ci_id=None, mig_uuid=None)

    def with_instance(self, instance: MigInstance) -> Self:
        """Return the device with everything that is known of its instance."""
        return msgspec.structs.replace(
            self, gi_id=instance.gi_id, ci_id=instance.ci_id, mig_uuid=str(instance.uuid)
        )

    def known_as(self, identity: str) -> Self:
        """Return the device with its UUID, where no line of its record tells it."""
        return self if self.mig_uuid is not None else msgspec.structs.replace(self, mig_uuid=identity)

    def as_planned(self) -> Self:
        """Return the device without its instance."""
        return self.with_gpu_instance(None)


class ClaimedMigPartition(ClaimedMigDevice, frozen=True, kw_only=True, tag="mig"):
    """A MIG partition of a claim: its CI fills its GI."""

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return self.spec


class ClaimedComputeInstance(ClaimedMigDevice, frozen=True, kw_only=True, tag="compute-instance"):
    """A claim's compute instance that does not fill its GPU instance; other claims may have the rest.

    Units: ``compute_start`` and ``compute_size`` compute slices of the GI.
    """

    RECORD_VERSION: ClassVar[int] = 3

    compute_start: int
    compute_size: int

    @property
    def place(self) -> Placement:
        """Return its place in the GI."""
        return Placement(self.compute_start, self.compute_size)

    @property
    def hardware(self) -> ComputeSpec:
        """Return what the device is, whatever its published name is now."""
        return ComputeSpec(self.spec, self.place)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        place = {"start": self.compute_start, "size": self.compute_size}
        return {**super().status_data, "computePlacement": place}


class _MigDevice(TypedDict):
    """What every record of a MIG device has."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    parent_uuid: str
    profile_id: int
    start: int
    size: int
    mig_uuid: str


def mig_device_of(
    node: NodeDevices, name: DeviceName, uuid: str, machine: Gpus
) -> ClaimedMigPartition | ClaimedComputeInstance | None:
    """Return a MIG device as a record has it, by the UUID that containers got.

    Shape: None if the node has no such device now; with the ids of its instance if that exists: without them
           a GPU instance that lost its compute instance would belong to no claim.
    Raises: HardwareError.
    """
    published = node.by_name.get(name)
    if not isinstance(published, MigPartition | MigComputeInstance):
        return None
    place, pool = published.placement, node.pool.id.name
    fields = _MigDevice(
        requests=(),
        pool=pool,
        device=name,
        cdi_id=name,
        parent_uuid=published.gpu.uuid,
        profile_id=published.profile.profile_id,
        start=place.start,
        size=place.size,
        mig_uuid=uuid,
    )
    device: ClaimedMigPartition | ClaimedComputeInstance
    if isinstance(published, MigPartition):
        device = ClaimedMigPartition(**fields)
    else:
        within = published.place
        device = ClaimedComputeInstance(**fields, compute_start=within.start, compute_size=within.size)
    for instance in machine.gpu_instances(device.gpu):
        for compute in instance.compute_instances:
            if compute.uuid == uuid:
                made = MigInstance(device.spec, instance.gi_id, compute.ci_id, compute.uuid)
                return device.with_instance(made)
    return device
