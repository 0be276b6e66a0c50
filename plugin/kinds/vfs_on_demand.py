"""VFs that are made for a claim's devices before their kinds set them up, and removed after the last claim.

Takes claimed devices of any kind; the machine and what is known of the devices change. The caller holds the
locks of the devices' NICs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from agent.hardware.errors import NotFound
from agent.hardware.types import Bdf
from plugin.base.errors import NotReady
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Progress
from plugin.machine.context import Context
from plugin.machine.vf_supply import WantedVf


def supply(context: Context, devices: Iterable[Claimed], progress: Progress) -> None:
    """Make the VFs that devices need and do not have; tell the address of each.

    A device that is known already keeps what is known of it. Raises: NotReady, StorageFailed; HardwareError.
    """
    for device in devices:
        wanted = device.wanted_vf
        if wanted is not None:
            _ensure(context, wanted, device.device)
            progress.know(device.made_at(_address(context, wanted, device.device)))


def release(context: Context, devices: Iterable[Claimed]) -> None:
    """Remove the VFs that were made for devices, where no other claim has a function of their NIC.

    A NIC that is gone took its VFs along. Raises: StorageFailed; HardwareError.
    """
    for pf in sorted({wanted.pf for device in devices if (wanted := device.wanted_vf)}):
        try:
            context.vfs.remove_unused(pf)
        except NotFound:
            context.vfs.store.remove(pf)


def _ensure(context: Context, wanted: WantedVf, device: str) -> None:
    """Make sure that the NIC has VFs and the wanted one is among them."""
    vfs = context.vfs
    present = vfs.present(wanted.pf) or vfs.make(wanted.pf, wanted.count)
    if wanted.index < present:
        return
    subject = f"VF {wanted.index} of NIC {wanted.pf} (device {device})"
    if vfs.made(wanted.pf) is not None:
        reason = f"its driver made {present} VFs of {wanted.count}"
        raise NotReady("make", subject, reason, "the operator asks for fewer VFs, or changes the firmware")
    reason = f"the NIC has {present} VFs that somebody else made; their number changes only by way of 0"
    remedy = "the operator removes them when nobody uses them, or asks for as many"
    raise NotReady("make", subject, reason, remedy)


def _address(context: Context, wanted: WantedVf, device: str) -> Bdf:
    reader = context.machine.nics.reader
    found = context.waiting.until(partial(reader.virtual_function, wanted.pf, wanted.index))
    if found is None:
        reason = f"the kernel shows no such VF after {context.waiting.most_s:g} s"
        raise NotReady("use", f"VF {wanted.index} of NIC {wanted.pf} (device {device})", reason)
    return found
