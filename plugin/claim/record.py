"""What the plugin remembers of a claim: plain values of our own, whose form is the durable format.

They hold no foreign type, so that an upgrade of a library cannot change what is on disk. A record is
moved by ``replace``, never rebuilt. Names are kept for people; hardware is found by UUID and placement.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from agent.hardware.types import GpuUuid, MigInstance, MigSpec, Placement
from plugin.base.errors import ClaimUnusable
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimRef, ClaimUid

_UID: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,62}[0-9A-Za-z])?", re.ASCII)
UID_RULE: Final = "must be 1 to 64 letters, digits and dashes, a UUID as a rule"


def is_uid(text: str) -> bool:
    """Whether a claim's UID may stand in file names and CDI names: no path can be made of it."""
    return _UID.fullmatch(text) is not None


def checked_uid(text: str, ref: ClaimRef) -> ClaimUid:
    """Return a claim's UID. Raises: ClaimUnusable where it may not stand in file names."""
    if not is_uid(text):
        raise ClaimUnusable("use", f"claim {ref}", f"its UID {text[:80]!r} {UID_RULE}")
    return ClaimUid(text)


class HeldGpu(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="gpu"):
    """A whole GPU that a claim holds."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    gpu_uuid: str

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device: this one."""
        return (GpuUuid(self.gpu_uuid),)


class HeldGpus(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="gpus"):
    """Whole GPUs that links join, held as one device. Shape: ``gpu_uuids`` by minor, at least two."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    gpu_uuids: tuple[str, ...]

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device."""
        return tuple(GpuUuid(uuid) for uuid in self.gpu_uuids)


class HeldPartition(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="mig"):
    """A MIG partition that a claim holds.

    Shape: ``gi_id`` is None until the GI is known to exist, ``ci_id`` and ``mig_uuid`` until the CI is.
           The GI's id is durable before a CI is made in it.
    """

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    parent_uuid: str
    profile_id: int
    start: int
    size: int
    gi_id: int | None = None
    ci_id: int | None = None
    mig_uuid: str | None = None

    @property
    def gpu(self) -> GpuUuid:
        """Return the GPU that the partition is cut from."""
        return GpuUuid(self.parent_uuid)

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs whose locks cover the device: the parent."""
        return (self.gpu,)

    @property
    def spec(self) -> MigSpec:
        """Return what the hardware was, or will be, asked for."""
        return MigSpec(self.gpu, self.profile_id, Placement(self.start, self.size))

    def with_gpu_instance(self, gi_id: int | None) -> HeldPartition:
        """Return the partition with its GI (None: with nothing) and no CI yet."""
        return msgspec.structs.replace(self, gi_id=gi_id, ci_id=None, mig_uuid=None)

    def with_instance(self, instance: MigInstance) -> HeldPartition:
        """Return the partition with everything that is known of its instance."""
        return msgspec.structs.replace(
            self, gi_id=instance.gi_id, ci_id=instance.ci_id, mig_uuid=str(instance.uuid)
        )


HeldDevice = HeldGpu | HeldGpus | HeldPartition


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One claim on this node, in the state that the table gave it.

    Shape: ``devices`` in the order of the allocation's results, ours only; none before the allocation is
           known.
    """

    claim_uid: str
    namespace: str
    name: str
    driver: str
    boot_id: str
    state: State
    devices: tuple[HeldDevice, ...]

    def __post_init__(self) -> None:
        if self.state is State.ABSENT or (self.state is State.COMPLETED and not self.devices):
            raise ValueError("a record has a stored state, and at the end at least one device")

    @property
    def uid(self) -> ClaimUid:
        """Return the claim's UID."""
        return ClaimUid(self.claim_uid)

    @property
    def ref(self) -> ClaimRef:
        """Return how people name the claim."""
        return ClaimRef(self.namespace, self.name)

    @property
    def gpus(self) -> frozenset[GpuUuid]:
        """Return the GPUs that the claim's devices are, or are cut from."""
        return frozenset(gpu for device in self.devices for gpu in device.gpus)

    def in_state(self, state: State) -> Record:
        """Return the record, moved."""
        return msgspec.structs.replace(self, state=state)

    def with_device(self, device: HeldDevice) -> Record:
        """Return the record with one device replaced by what is now known of it."""
        devices = tuple(device if old.device == device.device else old for old in self.devices)
        return msgspec.structs.replace(self, devices=devices)
