"""A compute instance that leaves room in its GPU instance, which several claims may share.

The first one of a GI turns the MIG mode of the GPU on and creates the GI; the last one destroys it. Which one
that is follows from the records of all claims, which cannot change under the GPU's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from agent.hardware.errors import InUse
from agent.hardware.ports import DriverFiles
from agent.inventory.foreign.rule import foreign_in
from agent.inventory.published import MigComputeInstance
from plugin.base.errors import NotReady
from plugin.kinds import gpus
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.kinds.mig_partition import compute_instances, instances
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance
from plugin.machine.context import Context
from plugin.machine.mig.open_gpus import raise_naming_who_has_it_open
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware


class ComputeInstanceKind(PreparableKind[MigComputeInstance, ClaimedComputeInstance]):
    """One CI of a GI that may have more."""

    text = "a compute instance in a shared GPU instance"
    published = MigComputeInstance
    claimed = ClaimedComputeInstance
    crash_points = CrashPoints(
        setting_up=("set_mig_mode", "create_gpu_instance", "create_compute_instance"),
        taking_down=("destroy_compute_instance", "destroy_gpu_instance", "set_mig_mode"),
        noted=("the GI's id",),
    )

    def why_ill(self, published: MigComputeInstance, seen: SeenHardware) -> str:
        """Return why the GPU does not answer."""
        return gpus.why_missing([published.gpu], seen)

    def plan(self, wanted: Wanted[MigComputeInstance]) -> ClaimedComputeInstance:
        """Return the instance by its GPU's UUID, and the places of GI and CI."""
        partition, place = wanted.published.spec.partition, wanted.published.place
        return ClaimedComputeInstance(
            **wanted.common,
            parent_uuid=partition.parent,
            profile_id=partition.profile_id,
            start=partition.placement.start,
            size=partition.placement.size,
            compute_start=place.start,
            compute_size=place.size,
        )

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedComputeInstance]) -> None:
        """Check that nothing is at the places but the GIs of other claims' compute instances.

        Raises: PlacementTaken; HardwareError.
        """
        for device in devices:
            present = context.machine.gpus.gpu_instances(device.gpu)
            siblings = compute_instances.siblings_of(device, context.others)
            compute_instances.refuse_occupied(present, context.node.gpus[device.gpu], device, siblings)

    def set_up(self, context: Context, devices: Sequence[ClaimedComputeInstance], progress: Progress) -> None:
        """Turn the mode on and create the instances that do not exist yet.

        Raises: ModeBlocked, GpuBusy, PlacementTaken; HardwareError.
        """
        machine, known = context.machine.gpus, context.node.gpus
        for uuid in dict.fromkeys(device.gpu for device in devices):
            context.mig_modes.turn_on(known[uuid])
        mine = {device.device: device for device in devices}
        for device in devices:
            siblings = compute_instances.siblings_of(device, [*context.others, *mine.values()])
            found = compute_instances.ensure(machine, known[device.gpu], device, siblings, progress.note)
            mine[device.device] = found
            progress.know(found)

    def find_for_admin(
        self, context: Context, devices: Sequence[ClaimedComputeInstance]
    ) -> Sequence[ClaimedComputeInstance]:
        """Return the devices with the instances at their places. Raises: NotReady; HardwareError."""
        read = context.machine.gpus.gpu_instances
        return [compute_instances.find(read(device.gpu), device) for device in devices]

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedComputeInstance]) -> None:
        """Check that every MIG device is alive, by its UUID. Raises: NotReady; HardwareError."""
        for device in devices:
            if not instances.is_alive(context.machine.gpus.gpu_instances(device.gpu), device):
                raise NotReady("use", f"device {device.device}", f"there is no MIG device {device.mig_uuid}")

    def seems_gone(self, files: DriverFiles, node: NodeSnapshot, device: ClaimedComputeInstance) -> bool:
        """Whether the kernel no longer shows the capability of the instance."""
        return instances.seems_gone(files, node.gpus, device)

    def parts(self, context: Context, device: ClaimedComputeInstance) -> Parts:
        """Return the nodes of the GPU and of both instances, and the driver's files."""
        if device.gi_id is None or device.ci_id is None:
            raise NotReady("use", f"device {device.device}", "its instance is not known yet")
        has_graphics = context.node.has_graphics(device.hardware)
        return context.gpu_parts.of_instance(
            device.gpu, device.gi_id, device.ci_id, has_graphics=has_graphics
        )

    def pci_addresses(self, published: MigComputeInstance) -> tuple[str, ...]:
        """Return the GPU's address."""
        return (published.gpu.bdf,)

    def take_down(self, context: Context, devices: Sequence[ClaimedComputeInstance]) -> None:
        """Destroy the CIs, the last one first, and GIs that no other claim has; turn off unused modes."""
        machine = context.machine.gpus
        for device in reversed(devices):
            try:
                compute_instances.destroy(machine, device)
            except InUse as error:
                raise_naming_who_has_it_open(error, context.machine.clients, device.gpu)
        for device in reversed(devices):
            others = compute_instances.siblings_of(device, context.others)
            try:
                compute_instances.destroy_unshared(machine, device, others)
            except InUse as error:
                raise_naming_who_has_it_open(error, context.machine.clients, device.gpu)
        self.forget(context, devices)

    def forget(self, context: Context, devices: Sequence[ClaimedComputeInstance]) -> None:
        """Turn the mode off on GPUs without instances: on some models it outlives a boot."""
        gpus.turn_off_unused_modes(context, map(attrgetter("gpu"), devices))

    def foreign(self, node: NodeSnapshot, held: Sequence[ClaimedComputeInstance]) -> Iterable[Foreign]:
        """Yield the CIs that no claim created, in the GIs of claims. Other GIs are MIG partitions' matter."""
        for present in node.instances.values():
            for found in foreign_in(present, held):
                if found.compute is not None:
                    where = f"GI {found.instance.gi_id} of GPU {found.instance.parent}"
                    yield Foreign(where, f"CI {found.compute.uuid}")
