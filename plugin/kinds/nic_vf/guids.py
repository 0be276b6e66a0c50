"""Chooses GUIDs for a claim's InfiniBand VF that has none, and restarts its driver so that it reads them.

Its PF sets them like any setting; the VF's driver reads them when it starts. Takes claimed VFs; the machine
changes. The caller holds the NIC's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from agent.hardware.guids import NO_GUID, of_vf
from agent.hardware.nics.ports import Nics
from agent.hardware.nics.types import GUID_SETTER, DriverBinding, RdmaDevice
from agent.inventory.judgement import why_no_guid_can_be_set
from plugin.base.errors import NotReady
from plugin.kinds.nic_vf.claimed import ClaimedVf, RecordedBinding
from plugin.machine import rdma
from plugin.machine.context import Context

Vf = TypeVar("Vf", bound=ClaimedVf)
_ATTEMPTED = "set the GUIDs of"


def decided(nics: Nics, device: Vf) -> Vf:
    """Return a VF with the GUID that it is to get because it has none, and with the driver that will read it.

    What is decided once stays; a VF that needs none, or whose claim names one, is not asked for its own.
    Raises: NotReady if the GUID cannot be set; HardwareError.
    """
    if device.original is not None:
        return device
    if device.settings.node_guid is None:
        own = _missing_guid(nics, device)
        if own is None:
            return device
        device = msgspec.structs.replace(device, own_guid=own)
    found = nics.reader.binding(device.bdf)
    before = RecordedBinding(driver=found.driver, override=found.override)
    return msgspec.structs.replace(device, before=before)


def _missing_guid(nics: Nics, device: ClaimedVf) -> str | None:
    """Return the GUID to set on an InfiniBand VF that has none; None if it has one or is not InfiniBand.

    A GUID that the PF has for it already, and that its driver has not read yet, is used.
    """
    reader, subject = nics.reader, f"device {device.device} (VF {device.bdf})"
    own = reader.rdma_devices(device.bdf)
    if own and all(one.has_guid for one in own):
        return None
    of_pf = next((one.node_guid for one in reader.rdma_devices(device.pf) if one.node_guid), None)
    driver = reader.binding(device.pf).driver
    if not own and (of_pf is None or driver != GUID_SETTER):
        return None  # on VFIO, or late: nothing says that it is InfiniBand's and lacks a GUID
    reason = why_no_guid_can_be_set(driver, has_interface=bool(reader.interfaces(device.pf)))
    if reason is not None:
        raise NotReady(_ATTEMPTED, subject, reason.text, reason.remedy)
    present = nics.settings.read(device.pf, device.vf_index)
    if not own and NO_GUID not in (present.node_guid, present.port_guid):
        return None
    if present.node_guid not in (None, NO_GUID):
        return present.node_guid
    if of_pf in (None, NO_GUID):
        text = f"its NIC {device.pf} has no node GUID from which one could be made"
        raise NotReady(_ATTEMPTED, subject, text, "the operator sets the VF's GUIDs, or checks the NIC")
    return of_vf(of_pf, device.vf_index)


def take_effect(context: Context, device: ClaimedVf) -> None:
    """Let the driver of a VF read the GUIDs that its PF has for it, if it has others.

    A second call goes on where a process ended. Raises: NotReady, also if the driver does not read them;
    HardwareError.
    """
    nics, guid = context.machine.nics, device.asked.node_guid
    if device.before is None or guid is None:
        return
    original = DriverBinding(device.before.driver, device.before.override)
    is_bound = nics.reader.binding(device.bdf).driver is not None
    # Late devices are awaited: without them nothing says what the driver has read.
    if is_bound and not shows(rdma.made(context, [device.bdf])[device.bdf], guid, guid):
        nics.functions.restart(device.bdf, original)
    nics.functions.restore(device.bdf, original)
    if not shows(rdma.made(context, [device.bdf])[device.bdf], guid, guid):
        reason = (
            f"its driver started again, and its RDMA device does not have the GUID {guid} that its PF set"
        )
        raise NotReady(_ATTEMPTED, f"device {device.device} (VF {device.bdf})", reason)


def shows(devices: Sequence[RdmaDevice], node: str | None, port: str | None) -> bool:
    """Whether these RDMA devices of a VF, at least one, have the GUIDs."""
    return bool(devices) and all((one.node_guid, one.port_guid) == (node, port) for one in devices)
