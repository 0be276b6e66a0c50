"""What containers need of RDMA devices: found by the function that has them, awaited while a driver starts.

Takes addresses; returns device nodes, checked and as the host names them. The numbers of nodes are read,
never computed, because majors are dynamic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.hardware.nics.ports import NicReader
from agent.hardware.nics.types import VFIO_PCI, RdmaDevice
from agent.hardware.types import Bdf, DeviceNode
from plugin.base.errors import NotReady
from plugin.machine.context import Context
from plugin.machine.parts import usable_nodes

Devices = tuple[RdmaDevice, ...]


def awaited(context: Context, functions: Sequence[Bdf]) -> Mapping[Bdf, Devices]:
    """Return the RDMA devices of each function. Raises: as ``made``; NotReady if one has no GUID."""
    found = made(context, functions)
    for function, devices in found.items():
        if not all(device.has_guid for device in devices):
            reason = "its node or port GUID is zero again: another program recreated or reset the VF"
            raise NotReady("use for RDMA", f"PCI function {function}", reason, "delete the pod and the claim")
    return found


def made(context: Context, functions: Sequence[Bdf]) -> Mapping[Bdf, Devices]:
    """Return the RDMA devices of each function; a driver makes them some time after it got the function.

    Raises: NotReady naming the function where the time is up; HardwareError.
    """
    reader = context.machine.nics.reader
    found: dict[Bdf, Devices] = {}

    def look() -> bool | None:
        for function in functions:
            if function not in found and (devices := complete(reader, function)):
                found[function] = devices
        return len(found) == len(set(functions)) or None

    for function in functions:
        _refuse_given_away(reader, function)
    if context.waiting.until(look) is None:
        missing = next(function for function in functions if function not in found)
        raise _missing(reader, missing, context.waiting.most_s)
    return found


def complete(reader: NicReader, function: Bdf) -> Devices:
    """Return the RDMA devices of a function, none until each has its verbs device. Raises: HardwareError."""
    devices = reader.rdma_devices(function)
    return devices if all(device.verbs is not None for device in devices) else ()


def refuse_other(reader: NicReader, function: Bdf, device: str, meant: Sequence[str]) -> None:
    """Check that a function's RDMA devices are those that were found. Raises: NotReady; HardwareError."""
    present = tuple(one.name for one in complete(reader, function))
    if present != tuple(meant):
        reason = f"its RDMA device is {', '.join(present) or 'gone'}, not {', '.join(meant)}"
        raise NotReady("use", f"device {device}", reason)


def nodes(devices: Devices, host_root: Path, *, with_management: bool) -> tuple[DeviceNode, ...]:
    """Return the nodes for programs: verbs, and the connection manager where the host has it.

    Raises: NotReady where a node is missing.
    """
    found: list[DeviceNode] = []
    for device in devices:
        if with_management and not device.management:
            reason = "it has no umad device"
            remedy = "the operator loads the kernel module ib_umad, or the user leaves managementDevices out"
            raise NotReady("give containers", f"RDMA device {device.name}", reason, remedy)
        found += [node for node in (device.verbs, device.connection_manager) if node is not None]
        found += [*device.management, *device.subnet] if with_management else []
    return usable_nodes(tuple(dict.fromkeys(found)), host_root)


def _refuse_given_away(reader: NicReader, function: Bdf) -> None:
    """Do not wait for what cannot come."""
    if reader.binding(function).driver == VFIO_PCI:
        reason = f"driver {VFIO_PCI} has it, and no claim of this driver gave it to that"
        remedy = "the operator gives it back to its kernel driver"
        raise NotReady("use for RDMA", f"PCI function {function}", reason, remedy)


def _missing(reader: NicReader, function: Bdf, waited_s: float) -> NotReady:
    driver = reader.binding(function).driver
    reason = (
        f"driver {driver} has made no RDMA device within {waited_s:g} s" if driver else "it has no driver"
    )
    remedy = (
        "it is retried; if it persists, the operator checks the driver's RDMA modules and the kernel's log"
    )
    return NotReady("use for RDMA", f"PCI function {function}", reason, remedy)
