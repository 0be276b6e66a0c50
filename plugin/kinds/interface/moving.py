"""The interface of a claim's function: noted, brought into the pod, and back to the host as it was.

Takes functions by address and what is recorded of their interfaces. The caller holds the NIC's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from agent.hardware.errors import HardwareError, NotFound
from agent.hardware.nics.links import Link
from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.types import Bdf
from plugin.base.errors import InterfaceElsewhere, NotReady
from plugin.kinds.interface.recorded import ClaimedInterface, RecordedInterface, RecordedNamespace
from plugin.machine.context import Context
from plugin.machine.namespaces import PodNamespace

_log = logging.getLogger(__name__)
_BACK: Final = "bring back to the host"
_USE: Final = "use the interface of"
Note = Callable[[ClaimedInterface], None]
"""Makes durable what is known of an interface."""


@dataclass(frozen=True, slots=True)
class InterfaceOf:
    """The interface of one function. Shape: ``subject`` names the device in messages."""

    function: Bdf
    subject: str
    recorded: ClaimedInterface


def awaited(context: Context, wanted: Sequence[InterfaceOf]) -> Mapping[Bdf, Link]:
    """Return the links on the host; a driver makes one some time after it got the function.

    Raises: NotReady naming the first that is missing when the time is up; HardwareError.
    """
    mover = context.machine.nics.interfaces
    found: dict[Bdf, Link] = {}

    def look() -> bool | None:
        for one in wanted:
            if one.function not in found and (link := mover.find(one.function)) is not None:
                found[one.function] = link
        return len(found) == len(wanted) or None

    if context.waiting.until(look) is None:
        missing = next(one for one in wanted if one.function not in found)
        raise NotReady(_USE, missing.subject, _why_missing(context, missing.function), _WHO_LOOKS)
    return found


def refuse_impossible(one: InterfaceOf, link: Link) -> None:
    """Check what a link can have before anything is recorded of it. Raises: NotReady."""
    mtu, least, most = one.recorded.wanted.mtu, link.least_mtu or 0, link.most_mtu
    if mtu is not None and (mtu < least or (most is not None and mtu > most)):
        reason = f"its MTU may be {least} to {most} bytes, not {mtu}"
        raise NotReady(_USE, one.subject, reason, "the user corrects mtu in the configuration")


def bring_in(context: Context, one: InterfaceOf, pod: PodNamespace, note: Note) -> None:
    """Bring an interface into a pod's namespace as it is wanted; where it is so already, nothing happens.

    Where the pod cannot have it so, it is on the host again afterwards.
    Raises: InterfaceElsewhere while another pod has it; NotReady; HardwareError.
    """
    mover, known = context.machine.nics.interfaces, one.recorded
    before, entrance = known.before, pod.entrance(context.host_root)
    assert before is not None, "a claim that is prepared knows its interfaces"
    if entrance is None:
        raise NotReady("bring into a pod", one.subject, "the pod's network namespace has ended")
    if mover.find(one.function, entrance) is not None:
        mover.move_in(one.function, entrance, known.in_pod.wish())
        return
    _await_on_host(context, one)
    if known.pod is not None:  # an earlier pod may have left it with another MTU
        mover.move_back(one.function, before.wish(), None)
    note(msgspec.structs.replace(known, pod=RecordedNamespace.of(pod)))
    try:
        mover.move_in(one.function, entrance, known.in_pod.wish())
    except HardwareError:
        mover.move_back(one.function, before.wish(), entrance)
        note(msgspec.structs.replace(known, pod=None))
        raise


def bring_back(context: Context, one: InterfaceOf) -> None:
    """Bring an interface that a pod had back to the host, under its old name, wherever it is.

    Its hardware address is restored by ``restore_mac``. What is gone is no error.
    Raises: NotReady until the kernel has given it back; HardwareError. A second call goes on from there.
    """
    known, before = one.recorded, one.recorded.before
    if known.pod is None or before is None or not _has_interface(context, one):
        return
    pod = known.pod.opened()
    mover = context.machine.nics.interfaces

    def look() -> Link | None:
        entrance = pod.entrance(context.host_root)
        if mover.find(one.function) is None and (
            entrance is None or mover.find(one.function, entrance) is None
        ):
            return None
        return mover.move_back(one.function, _without_mac(before).wish(), entrance)

    if context.waiting.until(look) is None:
        reason = f"{_why_missing(context, one.function)}; the pod's namespace has ended or passed it on"
        raise NotReady(_BACK, one.subject, reason, "it is retried: the kernel gives it back")
    _log.info("%s: its interface is on the host again", one.subject)


def restore_mac(context: Context, one: InterfaceOf) -> None:
    """Restore the hardware address of an interface that is back on the host.

    It comes last: while the PF sets an address for a VF, some drivers let the VF have no other.
    Raises: HardwareError.
    """
    before, mover = one.recorded.before, context.machine.nics.interfaces
    if one.recorded.pod is None or before is None or not _has_interface(context, one):
        return
    link = mover.find(one.function)
    if link is not None and link.mac != before.mac:
        mover.move_back(one.function, before.wish(), None)


def refuse_lost(context: Context, one: InterfaceOf) -> None:
    """Check that an interface is on the host or in the pod that got it. Raises: NotReady; HardwareError."""
    mover, pod = context.machine.nics.interfaces, one.recorded.pod
    if mover.find(one.function) is not None:
        return
    entrance = pod.opened().entrance(context.host_root) if pod is not None else None
    if entrance is None or mover.find(one.function, entrance) is None:
        raise NotReady(_USE, one.subject, _why_missing(context, one.function), _WHO_LOOKS)


_WHO_LOOKS: Final = (
    "it is retried; if it persists, the operator looks for what took it, or at the kernel's log"
)


def _await_on_host(context: Context, one: InterfaceOf) -> None:
    """Wait for a namespace that ended to give the interface back; a pod that has it keeps it."""
    mover, pod = context.machine.nics.interfaces, one.recorded.pod

    def look() -> bool | None:
        if mover.find(one.function) is not None:
            return True
        entrance = pod.opened().entrance(context.host_root) if pod is not None else None
        if entrance is not None and mover.find(one.function, entrance) is not None:
            raise InterfaceElsewhere(_USE, one.subject, "another pod has it, and one pod at a time can")
        return None

    if context.waiting.until(look) is None:
        raise NotReady(_USE, one.subject, _why_missing(context, one.function), _WHO_LOOKS)


def _without_mac(before: RecordedInterface) -> RecordedInterface:
    return msgspec.structs.replace(before, mac=None)


def _has_interface(context: Context, one: InterfaceOf) -> bool:
    """Whether the function is there with a driver that makes interfaces; else there is nothing to restore."""
    try:
        driver = context.machine.nics.reader.binding(one.function).driver
    except NotFound:
        _log.warning("%s: nothing to restore, the function is gone", one.subject)
        return False
    if driver in (None, VFIO_PCI):
        _log.warning("%s: nothing to restore, it has %s", one.subject, driver or "no driver")
        return False
    return True


def _why_missing(context: Context, function: Bdf) -> str:
    driver = context.machine.nics.reader.binding(function).driver
    if driver is None:
        return "it has no driver, and so no interface"
    waited_s = context.waiting.most_s
    return f"driver {driver} has no interface of it in the host's network namespace after {waited_s:g} s"
