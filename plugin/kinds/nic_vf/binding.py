"""The driver of a claim's VF: what keeps it from VFIO, and how it gets its own driver back.

Takes claimed VFs. Changes the machine, or returns why it was refused. The caller holds the NIC's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.types import Bdf
from agent.inventory.judgement import why_needed, why_not_vfio
from agent.inventory.nic_facts import facts_of
from plugin.base.errors import NotReady
from plugin.kinds.nic_vf import guids
from plugin.kinds.nic_vf.claimed import ClaimedVf
from plugin.kinds.nic_vf.presence import refuse_changed

_log = logging.getLogger(__name__)
_ATTEMPTED: Final = "give to VFIO"


def refuse_unfit(reader: NicReader, device: ClaimedVf, given: Collection[Bdf]) -> None:
    """Check that VFIO can have a VF now, with the agent's judgement of what it offers.

    Shape: ``given`` are the functions that the claim has together. Raises: NotReady; HardwareError.
    """
    facts = facts_of(reader, device.bdf)
    reason = why_needed(facts) or why_not_vfio(facts, given)
    if reason is not None:
        raise NotReady(_ATTEMPTED, _subject(device), reason.text, reason.remedy)


def give_back(nics: Nics, device: ClaimedVf) -> None:
    """Give a VF its driver back that lost it, as long as it is still the one that was set up.

    A driver that read the claim's GUIDs starts again: the PF has the earlier ones for the VF by now.
    Raises: HardwareError, InUse while a program uses it. A second call goes on from there.
    """
    before, had = device.before, device.original
    if before is None:
        return
    try:
        refuse_changed(nics.reader, device)
    except NotReady as error:
        _log.warning("no driver to restore: %s", error)
        return
    present = nics.reader.binding(device.bdf)
    if present.driver not in (None, VFIO_PCI, before.driver):
        _log.warning("%s has driver %s, which no claim gave it; it stays", _subject(device), present.driver)
        return
    original = DriverBinding(before.driver, before.override)
    devices = nics.reader.rdma_devices(device.bdf)
    has_ours = had is not None and had.node_guid and not guids.shows(devices, had.node_guid, had.port_guid)
    if has_ours and present.driver not in (None, VFIO_PCI):
        nics.functions.restart(device.bdf, original)
    elif present != original:
        nics.functions.restore(device.bdf, original)


def _subject(device: ClaimedVf) -> str:
    return f"device {device.device} (VF {device.bdf})"
