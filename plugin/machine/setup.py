"""The devices of a claim, set up on the machine and taken down again, each by its kind.

Claimed devices enter, devices that know their instance leave, for the caller to record. The id of a GI is
handed over earlier, before a CI is created in it. Nothing here decides about a claim's state. The caller
holds the locks of the claim and of its GPUs, so the instances of each GPU are listed once for all its
devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agent.hardware.ports import Gpus
from agent.hardware.types import Gpu, GpuInstance, GpuUuid
from plugin.base.errors import NotReady
from plugin.machine import mig, mig_mode
from plugin.machine.claimed_device import (
    ClaimedDevice,
    ClaimedGpu,
    ClaimedGpuPartition,
    ClaimedMigPartition,
)

KnownGpus = Mapping[GpuUuid, Gpu]
NoteDevices = Callable[[Sequence[ClaimedDevice]], None]
"""Makes durable what is known of all devices of a claim so far. Whatever it raises stops the work."""


@dataclass(frozen=True, slots=True)
class DeviceSetup:
    """Sets the devices of claims up on one machine."""

    gpus: Gpus

    def refuse_occupied(self, devices: Sequence[ClaimedDevice], known: KnownGpus) -> None:
        """Check that no instance is at a placement that the devices need, before the plan is recorded.

        A GI without a CI that is found later at a recorded placement is then known to be ours.
        Raises: PlacementTaken; HardwareError.
        """
        present = self._instances(devices)
        for device in _mig_partitions(devices):
            mig.refuse_occupied(present[device.gpu], known[device.gpu], device)

    def set_up(
        self, devices: Sequence[ClaimedDevice], known: KnownGpus, note: NoteDevices
    ) -> tuple[ClaimedDevice, ...]:
        """Set up every device and return it with its instance; what is set up already stays.

        Raises: PluginError, HardwareError. What was created before stays for ``take_down``.
        """
        self._set_modes(devices, known)
        present = self._instances(devices)
        found = tuple(devices)
        for device in devices:
            match device:
                case ClaimedGpu() | ClaimedGpuPartition():
                    pass
                case ClaimedMigPartition(gpu=uuid):
                    note_gi = partial(_note_gi, note, found, device)
                    instance = mig.ensure(self.gpus, present[uuid], known[uuid], device, note_gi)
                    found = _replaced(found, device.with_instance(instance))
        return found

    def refuse_dead(self, devices: Sequence[ClaimedDevice]) -> None:
        """Check that every MIG device is alive, by its UUID. Raises: NotReady; HardwareError."""
        present = self._instances(devices)
        for device in _mig_partitions(devices):
            if not mig.is_alive(present[device.gpu], device):
                raise NotReady("use", f"device {device.device}", f"there is no MIG device {device.mig_uuid}")

    def take_down(self, devices: Sequence[ClaimedDevice]) -> None:
        """Destroy every instance of the devices, the last one first; what is gone already is no error.

        Raises: HardwareError. A second call goes on from there.
        """
        for device in reversed(tuple(_mig_partitions(devices))):
            mig.destroy(self.gpus, device)

    def turn_off_unused_mig_modes(self, uuids: Iterable[GpuUuid], known: KnownGpus) -> None:
        """Turn the MIG mode off on GPUs without instances, where that is possible."""
        for uuid in sorted(uuids):
            if uuid in known:
                mig_mode.turn_off_if_unused(self.gpus, known[uuid])

    def _set_modes(self, devices: Iterable[ClaimedDevice], known: KnownGpus) -> None:
        cut: set[GpuUuid] = set()
        for device in devices:
            match device:
                case ClaimedGpu() | ClaimedGpuPartition():
                    mig_mode.turn_off_together(self.gpus, *(known[uuid] for uuid in device.gpus))
                case ClaimedMigPartition(gpu=uuid) if uuid not in cut:
                    mig_mode.turn_on(self.gpus, known[uuid])
                    cut.add(uuid)
                case ClaimedMigPartition():
                    pass

    def _instances(self, devices: Iterable[ClaimedDevice]) -> dict[GpuUuid, tuple[GpuInstance, ...]]:
        parents = {device.gpu for device in _mig_partitions(devices)}
        return {uuid: self.gpus.gpu_instances(uuid) for uuid in parents}


def _mig_partitions(devices: Iterable[ClaimedDevice]) -> Iterable[ClaimedMigPartition]:
    return (device for device in devices if isinstance(device, ClaimedMigPartition))


def _replaced(devices: Sequence[ClaimedDevice], new: ClaimedDevice) -> tuple[ClaimedDevice, ...]:
    return tuple(new if old.device == new.device else old for old in devices)


def _note_gi(
    note: NoteDevices, devices: Sequence[ClaimedDevice], device: ClaimedMigPartition, gi_id: int | None
) -> None:
    note(_replaced(devices, device.with_gpu_instance(gi_id)))
