"""PURE: whether a claim's devices are free of every other claim's, counted as the scheduler counts.

Records, the node's devices and a plan enter; silence or the holder's name leaves. A scheduler race or a
force-deleted pod can hand out what is still prepared: the node is where that ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from agent.inventory.model import Hardware, NodeDevices, gpus_of
from agent.inventory.names import gpu_name
from plugin.claims import PreparePlan
from plugin.errors import ClaimUnusable, DeviceHeld
from plugin.records import HeldDevice, HeldPartition, Record
from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.model.device import DeviceName


def refuse_overlap(plan: PreparePlan, records: Iterable[Record], node: NodeDevices) -> None:
    """Check a plan against all records, started and completed ones alike.

    Raises: DeviceHeld naming the device and the claim that holds it; ClaimUnusable where the claim's own
            devices overlap.
    """
    ledger = copy(node.books)
    for record in records:
        if record.uid != plan.uid:
            _record_all(ledger, record, node)
    for planned in plan.devices:
        try:
            ledger.take(planned.name, f"claim {plan.ref}")
        except Overdrawn as error:
            _refuse_own_overlap(plan, node)
            subject = f"device {planned.name} for claim {plan.ref}"
            raise DeviceHeld("prepare", subject, error.reason) from error


def _refuse_own_overlap(plan: PreparePlan, node: NodeDevices) -> None:
    """Check a plan against itself alone: no other claim's end would ever help it."""
    ledger = copy(node.books)
    for planned in plan.devices:
        try:
            ledger.take(planned.name, "the claim itself")
        except Overdrawn as error:
            subject = f"device {planned.name} for claim {plan.ref}"
            raise ClaimUnusable("prepare", subject, error.reason, "allocate the claim anew") from error


def _record_all(ledger: Ledger, record: Record, node: NodeDevices) -> None:
    """Count a record's devices by what they are on the hardware: names may have moved since.

    A device that the node lacks now (a lost GPU) draws from sources that are gone with it.
    """
    for device in record.devices:
        name = node.by_hardware.get(_hardware(device))
        for held in _still_there(device, node) if name is None else [name]:
            ledger.record(held, f"claim {record.ref} ({record.state})")


def _still_there(device: HeldDevice, node: NodeDevices) -> set[DeviceName]:
    """Return the GPUs of a device that is not offered any more: another table, or one GPU of it was lost."""
    if isinstance(device, HeldPartition):
        return set()
    return {
        gpu_name(gpu.minor)
        for published in node.by_name.values()
        for gpu in gpus_of(published)
        if gpu.uuid in device.gpus
    }


def _hardware(device: HeldDevice) -> Hardware:
    return device.spec if isinstance(device, HeldPartition) else frozenset(device.gpus)
