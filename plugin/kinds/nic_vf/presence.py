"""A claim's VF on the machine: whether it is still the one that was allocated, and what its PF keeps of it.

VFs are made anew when somebody changes their number, so an address alone says little. The caller holds the
NIC's lock.
"""

from __future__ import annotations

import logging
from typing import Final, TypeVar

import msgspec

from agent.hardware.errors import NotFound
from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.nics.types import VfSettings
from plugin.base.errors import NotReady
from plugin.kinds.kind import Progress
from plugin.kinds.nic_vf import guids, settings
from plugin.kinds.nic_vf.claimed import ClaimedVf

_log = logging.getLogger(__name__)
_REMEDY: Final = "it is retried; if it persists, allocate the claim anew"
Vf = TypeVar("Vf", bound=ClaimedVf)


def refuse_changed(reader: NicReader, device: ClaimedVf) -> None:
    """Check that a VF exists and belongs to the NIC of its plan. Raises: NotReady; HardwareError."""
    if _is_same(reader, device):
        return
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


def refuse_unusable(nics: Nics, device: ClaimedVf) -> None:
    """Check a VF before anything of its claim is changed: it is the same, and no other has its MAC or GUID.

    Raises: NotReady; HardwareError.
    """
    refuse_changed(nics.reader, device)
    addresses = device.settings.for_kernel("mac", "node_guid", "port_guid")
    if addresses != VfSettings():
        nics.settings.refuse_taken(device.pf, device.vf_index, addresses)


def _is_same(reader: NicReader, device: ClaimedVf) -> bool:
    """Whether the NIC has the VF under its index: one link to read, where a search reads them all."""
    try:
        return reader.virtual_function(device.pf, device.vf_index) == device.bdf
    except NotFound:
        return False


def with_settings(nics: Nics, device: Vf, progress: Progress) -> Vf:
    """Set what the PF is to keep of a VF and return what is known then.

    An InfiniBand VF without GUIDs gets some. Raises: NotReady; HardwareError.
    """
    refuse_changed(nics.reader, device)
    device = guids.decided(nics, device)
    if device.asked == settings.NOTHING:
        return device
    if device.original is None:
        found = settings.originals(nics, device.pf, device.vf_index, device.asked)
        device = msgspec.structs.replace(device, original=found)
        progress.note(device)
    settings.apply(nics, device.pf, device.vf_index, device.asked)
    return device


def restore_settings(nics: Nics, device: ClaimedVf) -> None:
    """Restore what the PF kept of a VF, as long as the VF is still the one that was set up.

    Raises: HardwareError.
    """
    if device.original is None:
        return
    try:
        refuse_changed(nics.reader, device)
    except NotReady as error:
        _log.warning("nothing to restore: %s", error)
        return
    settings.give_back(nics, device.pf, device.vf_index, device.asked, device.original)
