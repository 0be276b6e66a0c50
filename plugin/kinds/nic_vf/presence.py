"""Whether a VF is still the one that was allocated: VFs are made anew when somebody changes their number."""

from __future__ import annotations

from agent.hardware.errors import NotFound
from agent.hardware.nics.ports import NicReader
from plugin.base.errors import NotReady
from plugin.kinds.nic_vf.claimed import ClaimedVf


def refuse_changed(reader: NicReader, device: ClaimedVf) -> None:
    """Check that a VF exists and belongs to the NIC of its plan. Raises: NotReady; HardwareError."""
    subject = f"device {device.device} (VF {device.bdf})"
    try:
        found = reader.parent(device.bdf)
    except NotFound as error:
        reason = f"it no longer exists: the VFs of NIC {device.pf} were changed"
        raise NotReady("use", subject, reason, _REMEDY) from error
    if found != (device.pf, device.vf_index):
        now = f"VF {found[1]} of NIC {found[0]}" if found else "a function of its own"
        reason = f"at its address is now {now}; it was allocated as VF {device.vf_index} of NIC {device.pf}"
        raise NotReady("use", subject, reason, _REMEDY)


_REMEDY = "it is retried; if it persists, allocate the claim anew"
