"""PURE: what of the machine is in the way, or cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

from agent.inventory.names import gpu_name
from plugin.claim.vfs.judgement import VfDeed, judge
from tangram.doctor import kinds
from tangram.doctor.finding import Finding
from tangram.doctor.node.facts import NodeFacts, VfsOfNic


def machine_findings(facts: NodeFacts) -> Iterator[Finding]:
    """Yield what is wrong with GPUs and NICs."""
    machine = facts.machine
    for foreign in machine.foreign:
        yield Finding(
            kind=kinds.FOREIGN_INSTANCE,
            object=foreign.name,
            problem=foreign.sentence,
            remedies=("tangram plugin release",) if foreign.may_be_of else (foreign.command,),
        )
    census = facts.claims.census
    used = {target.address for record in census.holding for target in record.lock_targets}
    for gpu in machine.mig_left:
        if gpu.uuid in used | census.told_uuids:
            continue
        yield Finding(
            kind=kinds.MIG_MODE_LEFT,
            object=gpu_name(gpu.number),
            problem=f"{gpu_name(gpu.number)} at {gpu.bdf} is in MIG mode, which the plugin turned on, and no "
            "claim has a part of it",
            remedies=(f"fuser --verbose /dev/nvidia{gpu.minor}", f"nvidia-smi -i {gpu.bdf} -mig 0"),
        )
    yield from (_of_vfs(one) for one in machine.vfs if _is_left(one))
    for unlisted in machine.unlisted:
        yield Finding(
            kind=kinds.GPU_NOT_IN_DRIVER,
            object=gpu_name(unlisted.number),
            problem=str(unlisted),
            remedies=(f"lspci -k -s {unlisted.function.bdf}", "dmesg | grep -i xid"),
        )
    shown = {str(one.function.bdf) for one in machine.unlisted}
    for gone in machine.unreadable:
        if not shown & set(gone.hints):
            yield Finding(
                kind=kinds.DEVICE_UNREADABLE,
                object=gone.what.replace(" ", "-"),
                problem=f"{gone.what}: {gone.reason}",
                remedies=("dmesg --level err,warn | tail -n 50",),
            )


def _is_left(vfs: VfsOfNic) -> bool:
    return vfs.rule.on_demand and judge(vfs.rule, vfs.state).deed is VfDeed.REMOVE


def _of_vfs(vfs: VfsOfNic) -> Finding:
    return Finding(
        kind=kinds.VFS_LEFT,
        object=vfs.nic,
        problem=f"NIC {vfs.nic} has {vfs.state.present} VFs that were made on demand, and no claim has one",
        remedies=(f"cat /sys/bus/pci/devices/{vfs.nic}/sriov_numvfs",),
    )
