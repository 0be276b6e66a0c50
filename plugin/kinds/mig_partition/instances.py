"""The instances of MIG partitions: created with their own undo, destroyed only where they are provably ours.

Takes a claimed MIG partition and the instances of its GPU. The driver reuses the ids of instances, never
their UUIDs, so nothing is destroyed or taken over by id alone. The caller holds the GPU's lock, so a listing
of the instances stays true until the caller changes them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from agent.hardware.errors import HardwareError, HardwareFault, InsufficientResources, NotFound
from agent.hardware.ports import DriverFiles, Gpus
from agent.hardware.types import GpuInstance, GpuUuid, MigInstance, MigSpec
from agent.inventory.foreign.rule import is_ours
from agent.inventory.foreign.texts import instances_text, of_no_claim
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import NotReady, PlacementTaken, PluginError
from plugin.kinds.mig_partition.claimed import ClaimedMigDevice, ClaimedMigPartition
from plugin.machine.texts import gpu_text, mig_partition_text

_log = logging.getLogger(__name__)

Note = Callable[[int | None], None]
"""Makes the id of a GI durable; None says that there is none. Whatever it raises stops the work."""


def is_alive(present: Sequence[GpuInstance], claimed: ClaimedMigDevice) -> bool:
    """Whether the MIG device that a claimed device names by UUID is among the instances of its GPU."""
    instance = _ours(present, claimed)
    return instance is not None and any(
        compute.uuid == claimed.mig_uuid for compute in instance.compute_instances
    )


def seems_gone(files: DriverFiles, gpus: Mapping[GpuUuid, NumberedGpu], claimed: ClaimedMigDevice) -> bool:
    """Whether the kernel shows nothing where the instance of a claimed device was made.

    Shape: ``gpus`` as they were last listed; of a GPU that is not among them nothing is known.
    """
    gpu = gpus.get(claimed.gpu)
    if gpu is None or claimed.gi_id is None or claimed.ci_id is None:
        return False
    return not files.shows_instance(gpu.minor, claimed.gi_id, claimed.ci_id)


def find(present: Sequence[GpuInstance], claimed: ClaimedMigPartition) -> ClaimedMigPartition:
    """Return a MIG partition with the instance that is at its place, whoever created it. Raises: NotReady."""
    for instance in present:
        filling = (compute for compute in instance.compute_instances if compute.place is None)
        for compute in filling if instance.spec == claimed.spec else ():
            found = MigInstance(claimed.spec, instance.gi_id, compute.ci_id, compute.uuid)
            return claimed.with_instance(found)
    reason = "its instance does not exist now, and admin access creates none"
    raise NotReady("use", f"device {claimed.device}", reason, "it is retried until a claim has the partition")


def refuse_occupied(present: Sequence[GpuInstance], gpu: NumberedGpu, claimed: ClaimedMigPartition) -> None:
    """Check that no instance is at a placement, whatever created it. Raises: PlacementTaken."""
    refuse_in_the_way(at(present, claimed.spec), gpu, claimed.spec)


def ensure(
    gpus: Gpus, present: Sequence[GpuInstance], gpu: NumberedGpu, claimed: ClaimedMigPartition, note: Note
) -> MigInstance:
    """Return the instance of a claimed MIG partition: the one that exists, else a new one. MIG mode is on.

    Shape: ``present`` the instances of the GPU before any of this claim is created.
    Raises: PlacementTaken; HardwareError. What was created here is then undone.
    """
    others = (one for one in at(present, claimed.spec) if not is_ours(one, claimed))
    refuse_in_the_way(others, gpu, claimed.spec)
    existing = _ours(present, claimed)
    if existing is None:
        if claimed.gi_id is not None:
            _log.warning("%s of %s no longer exists and is created again", claimed.device, gpu_text(gpu))
            note(None)
        return _create(gpus, gpu, claimed.spec, note)
    for compute in existing.compute_instances:
        if claimed.mig_uuid in {None, compute.uuid}:
            return MigInstance(claimed.spec, existing.gi_id, compute.ci_id, compute.uuid)
    return _fill(gpus, claimed.spec, existing.gi_id, note)


def destroy(
    gpus: Gpus, claimed: ClaimedMigPartition, present: Sequence[GpuInstance] | None = None
) -> Sequence[GpuInstance] | None:
    """Destroy the CIs and the GI of a claimed MIG partition; what is gone already is no error.

    Returns the instances that are left on the GPU, None where the GPU is gone.
    Shape: ``present`` those that are on it, None where they were not listed just now.
    Raises: HardwareError, InUse while a process uses it. A second call goes on from there.
    """
    try:
        if present is None:
            present = gpus.gpu_instances(claimed.gpu)
        instance = _ours(present, claimed)
        if instance is None:
            return present
        for compute in instance.compute_instances:
            ignore_gone(gpus.destroy_compute_instance, claimed.gpu, instance.gi_id, compute.ci_id)
        ignore_gone(gpus.destroy_gpu_instance, claimed.gpu, instance.gi_id)
        left = gpus.gpu_instances(claimed.gpu)
        if _ours(left, claimed) is not None:
            raise HardwareFault("destroy", instances_text([instance]), "it still exists")
        return left
    except NotFound as error:
        # The GPU itself is no longer there, and its instances went with it.
        _log.warning("%s: nothing to destroy, its GPU is gone: %s", claimed.device, error)
        return None


def _ours(present: Sequence[GpuInstance], claimed: ClaimedMigDevice) -> GpuInstance | None:
    return next((found for found in present if is_ours(found, claimed)), None)


def at(present: Sequence[GpuInstance], spec: MigSpec) -> Iterable[GpuInstance]:
    """Return the GIs that have a memory slice of a wanted one."""
    return (one for one in present if one.placement.overlaps(spec.placement))


def refuse_in_the_way(found: Iterable[GpuInstance], gpu: NumberedGpu, spec: MigSpec) -> None:
    """Check that nothing was found where a GI will be. Raises: PlacementTaken naming it."""
    in_the_way = tuple(found)
    if in_the_way:
        raise PlacementTaken("create", mig_partition_text(spec, gpu), of_no_claim(instances_text(in_the_way)))


def _create(gpus: Gpus, gpu: NumberedGpu, spec: MigSpec, note: Note) -> MigInstance:
    return _fill(gpus, spec, create_gpu_instance(gpus, gpu, spec), note)


def create_gpu_instance(gpus: Gpus, gpu: NumberedGpu, spec: MigSpec) -> int:
    """Create a GI and return its id. Raises: PlacementTaken naming what is on the GPU; HardwareError."""
    try:
        return gpus.create_gpu_instance(spec)
    except InsufficientResources as error:
        present = instances_text(gpus.gpu_instances(spec.parent))
        reason = f"{error.reason}; on the GPU: {present or 'no instance'}"
        raise PlacementTaken("create", mig_partition_text(spec, gpu), reason) from error


def _fill(gpus: Gpus, spec: MigSpec, gi_id: int, note: Note) -> MigInstance:
    """Create the CI of a GI that has none; the GI is destroyed where that fails."""
    try:
        note(gi_id)
        compute = gpus.create_compute_instance(spec.parent, gi_id)
    except (HardwareError, PluginError):
        destroy_empty(gpus, spec.parent, gi_id)
        raise
    return MigInstance(spec, gi_id, compute.ci_id, compute.uuid)


def destroy_empty(gpus: Gpus, parent: GpuUuid, gi_id: int) -> None:
    """Destroy a GI that was created for nothing; a failure is logged and left to unprepare."""
    try:
        gpus.destroy_gpu_instance(parent, gi_id)
    except HardwareError as error:
        # The record names the GI: unpreparing the claim finds it again.
        _log.warning("GI %d of %s could not be destroyed yet: %s", gi_id, parent, error)


def ignore_gone(destroy_instance: Callable[..., None], *identity: GpuUuid | int) -> None:
    """Destroy an instance; one that is gone is no error. Raises: HardwareError."""
    try:
        destroy_instance(*identity)
    except NotFound as error:
        _log.info("already destroyed: %s", error)
