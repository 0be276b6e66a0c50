"""Compute instances in a GI that several claims share: created and destroyed without touching each other.

Takes a claimed compute instance, its siblings (what the records of other claims, and the claim's other
devices, hold of the same GI), and the instances of the GPU. The first one creates the GI, the last one
destroys it: it is the last one if no sibling names the GI. The caller holds the GPU's lock, under which
records of its devices do not change. Nothing is destroyed or taken over by id alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from agent.hardware.errors import HardwareError, HardwareFault, InsufficientResources, NotFound
from agent.hardware.ports import Gpus
from agent.hardware.types import ComputeInstance, GpuInstance, MigInstance
from agent.inventory.foreign.rule import is_ours, is_own_compute
from agent.inventory.foreign.texts import NO_CLAIM, instances_text
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import NotReady, PlacementTaken, PluginError
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance
from plugin.kinds.mig_partition.instances import (
    at,
    create_gpu_instance,
    destroy_empty,
    ignore_gone,
    refuse_in_the_way,
)
from plugin.machine.texts import compute_instance_text, gpu_text

_log = logging.getLogger(__name__)

Siblings = Sequence[ClaimedComputeInstance]
Note = Callable[[ClaimedComputeInstance], None]
"""Makes durable what is known of a compute instance. Whatever it raises stops the work."""


def siblings_of(claimed: ClaimedComputeInstance, devices: Iterable[object]) -> Siblings:
    """Return the other compute instances of the same GI among some recorded devices."""
    return [
        one
        for one in devices
        if isinstance(one, ClaimedComputeInstance)
        and not one.has_admin_access
        and one.spec == claimed.spec
        and one.place != claimed.place
    ]


def refuse_occupied(
    present: Sequence[GpuInstance], gpu: NumberedGpu, claimed: ClaimedComputeInstance, siblings: Siblings
) -> None:
    """Check that nothing is where a CI will be but the GI of its siblings. Raises: PlacementTaken."""
    instance = _gpu_instance(present, siblings)
    _refuse_others(present, instance, gpu, claimed)
    if instance is not None:
        _refuse_held(instance, gpu, claimed)


def find(present: Sequence[GpuInstance], claimed: ClaimedComputeInstance) -> ClaimedComputeInstance:
    """Return a device with the CI that is at its place, whoever created it. Raises: NotReady."""
    for instance in present:
        for compute in instance.compute_instances if instance.spec == claimed.spec else ():
            if compute.place == claimed.place:
                return _with_instance(claimed, instance.gi_id, compute)
    reason = "its instance does not exist now, and admin access creates none"
    raise NotReady("use", f"device {claimed.device}", reason, "it is retried until a claim has the device")


def ensure(
    gpus: Gpus, gpu: NumberedGpu, claimed: ClaimedComputeInstance, siblings: Siblings, note: Note
) -> ClaimedComputeInstance:
    """Return a device with its CI: the one that exists, else a new one. MIG mode is on.

    Raises: PlacementTaken; HardwareError. A GI that was created here is then undone.
    """
    present = gpus.gpu_instances(claimed.gpu)
    instance = _gpu_instance(present, [claimed, *siblings])
    _refuse_others(present, instance, gpu, claimed)
    if instance is None:
        return _create_both(gpus, gpu, claimed, note)
    for compute in instance.compute_instances:
        if is_own_compute(compute, instance, claimed):
            return _with_instance(claimed, instance.gi_id, compute)
    _refuse_held(instance, gpu, claimed)
    return _create(gpus, gpu, claimed.with_gpu_instance(instance.gi_id), note)


def destroy(gpus: Gpus, claimed: ClaimedComputeInstance) -> None:
    """Destroy the CI of a device; what is gone already is no error.

    Raises: HardwareError, InUse while a process uses it.
    """
    try:
        for instance, compute in _own(gpus, claimed):
            ignore_gone(gpus.destroy_compute_instance, claimed.gpu, instance.gi_id, compute.ci_id)
        for instance, compute in _own(gpus, claimed):
            raise HardwareFault(
                "destroy", f"{compute.uuid} in {instances_text([instance])}", "it still exists"
            )
    except NotFound as error:
        # The GPU itself is no longer there, and its instances went with it.
        _log.warning("%s: nothing to destroy, its GPU is gone: %s", claimed.device, error)


def destroy_unshared(gpus: Gpus, claimed: ClaimedComputeInstance, others: Siblings) -> None:
    """Destroy the GI of a device whose CI is gone, unless another claim names it or a CI lies in it.

    Raises: HardwareError.
    """
    try:
        instance = _left(gpus, claimed)
        if instance is None or any(other.gi_id == instance.gi_id for other in others):
            return
        if instance.compute_instances:
            text = instances_text([instance])
            _log.warning("%s: %s stays, no claim made what is in it", claimed.device, text)
            return
        ignore_gone(gpus.destroy_gpu_instance, claimed.gpu, instance.gi_id)
        if _left(gpus, claimed) is not None:
            raise HardwareFault("destroy", instances_text([instance]), "it still exists")
    except NotFound as error:
        _log.warning("%s: nothing to destroy, its GPU is gone: %s", claimed.device, error)


def _gpu_instance(present: Sequence[GpuInstance], devices: Siblings) -> GpuInstance | None:
    """Return the GI of devices that have one in common."""
    return next((found for found in present if any(is_ours(found, one) for one in devices)), None)


def _left(gpus: Gpus, claimed: ClaimedComputeInstance) -> GpuInstance | None:
    """Return the GI of a device whose CI is gone: the recorded one, or an empty one if none is recorded."""
    for found in gpus.gpu_instances(claimed.gpu):
        is_recorded = found.gi_id == claimed.gi_id
        is_unrecorded = claimed.gi_id is None and not found.compute_instances
        if found.spec == claimed.spec and (is_recorded or is_unrecorded):
            return found
    return None


def _own(gpus: Gpus, claimed: ClaimedComputeInstance) -> Sequence[tuple[GpuInstance, ComputeInstance]]:
    return [
        (instance, compute)
        for instance in gpus.gpu_instances(claimed.gpu)
        for compute in instance.compute_instances
        if instance.spec == claimed.spec and is_own_compute(compute, instance, claimed)
    ]


def _refuse_others(
    present: Sequence[GpuInstance], own: GpuInstance | None, gpu: NumberedGpu, claimed: ClaimedComputeInstance
) -> None:
    refuse_in_the_way((one for one in at(present, claimed.spec) if one is not own), gpu, claimed.spec)


def _refuse_held(instance: GpuInstance, gpu: NumberedGpu, claimed: ClaimedComputeInstance) -> None:
    """Check that no CI is at the place of a device. Raises: PlacementTaken."""
    for compute in instance.compute_instances:
        if compute.place is None or compute.place.overlaps(claimed.place):
            reason = f"{compute.uuid} is there, {NO_CLAIM}"
            raise PlacementTaken("create", compute_instance_text(claimed.hardware, gpu), reason)


def _create_both(
    gpus: Gpus, gpu: NumberedGpu, claimed: ClaimedComputeInstance, note: Note
) -> ClaimedComputeInstance:
    if claimed.gi_id is not None:
        _log.warning("%s of %s no longer exists and is created again", claimed.device, gpu_text(gpu))
        note(claimed.as_planned())
    gi_id = create_gpu_instance(gpus, gpu, claimed.spec)
    try:
        return _create(gpus, gpu, claimed.with_gpu_instance(gi_id), note)
    except (HardwareError, PluginError):
        destroy_empty(gpus, claimed.gpu, gi_id)
        raise


def _create(
    gpus: Gpus, gpu: NumberedGpu, claimed: ClaimedComputeInstance, note: Note
) -> ClaimedComputeInstance:
    """Create the CI of a device whose GI exists. Its id is durable before."""
    note(claimed)
    assert claimed.gi_id is not None
    try:
        compute = gpus.create_compute_instance(claimed.gpu, claimed.gi_id, claimed.place)
    except InsufficientResources as error:
        raise PlacementTaken("create", compute_instance_text(claimed.hardware, gpu), error.reason) from error
    return _with_instance(claimed, claimed.gi_id, compute)


def _with_instance(
    claimed: ClaimedComputeInstance, gi_id: int, compute: ComputeInstance
) -> ClaimedComputeInstance:
    return claimed.with_instance(MigInstance(claimed.spec, gi_id, compute.ci_id, compute.uuid))
