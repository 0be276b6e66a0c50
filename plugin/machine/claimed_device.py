"""PURE: one device of a claim, in the plan and in the record: a whole GPU, a partition or a MIG partition.

The same value is planned, set up and written to the claim's record, so its fields are the record's format on
disk. It holds no type of another library: an upgrade of a library cannot change what is on disk. Devices are
found on the machine by UUID and placement; their names are kept for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from agent.hardware.types import GpuUuid, MigInstance, MigSpec, Placement
from agent.inventory.model import Hardware


class _Claimed(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every kind of device has.

    Shape: ``requests`` are base names: ``req`` for a result of ``req/sub``; ``device`` the published name.
    """

    RECORD_VERSION: ClassVar[int] = 1
    """The lowest version of the record's format that knows the kind."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str

    def without_instance(self) -> Self:
        """Return the device as it was planned."""
        return self


class ClaimedGpu(_Claimed, frozen=True, kw_only=True, tag="gpu"):
    """A whole GPU."""

    gpu_uuid: str

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device: this one."""
        return (GpuUuid(self.gpu_uuid),)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return frozenset(self.gpus)

    @property
    def identity(self) -> str:
        """Return the UUID that containers get."""
        return self.gpu_uuid

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuid": self.gpu_uuid}


class ClaimedGpuPartition(_Claimed, frozen=True, kw_only=True, tag="gpus"):
    """A partition: whole GPUs that NVLink joins, as one device.

    Shape: ``gpu_uuids`` by minor, at least two.
    """

    RECORD_VERSION: ClassVar[int] = 2

    gpu_uuids: tuple[str, ...]

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device: all of its members."""
        return tuple(GpuUuid(uuid) for uuid in self.gpu_uuids)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return frozenset(self.gpus)

    @property
    def identity(self) -> str:
        """Return the UUIDs that containers get, with commas between them."""
        return ",".join(self.gpu_uuids)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuids": list(self.gpu_uuids)}


class ClaimedMigPartition(_Claimed, frozen=True, kw_only=True, tag="mig"):
    """A MIG partition.

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
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device: the parent."""
        return (self.gpu,)

    @property
    def spec(self) -> MigSpec:
        """Return what the hardware was, or will be, asked for."""
        return MigSpec(self.gpu, self.profile_id, Placement(self.start, self.size))

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return self.spec

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

    def without_instance(self) -> Self:
        """Return the device as it was planned."""
        return self.with_gpu_instance(None)


ClaimedDevice = ClaimedGpu | ClaimedGpuPartition | ClaimedMigPartition
