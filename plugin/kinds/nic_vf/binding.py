"""The driver of a claim's VF: what keeps it from VFIO, and how it gets its own driver back.

Takes claimed VFs. Changes the machine, or returns why it was refused. The caller holds the NIC's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

import msgspec

from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.types import Bdf
from plugin.base.errors import NotReady
from plugin.kinds.nic_vf.claimed import ClaimedVf
from plugin.kinds.nic_vf.presence import refuse_changed

_log = logging.getLogger(__name__)
_ATTEMPTED: Final = "give to VFIO"


class RecordedBinding(msgspec.Struct, frozen=True, kw_only=True):
    """The driver of a function and its override as they are recorded. Shape: None where there is none."""

    driver: str | None
    override: str | None


def refuse_needed(reader: NicReader, device: ClaimedVf) -> None:
    """Refuse a VF whose interface carries the node's default route. Raises: NotReady; HardwareError."""
    way = reader.needed_for_default_route(device.bdf)
    if way:
        reason = f"its interface {way[0]} carries the node's default route ({' < '.join(way)})"
        raise NotReady(_ATTEMPTED, _subject(device), reason, "the user asks for another VF")


def refuse_shared_group(reader: NicReader, device: ClaimedVf, given: Collection[Bdf]) -> None:
    """Check that nobody outside the claim uses a function of the VF's IOMMU group: VFIO gives it whole.

    Raises: NotReady naming the neighbour and its driver; HardwareError.
    """
    group = reader.iommu_group(device.bdf)
    if group is None:
        remedy = "the operator turns the IOMMU on, in the firmware and on the kernel's command line"
        raise NotReady(_ATTEMPTED, _subject(device), "it has no IOMMU group", remedy)
    for member in group.members:
        is_used = not member.is_harmless or "vfio" in (member.driver or "")
        if member.bdf not in given and is_used:
            reason = f"its IOMMU group {group.number} also has {member.bdf}, which driver {member.driver} has"
            remedy = "the operator frees the neighbour, or the user asks for another VF or mode rdma"
            raise NotReady(_ATTEMPTED, _subject(device), reason, remedy)


def give_back(nics: Nics, device: ClaimedVf, before: RecordedBinding) -> None:
    """Give a VF its driver back, as long as it is still the one that was set up.

    Raises: HardwareError, InUse while a program uses it. A second call goes on from there.
    """
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
    if present != original:
        nics.functions.restore(device.bdf, original)


def _subject(device: ClaimedVf) -> str:
    return f"device {device.device} (VF {device.bdf})"
