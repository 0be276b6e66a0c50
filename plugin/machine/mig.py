"""MIG partitions: made with their own undo, destroyed only when they are provably ours.

What a record says of a partition and the hardware's calls enter. Ids of instances are reused by the
driver and UUIDs are not, so nothing is destroyed or adopted by id alone. The caller holds the GPU's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from agent.hardware.errors import HardwareError, HardwareFault, InsufficientResources, NotFound
from agent.hardware.ports import Gpus
from agent.hardware.types import Gpu, GpuInstance, GpuUuid, MigInstance, MigSpec, MigUuid, Placement
from plugin.base.errors import PlacementTaken, PluginError
from plugin.claim.record import HeldPartition

_log = logging.getLogger(__name__)

Note = Callable[[int | None], None]
"""Makes the id of a GI durable; None says that there is none. Whatever it raises stops the work."""


def is_ours(instance: GpuInstance, held: HeldPartition) -> bool:
    """Whether a GI is the one that a record speaks of.

    A GI's id is recorded before a CI is made in it. So one with a CI that no id was recorded for was made
    by somebody else, and so was one whose CI has another UUID: the driver gave out our id again.
    """
    if instance.spec != held.spec:
        return False
    uuids = {compute.uuid for compute in instance.compute_instances}
    if held.gi_id is None:
        return not uuids
    return instance.gi_id == held.gi_id and (not uuids or held.mig_uuid is None or held.mig_uuid in uuids)


def find(gpus: Gpus, held: HeldPartition) -> GpuInstance | None:
    """Return the GI of a record, None where it does not exist (any more)."""
    return _ours(gpus.gpu_instances(held.gpu), held)


def _ours(present: Iterable[GpuInstance], held: HeldPartition) -> GpuInstance | None:
    return next((found for found in present if is_ours(found, held)), None)


def is_alive(gpus: Gpus, held: HeldPartition) -> bool:
    """Whether the MIG device that a record names by UUID exists."""
    instance = find(gpus, held)
    return instance is not None and any(
        compute.uuid == held.mig_uuid for compute in instance.compute_instances
    )


def refuse_occupied(gpus: Gpus, gpu: Gpu, spec: MigSpec) -> None:
    """Check that nothing lies in a placement.

    Raises: PlacementTaken naming the instances in the way.
    """
    _refuse_others(gpus.gpu_instances(spec.parent), gpu, spec, None)


def _refuse_others(
    present: Iterable[GpuInstance], gpu: Gpu, spec: MigSpec, held: HeldPartition | None
) -> None:
    in_the_way = [
        instance
        for instance in present
        if _overlap(instance.placement, spec.placement) and not (held and is_ours(instance, held))
    ]
    if in_the_way:
        subject = f"a MIG partition at memory slices {_slices(spec.placement)} of {gpu_text(gpu)}"
        raise PlacementTaken("make", subject, f"{named(in_the_way)} lies there, which is not of this claim")


def realise(gpus: Gpus, gpu: Gpu, held: HeldPartition, note: Note) -> MigInstance:
    """Return the instance of a record: the one that exists, or else a new one. MIG mode is on.

    Raises: PlacementTaken; HardwareError. What it made itself is then undone.
    """
    present = gpus.gpu_instances(held.gpu)
    _refuse_others(present, gpu, held.spec, held)
    existing = _ours(present, held)
    if existing is None:
        if held.gi_id is not None:
            _log.warning("%s of %s is gone and is made again", held.device, gpu_text(gpu))
            note(None)
        return _create(gpus, gpu, held.spec, note)
    for compute in existing.compute_instances:
        if held.mig_uuid in {None, compute.uuid}:
            return MigInstance(held.spec, existing.gi_id, compute.ci_id, compute.uuid)
    return _fill(gpus, held.spec, existing.gi_id, note)


def destroy(gpus: Gpus, held: HeldPartition) -> None:
    """Destroy the CIs and the GI of a record; what is gone already is no error.

    Raises: HardwareError, InUse while a process works on the partition. A second call goes on from there.
    """
    try:
        instance = find(gpus, held)
        if instance is None:
            return
        for compute in instance.compute_instances:
            _ignore_gone(gpus.destroy_compute_instance, held.gpu, instance.gi_id, compute.ci_id)
        _ignore_gone(gpus.destroy_gpu_instance, held.gpu, instance.gi_id)
        if find(gpus, held) is not None:
            raise HardwareFault("destroy", named([instance]), "it is still there")
    except NotFound as error:
        # The GPU itself is no longer there, and its instances went with it.
        _log.warning("%s had nothing left to destroy: %s", held.device, error)


def gpu_text(gpu: Gpu) -> str:
    """Return how messages call a GPU."""
    return f"GPU {gpu.minor} ({gpu.uuid})"


def named(instances: Iterable[GpuInstance]) -> str:
    """Return instances as messages call them: id, place and the UUIDs of their MIG devices."""
    return ", ".join(_named(instance) for instance in instances)


def _create(gpus: Gpus, gpu: Gpu, spec: MigSpec, note: Note) -> MigInstance:
    try:
        gi_id = gpus.create_gpu_instance(spec)
    except InsufficientResources as error:
        present = gpus.gpu_instances(spec.parent)
        subject = f"a MIG partition at memory slices {_slices(spec.placement)} of {gpu_text(gpu)}"
        reason = f"{error.reason}; on the GPU: {named(present) or 'no instance'}"
        raise PlacementTaken("make", subject, reason) from error
    return _fill(gpus, spec, gi_id, note)


def _fill(gpus: Gpus, spec: MigSpec, gi_id: int, note: Note) -> MigInstance:
    """Make the CI of a GI that has none; the GI goes when that fails."""
    try:
        note(gi_id)
        compute = gpus.create_compute_instance(spec.parent, gi_id)
    except (HardwareError, PluginError):
        _give_up(gpus, spec.parent, gi_id)
        raise
    return MigInstance(spec, gi_id, compute.ci_id, compute.uuid)


def _give_up(gpus: Gpus, parent: GpuUuid, gi_id: int) -> None:
    try:
        gpus.destroy_gpu_instance(parent, gi_id)
    except HardwareError as error:
        # The record names the GI: the claim's undo finds it again.
        _log.warning("GI %d of %s stays for now: %s", gi_id, parent, error)


def _ignore_gone(destroy_instance: Callable[..., None], *identity: GpuUuid | int) -> None:
    try:
        destroy_instance(*identity)
    except NotFound as error:
        _log.info("nothing to destroy: %s", error)


def _named(instance: GpuInstance) -> str:
    uuids: list[MigUuid] = [compute.uuid for compute in instance.compute_instances]
    what = ", ".join(uuids) or "without a CI"
    return f"GI {instance.gi_id} (memory slices {_slices(instance.placement)}, {what})"


def _overlap(one: Placement, other: Placement) -> bool:
    return one.start < other.start + other.size and other.start < one.start + one.size


def _slices(placement: Placement) -> str:
    return f"{placement.start}-{placement.start + placement.size - 1}"
