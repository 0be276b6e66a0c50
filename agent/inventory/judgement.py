"""PURE: whether a device of a NIC can be prepared, in which modes, and why not.

The agent withholds what cannot be prepared in any mode and publishes the modes of the rest; the plugin
refuses with the same reasons. A mode that the plugin learns is one more row of ``_OF_VF`` here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from agent.hardware.nics.types import GUID_SETTER, makes_interfaces
from agent.hardware.types import Bdf
from agent.inventory.nic_facts import FunctionFacts
from agent.inventory.published import NicVf, WholeNic
from agent.inventory.withheld import Cause, Reason
from scheduler_core.frontends.configuration.values import VfMode

EXCLUDED: Final = Reason(
    Cause.POLICY, "the policy of the node excludes it", "the administrator changes the policy to offer it"
)
_ANOTHER: Final = "the user asks for another VF, or another mode"
_ANOTHER_MODE: Final = "the user asks for another device, or another mode"


def why_no_guid(vf: NicVf) -> Reason | None:
    """Return why a VF has no GUID and gets none with a claim, None if it has one or gets one."""
    if vf.has_guid:
        return None
    return why_no_guid_can_be_set(vf.pf.function.driver, has_interface=vf.pf.netdev is not None)


def why_no_guid_can_be_set(driver: str | None, *, has_interface: bool) -> Reason | None:
    """Return why a PF cannot set the GUIDs of an InfiniBand VF that has none, None if it can.

    Shape: ``driver`` of the PF; ``has_interface`` whether the host has the PF's interface: it is set by that.
    """
    if driver == GUID_SETTER and has_interface:
        return None
    zero = "its node or port GUID is zero, as the driver leaves a new InfiniBand VF"
    if driver != GUID_SETTER:
        remedy = (
            "the operator sets both as that driver's manual describes and binds the VF to its driver again"
        )
        return Reason(Cause.NO_GUID, f"{zero}, and driver {driver} of its NIC sets none for VFs", remedy)
    text = f"{zero}, and its NIC has no interface on the host, through which they are set"
    remedy = "the operator loads the kernel module ib_ipoib, or leaves the NIC's interface on the host"
    return Reason(Cause.NO_GUID, text, remedy)


def why_not_nic(nic: WholeNic) -> Reason | None:
    """Return why a whole NIC cannot be prepared, None where it can."""
    if nic.allowed == frozenset():
        return EXCLUDED
    unusable = _unreadable(nic.facts) or why_needed(nic.facts)
    no_rdma = why_not_offered(nic, VfMode.RDMA) or _no_rdma(has_rdma=nic.pf.rdma_device is not None)
    no_interface = why_no_interface(nic)
    if unusable or not no_rdma or not no_interface:
        return unusable
    text = f"{no_rdma.text}, and as an interface: {no_interface.text}"
    return Reason(no_rdma.cause, text, f"{no_rdma.remedy}; or {no_interface.remedy}")


def why_not_offered(device: WholeNic | NicVf, mode: VfMode) -> Reason | None:
    """Return why the policy of the node keeps a device from a mode, None where it does not."""
    if device.allows(mode):
        return None
    if not device.allowed:
        return EXCLUDED
    text = f"the policy of the node does not offer it in mode {mode}"
    return Reason(Cause.POLICY, text, f"the administrator changes the policy, or {_ANOTHER_MODE}")


def why_no_interface(nic: WholeNic) -> Reason | None:
    """Return why no pod can have the interface of a NIC, None where one can."""
    return why_not_offered(nic, VfMode.NETDEV) or why_not_netdev(nic.facts, nic.pf.function.driver)


def why_not_netdev(facts: FunctionFacts, driver: str | None) -> Reason | None:
    """Return why no pod can have the interface of a function, None where one can.

    The driver decides, and not whether the host has the interface: a pod that has it takes it from the host.
    """
    needed = why_needed(facts)
    if needed or makes_interfaces(driver):
        return needed
    text = f"it has driver {driver}, which makes no interface" if driver else "it has no driver"
    return Reason(Cause.NO_INTERFACE, text, "the operator gives it back to its network driver")


def why_needed(facts: FunctionFacts) -> Reason | None:
    """Return why the node keeps a function for its own network, None where it does not."""
    way = facts.way_to_route
    if not way:
        return None
    text = f"its interface {way[0]} carries the node's default route ({' < '.join(way)})"
    return Reason(Cause.DEFAULT_ROUTE, text, "the user asks for another NIC or VF")


def why_not_vfio(facts: FunctionFacts, given: Collection[Bdf] = ()) -> Reason | None:
    """Return why a VF cannot be given for VFIO, None where it can.

    VFIO gives an IOMMU group as a whole, so nobody else may have a function of it. A neighbour that another
    claim may have counts, whatever its driver is now: so no claim changes what is true of another device.
    Shape: ``given`` are functions that one claim has together.
    """
    group = facts.group
    if not facts.has_vfio:
        remedy = "the operator loads the kernel module of vfio-pci"
        return Reason(Cause.NO_VFIO_DRIVER, "the kernel has no driver vfio-pci", remedy)
    if group is None or not group.has_iommu:
        remedy = "the operator turns the IOMMU on, in the firmware and on the kernel's command line"
        return Reason(Cause.NO_IOMMU, "it has no IOMMU group", remedy)
    remedy = f"the operator frees the neighbour, or {_ANOTHER}"
    for member in group.members:
        is_used = not member.is_harmless or "vfio" in (member.driver or "")
        if member.bdf not in given and is_used:
            text = f"its IOMMU group {group.number} also has {member.bdf}, which driver {member.driver} has"
            return Reason(Cause.SHARED_IOMMU_GROUP, text, remedy)
    for bdf in facts.claimable:
        if bdf not in given:
            text = f"its IOMMU group {group.number} also has {bdf}, which another claim may have"
            return Reason(Cause.SHARED_IOMMU_GROUP, text, remedy)
    return None


def _vfio(vf: NicVf) -> Reason | None:
    given = () if vf.vf is None else (vf.vf.function.bdf,)
    return why_needed(vf.facts) or why_not_vfio(vf.facts, given)


def _rdma(vf: NicVf) -> Reason | None:
    return _no_rdma(has_rdma=vf.has_rdma)


def _netdev(vf: NicVf) -> Reason | None:
    # IP over InfiniBand is an interface of the RDMA device, not of the function's driver.
    is_of_rdma = vf.pf.link_type == "infiniband"
    return why_not_netdev(vf.facts, vf.kernel_driver) or (_rdma(vf) if is_of_rdma else None)


_OF_VF: Final[Mapping[VfMode, Callable[[NicVf], Reason | None]]] = {
    VfMode.RDMA: _rdma,
    VfMode.VFIO: _vfio,
    VfMode.NETDEV: _netdev,
}
"""Why a VF cannot be had in each mode that the plugin prepares."""


def modes_of(vf: NicVf) -> frozenset[VfMode]:
    """Return the modes in which a VF can be prepared."""
    if vf.facts.problem or why_no_guid(vf):
        return frozenset()
    return frozenset(mode for mode, why in _OF_VF.items() if vf.allows(mode) and why(vf) is None)


def why_not_vf(vf: NicVf) -> Reason | None:
    """Return why a VF cannot be prepared in any mode, None where one is possible.

    Shape: the cause is that of the first mode; the text has the clause of each.
    """
    if vf.allowed == frozenset():
        return EXCLUDED
    unusable = _unreadable(vf.facts) or why_no_guid(vf)
    if unusable or modes_of(vf):
        return unusable
    found = {mode: reason for mode, why in _OF_VF.items() if (reason := why_not_offered(vf, mode) or why(vf))}
    text = ", ".join(f"mode {mode}: {reason.text}" for mode, reason in found.items())
    remedies = dict.fromkeys(reason.remedy for reason in found.values())
    return Reason(next(iter(found.values())).cause, text, "; or ".join(remedies))


def _no_rdma(*, has_rdma: bool) -> Reason | None:
    if has_rdma:
        return None
    remedy = "the operator loads the driver's RDMA module"
    return Reason(Cause.NO_RDMA, "it has no RDMA device", remedy)


def _unreadable(facts: FunctionFacts) -> Reason | None:
    if not facts.problem:
        return None
    remedy = "it is read again at the next change of the machine"
    return Reason(Cause.UNREADABLE, f"it could not be read: {facts.problem}", remedy)
