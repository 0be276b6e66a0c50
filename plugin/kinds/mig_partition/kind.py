"""A MIG partition: the MIG mode of its parent is turned on, then a GI and the CI that fills it are created.

The parent's instances are listed once for all partitions of a claim. The GI's id is made durable before a CI
is created in it. The last partition that goes turns the mode off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypedDict, TypeVar

from agent.hardware.errors import InUse
from agent.hardware.ports import DriverFiles
from agent.hardware.types import GpuInstance, GpuUuid
from agent.inventory.foreign.rule import foreign_in
from agent.inventory.foreign.texts import foreign_text
from agent.inventory.published import MigPartition
from plugin.base.errors import NotReady
from plugin.kinds import gpus
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.kinds.mig_partition import instances
from plugin.kinds.mig_partition.claimed import (
    ClaimedComputeInstance,
    ClaimedMigDevice,
    ClaimedMigPartition,
)
from plugin.machine.context import Context
from plugin.machine.mig.open_gpus import raise_naming_who_has_it_open
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware

M = TypeVar("M", bound=ClaimedMigPartition)


class MigKind(PreparableKind[MigPartition, M]):
    """One GI that one CI fills, whatever programs use it."""

    published = MigPartition
    neighbours = (ClaimedComputeInstance,)

    def why_ill(self, published: MigPartition, seen: SeenHardware) -> str:
        """Return why the parent does not answer."""
        return gpus.why_missing([published.gpu], seen)

    def refuse_occupied(self, context: Context, devices: Sequence[M]) -> None:
        """Check that no instance is at a placement: a GI without a CI that is found there later is ours.

        Raises: PlacementTaken; HardwareError.
        """
        for device in devices:
            instances.refuse_occupied(context.present[device.gpu], context.node.gpus[device.gpu], device)

    def set_up(self, context: Context, devices: Sequence[M], progress: Progress) -> None:
        """Turn the parents' mode on and create the instances that do not exist yet.

        Raises: ModeBlocked, GpuBusy, PlacementTaken; HardwareError.
        """
        machine, known = context.machine.gpus, context.node.gpus
        for uuid in dict.fromkeys(device.gpu for device in devices):
            context.mig_modes.turn_on(known[uuid])
        for device in devices:
            note = partial(_note_gpu_instance, progress, device)
            found = instances.ensure(machine, context.present[device.gpu], known[device.gpu], device, note)
            progress.know(device.with_instance(found))

    def refuse_dead(self, context: Context, devices: Sequence[M]) -> None:
        """Check that every MIG device is alive, by its UUID. Raises: NotReady; HardwareError."""
        present = _present(context, devices)
        for device in devices:
            if not instances.is_alive(present[device.gpu], device):
                raise NotReady("use", f"device {device.device}", f"there is no MIG device {device.mig_uuid}")

    def seems_gone(self, files: DriverFiles, node: NodeSnapshot, device: M) -> bool:
        """Whether the kernel no longer shows the capability of the instance."""
        return instances.seems_gone(files, node.gpus, device)

    def parts(self, context: Context, device: M) -> Parts:
        """Return the nodes of the parent and of the instance, and the driver's files."""
        if device.gi_id is None or device.ci_id is None:
            raise NotReady("use", f"device {device.device}", "its instance is not known yet")
        has_graphics = context.node.has_graphics(device.hardware)
        return context.gpu_parts.of_instance(
            device.gpu, device.gi_id, device.ci_id, has_graphics=has_graphics
        )

    def pci_addresses(self, published: MigPartition) -> tuple[str, ...]:
        """Return the parent's address."""
        return (published.gpu.bdf,)

    def take_down(self, context: Context, devices: Sequence[M]) -> None:
        """Destroy the instances, the last one first, and turn off the mode of parents that have no more.

        Raises: HardwareError, InUse naming monitors that have the GPU open.
        """
        machine, left = context.machine, dict[GpuUuid, Sequence[GpuInstance] | None]()
        for device in reversed(devices):
            gpu = device.gpu
            try:
                left[gpu] = instances.destroy(machine.gpus, device, left.get(gpu))
            except InUse as error:
                raise_naming_who_has_it_open(error, machine.clients, gpu)
        gpus.turn_off_unused_modes(context, left, left)

    def forget(self, context: Context, devices: Sequence[M]) -> None:
        """Turn the mode off on parents without instances: on some models it outlives a boot."""
        gpus.turn_off_unused_modes(context, (device.gpu for device in devices))

    def foreign(self, node: NodeSnapshot, held: Sequence[ClaimedMigDevice]) -> Iterable[Foreign]:
        """Yield the instances that no claim created, also none for a compute instance."""
        for present in node.instances.values():
            for found in foreign_in(present, held):
                if found.compute is None:
                    yield Foreign(f"GPU {found.instance.parent}", foreign_text(found))


class MigPartitionKind(MigKind[ClaimedMigPartition]):
    """One that programs use as they come."""

    text = "a MIG partition"
    claimed = ClaimedMigPartition
    crash_points = CrashPoints(
        setting_up=("set_mig_mode", "create_gpu_instance", "create_compute_instance"),
        taking_down=("destroy_compute_instance", "destroy_gpu_instance", "set_mig_mode"),
        noted=("the GI's id",),
    )

    def plan(self, wanted: Wanted[MigPartition]) -> ClaimedMigPartition:
        """Return the partition by its parent's UUID, its profile and its placement."""
        return ClaimedMigPartition(**wanted.common, **planned_fields(wanted.published))

    def find_for_admin(
        self, context: Context, devices: Sequence[ClaimedMigPartition]
    ) -> Sequence[ClaimedMigPartition]:
        """Return the partitions with the instances at their places. Raises: NotReady; HardwareError."""
        present = _present(context, devices)
        return [instances.find(present[device.gpu], device) for device in devices]


class PlannedFields(TypedDict):
    """What is known of a partition before it is made."""

    parent_uuid: str
    profile_id: int
    start: int
    size: int


def planned_fields(published: MigPartition) -> PlannedFields:
    """Return a partition by its parent's UUID, its profile and its placement."""
    spec = published.spec
    place = spec.placement
    return PlannedFields(
        parent_uuid=spec.parent, profile_id=spec.profile_id, start=place.start, size=place.size
    )


def _present(
    context: Context, devices: Iterable[ClaimedMigPartition]
) -> Mapping[GpuUuid, Sequence[GpuInstance]]:
    """Return the instances of the parents."""
    return {uuid: context.machine.gpus.gpu_instances(uuid) for uuid in {device.gpu for device in devices}}


def _note_gpu_instance(progress: Progress, device: ClaimedMigPartition, gi_id: int | None) -> None:
    progress.note(device.with_gpu_instance(gi_id))
