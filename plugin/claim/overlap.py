"""PURE: whether a plan's devices are free of every other claim's, counted as the scheduler counts.

Takes records, the node's devices and a plan; returns nothing or an error that names the holder. A scheduler
race or a force-deleted pod can allocate a device that is still prepared: the plugin refuses it here. A device
with admin access is held by nobody and refused to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from agent.hardware.types import ComputeSpec, MigSpec
from agent.inventory.model import NodeDevices
from agent.inventory.names import gpu_name
from agent.inventory.published import Hardware, ImexChannel, InShares, NicFunction, UnderMps, gpus_of
from plugin.base.errors import ClaimUnusable, DeviceHeld
from plugin.claim.members import whole_gpus
from plugin.claim.quarantine.quarantined import Quarantined, records_of
from plugin.claim.record import Record
from plugin.kinds.claimed import Claimed
from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.books.usage import Share
from scheduler_core.model.device import DeviceName
from scheduler_core.model.ownership import MULTI_NODE


def refuse_overlap(
    plan: Record, records: Iterable[Record], node: NodeDevices, quarantined: Iterable[Quarantined] = ()
) -> None:
    """Check a plan against all records, whatever their state, and against claims in quarantine.

    Raises: DeviceHeld naming the device and the claim that holds it; ClaimUnusable where the claim's own
            devices overlap.
    """
    ledger = copy(node.books)
    kept = [one for one in quarantined if one.uid != plan.uid and one.may_hold_in(plan.boot_id)]
    others = [record for record in records if record.uid != plan.uid]
    for record in others:
        _record_all(ledger, record, node, _text_of(record, plan))
    for one in kept:
        _keep(ledger, one, node, plan)
    others += records_of(kept, plan.boot_id)
    for device in _own(plan):
        _refuse_held_nic(plan, device, others)
        _refuse_other_interval(plan, device, others)
        try:
            _take(ledger, device, f"claim {plan.ref}", node)
        except Overdrawn as error:
            _refuse_own_overlap(plan, node)
            subject = f"device {device.device} for claim {plan.ref}"
            raise DeviceHeld("prepare", subject, error.reason) from error


def _text_of(holder: Record, plan: Record) -> str:
    """Return how a claim's user is told of another claim: by name only in the same namespace.

    What is refused stands in events and in the claim's status, and namespaces must not learn of each other.
    """
    if holder.namespace == plan.namespace:
        return f"claim {holder.ref} ({holder.state})"
    return f"a claim of another namespace ({holder.state}, UID {holder.uid})"


def _refuse_held_nic(plan: Record, device: Claimed, others: Iterable[Record]) -> None:
    """Keep a NIC apart from its VFs also where one of both is not offered now, and so has no draws."""
    wanted = device.hardware
    if not isinstance(wanted, NicFunction):
        return
    for record in others:
        for held in _own(record):
            if _share_nic(wanted, held.hardware):
                subject = f"device {device.device} for claim {plan.ref}"
                reason = f"{_text_of(record, plan)} holds {held.device}, of the same NIC"
                raise DeviceHeld("prepare", subject, reason)


def _refuse_other_interval(plan: Record, device: Claimed, others: Iterable[Record]) -> None:
    """Keep claims that share a GPU to one interval of time slicing: it is one setting of the GPU."""
    if device.interval is None:
        return
    for record in others:
        for held in _own(record):
            is_shared = held.hardware == device.hardware
            if is_shared and held.interval is not None and held.interval != device.interval:
                subject = f"device {device.device} for claim {plan.ref}"
                reason = (
                    f"its interval {device.interval} differs from {held.interval}, "
                    f"which {_text_of(record, plan)} has of this GPU"
                )
                raise DeviceHeld("prepare", subject, reason)


def _share_nic(wanted: NicFunction, held: Hardware) -> bool:
    """Whether one of two functions is the NIC that the other one belongs to."""
    if not isinstance(held, NicFunction) or held.pf != wanted.pf:
        return False
    return (wanted.vf is None) != (held.vf is None)


def _refuse_own_overlap(plan: Record, node: NodeDevices) -> None:
    """Check a plan against itself alone: waiting for another claim's end would not help it."""
    ledger = copy(node.books)
    for device in _own(plan):
        try:
            _take(ledger, device, "the claim itself", node)
        except Overdrawn as error:
            subject = f"device {device.device} for claim {plan.ref}"
            raise ClaimUnusable("prepare", subject, error.reason, "allocate the claim anew") from error


def _take(ledger: Ledger, device: Claimed, holder: str, node: NodeDevices) -> None:
    """Count a device under its name; one of several nodes as the GPUs that it has here. Raises: Overdrawn."""
    if not device.pool.startswith(MULTI_NODE) or not isinstance(device.hardware, frozenset):
        ledger.take(DeviceName(device.device), holder, _amounts(device))
        return
    for name in whole_gpus(sorted(device.hardware), node):
        ledger.take(name, holder)


def _keep(ledger: Ledger, kept: Quarantined, node: NodeDevices, plan: Record) -> None:
    """Count what a claim in quarantine may hold."""
    is_foreign = kept.known.ref is not None and kept.known.ref.namespace != plan.namespace
    text = f"a claim of another namespace (UID {kept.uid})" if is_foreign else kept.text
    holder = f"{text}, whose record cannot be believed (tangram plugin release {kept.uid})"
    if kept.record is not None:
        _record_all(ledger, kept.record, node, holder)
    for name in sorted(kept.names_on(node)):
        ledger.record(name, holder)


def _record_all(ledger: Ledger, record: Record, node: NodeDevices, holder: str) -> None:
    """Count a record's devices by their hardware: their names may have changed since.

    A device that the node lacks now (a lost GPU) draws from sources that are gone with it.
    """
    for device in _own(record):
        name = node.by_hardware.get(device.hardware)
        if name is not None:
            ledger.record(name, holder, _amounts(device))
            continue
        for held in _remaining(device.hardware, node):
            ledger.record(held, holder)


def _amounts(device: Claimed) -> Share | None:
    return None if device.share is None else device.share.amounts


def _own(record: Record) -> Iterable[Claimed]:
    return (device for device in record.devices if not device.has_admin_access)


def _remaining(hardware: Hardware, node: NodeDevices) -> set[DeviceName]:
    """Return what still is offered of a device that is not: an option changed, or one GPU was lost."""
    if isinstance(hardware, ComputeSpec):
        partition = node.by_hardware.get(hardware.partition)
        return set() if partition is None else {partition}
    if isinstance(hardware, MigSpec | NicFunction | ImexChannel):
        return set()
    uuids = {hardware.gpu} if isinstance(hardware, InShares | UnderMps) else hardware
    return {
        gpu_name(gpu.number)
        for published in node.by_name.values()
        for gpu in gpus_of(published)
        if gpu.uuid in uuids
    }
