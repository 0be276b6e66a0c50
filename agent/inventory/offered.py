"""PURE: an inventory to the part of it that is offered, with what is withheld and why.

The agent publishes only what this returns; the plugin knows all of the inventory, so that it refuses a device
that was allocated earlier with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.inventory.describe import as_mode_allows
from agent.inventory.judgement import EXCLUDED, why_not_nic, why_not_vf
from agent.inventory.model import GpuEntry, Inventory
from agent.inventory.modes import ModesOfGpu
from agent.inventory.names import gpu_name, nic_name, partition_name, partitions_name, vf_name
from agent.inventory.nics import offered_vfs
from agent.inventory.shared_gpus import SHARING_MODES
from agent.inventory.withheld import Cause, Reason, Withheld


def offered(inventory: Inventory) -> Inventory:
    """Return the inventory as it is offered: without what nobody could prepare now.

    Shape: ``withheld`` in published order. GPUs whose mode only an operator can change offer what the
           present mode allows. GPUs that belong to a pool of several nodes are left out, with all that is
           cut from them.
    """
    mine = tuple(one for one in inventory.gpus if one.gpu.number not in inventory.pools_of_gpus)
    unlisted = tuple(one for one in inventory.unlisted if one.number not in inventory.pools_of_gpus)
    allowed = as_mode_allows(replace(inventory, gpus=mine, unlisted=unlisted))
    return replace(allowed, withheld=(*_of_pools(inventory), *_gpus(allowed), *_nics(allowed)))


def _of_pools(inventory: Inventory) -> Iterator[Withheld]:
    present = {one.gpu.number for one in inventory.gpus}
    for number, pool in sorted(inventory.pools_of_gpus.items()):
        text = f"it belongs to pool {pool}"
        remedy = "the administrator deletes that MultiNodePool to free it"
        if number not in present:
            text = f"pool {pool} names it, and it is not there"
            remedy = "the administrator corrects that MultiNodePool"
        yield Withheld(gpu_name(number), "gpu", Reason(Cause.POOL_OF_NODES, text, remedy))


def _gpus(inventory: Inventory) -> Iterator[Withheld]:
    for entry in inventory.gpus:
        name, modes = gpu_name(entry.gpu.number), inventory.modes.of(entry.gpu.number)
        if modes.is_none:
            yield Withheld(name, "gpu", EXCLUDED)
            continue
        if modes.mig and (reason := _why_no_partitions(entry)) is not None:
            yield Withheld(partitions_name(entry.gpu.number), "mig", reason)
        yield from _shares(entry, modes)
        if not entry.offers_whole:
            yield Withheld(name, "gpu", _stuck(entry, "on"))
        elif not entry.offers_partitions:
            for profile in entry.profiles:
                for placement in profile.placements:
                    if not modes.offers(profile.name, placement):
                        continue
                    partition = partition_name(entry.gpu.number, profile.name, placement)
                    yield Withheld(partition, "mig", _stuck(entry, "off"))


def _shares(entry: GpuEntry, modes: ModesOfGpu) -> Iterator[Withheld]:
    """Yield the devices that claims cannot share: a share is a part of the GPU's memory."""
    if entry.gpu.memory_bytes is not None:
        return
    name = f"{gpu_name(entry.gpu.number)} is offered in no shares"
    text = f"{name}: the driver does not say how much memory it has"
    reason = Reason(Cause.NO_MEMORY_FIGURE, text, "the user asks for the whole GPU")
    for one in SHARING_MODES:
        if one.percent(modes) is not None:
            yield Withheld(one.name(entry.gpu.number), one.device_type, reason)


def _why_no_partitions(entry: GpuEntry) -> Reason | None:
    """Return why a GPU that supports MIG is offered in no partitions, None if it is, or has no MIG."""
    gpu = entry.gpu
    if gpu.mig is None or (entry.profiles and not entry.mig_problem):
        return None
    name = f"{gpu_name(gpu.number)} is offered in no partitions"
    if entry.mig_problem:
        if entry.profiles:
            name = f"{gpu_name(gpu.number)} is offered in the partitions that an earlier look found"
        remedy = "it is read again at the next discovery; if it stays so, the operator checks the driver"
        text = f"{name}: its MIG profiles cannot be read: {entry.mig_problem}"
        return Reason(Cause.UNREADABLE, text, remedy)
    if gpu.mig.current:
        remedy = "the operator checks the driver, or offers the GPU without mig (--gpu-modes)"
        return Reason(Cause.NO_MIG_PROFILE, f"{name}: the driver reports no MIG profile", remedy)
    # Drivers of series 535 were seen to report the profiles only while the mode is on.
    text = f"{name}: the driver reports no MIG profile while MIG mode is off"
    if gpu.mig.pending:
        text = f"{text}, and the change that turns it on waits for a reset"
        return Reason(Cause.NO_MIG_PROFILE, text, "the operator resets the GPU")
    remedy = (
        f"the operator turns MIG mode on (nvidia-smi -i {gpu.bdf} -mig 1), or keeps it on: "
        f"--gpu-modes {gpu.number}=mig:on"
    )
    return Reason(Cause.NO_MIG_PROFILE, text, remedy)


def _stuck(entry: GpuEntry, now: str) -> Reason:
    """Return why the MIG mode stays as it is."""
    if not entry.are_instances_known:
        text = f"{gpu_name(entry.gpu.number)} is in MIG mode, and its instances cannot be read"
        remedy = "it is read again at the next discovery; if it stays so, the operator checks the driver"
        return Reason(Cause.UNREADABLE, text, remedy)
    is_pending = entry.gpu.mig is not None and not entry.gpu.mig.is_settled
    why = "a change of it waits for a reset" if is_pending else "a virtual machine cannot reset this GPU"
    text = f"the MIG mode of {gpu_name(entry.gpu.number)} stays {now}: {why}"
    return Reason(Cause.MIG_MODE, text, "the operator resets the GPU")


def _nics(inventory: Inventory) -> Iterator[Withheld]:
    for pf in inventory.nics:
        bdf = pf.function.bdf
        reason = why_not_nic(inventory.nic(pf))
        if reason is not None:
            yield Withheld(nic_name(bdf), "nic", reason)
        for vf in offered_vfs(inventory, pf):
            reason = why_not_vf(vf)
            if reason is not None:
                yield Withheld(vf_name(bdf, vf.index), "vf", reason)
