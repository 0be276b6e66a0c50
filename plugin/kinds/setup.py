"""The devices of a claim, set up on the machine and taken down again, kind by kind.

Takes claimed devices; returns devices with all that is known of them, for the caller to record. What a kind
needs to be durable earlier is handed over at once. Nothing here decides about a claim's state. The caller
holds the locks of the claim and of its lock targets.

Devices with admin access are somebody else's, or nobody's. This module keeps them from being changed: they
are looked up, and no kind is asked to set them up or to take them down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from plugin.kinds import vfs_on_demand
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Foreign
from plugin.kinds.registry import KINDS
from plugin.kinds.table import KindTable
from plugin.machine.context import Context
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import NodeSnapshot

NoteDevices = Callable[[Sequence[Claimed]], None]
"""Makes durable what is known of all devices of a claim so far. Whatever it raises stops the work."""


@dataclass(frozen=True, slots=True)
class DeviceSetup:
    """Sets the devices of claims up, in the order of a table of kinds."""

    kinds: KindTable = KINDS

    def refuse_occupied(self, context: Context, devices: Sequence[Claimed]) -> None:
        """Check that nobody else is where the devices will be, before the plan is recorded.

        Devices with admin access must be there already. Raises: PluginError; HardwareError.
        """
        self._found_for_admin(context, devices)
        self._refuse_occupied(context, [device for device in _own(devices) if device.is_made])

    def set_up(self, context: Context, devices: Sequence[Claimed], note: NoteDevices) -> tuple[Claimed, ...]:
        """Set up every device and return it with what is known now; what is set up already stays.

        Shape: in the order of ``devices``, whatever order they are set up in.
        Raises: PluginError, HardwareError. What was made before stays for ``take_down``.
        """
        progress = _Progress(devices, note)
        vfs_on_demand.supply(context, _own(devices), progress)
        missing = {device.cdi_id for device in devices if not device.is_made}
        self._refuse_occupied(context, [one for one in _own(progress.devices) if one.cdi_id in missing])
        for kind, mine in self.kinds.by_kind(_own(progress.devices)):
            kind.set_up(context, mine, progress)
        for device in self._found_for_admin(context, devices):
            progress.know(device)
        return progress.devices

    def bring_in(
        self,
        context: Context,
        devices: Sequence[Claimed],
        device: Claimed,
        pod: PodNamespace,
        note: NoteDevices,
    ) -> tuple[Claimed, ...]:
        """Bring one device of a claim into a pod and return all with what is known now.

        Raises: PluginError, HardwareError.
        """
        progress = _Progress(devices, note)
        self.kinds.of_claimed(device).bring_in(context, device, pod, progress)
        return progress.devices

    def refuse_dead(self, context: Context, devices: Sequence[Claimed]) -> None:
        """Check that every device works. Raises: NotReady; HardwareError."""
        for kind, mine in self.kinds.by_kind(devices):
            kind.refuse_dead(context, mine)

    def take_down(self, context: Context, devices: Sequence[Claimed]) -> None:
        """Undo every device, the last one first; what is gone already is no error.

        Raises: HardwareError. A second call goes on from there.
        """
        made = (device for device in _own(devices) if device.is_made)
        for kind, mine in reversed(tuple(self.kinds.by_kind(made))):
            kind.take_down(context, mine)
        vfs_on_demand.release(context, _own(devices))

    def forget(self, context: Context, devices: Sequence[Claimed]) -> None:
        """Undo what of the devices outlived the boot in which they were set up. Raises: HardwareError."""
        made = (device for device in _own(devices) if device.is_made)
        for kind, mine in reversed(tuple(self.kinds.by_kind(made))):
            kind.forget(context, mine)

    def foreign(self, node: NodeSnapshot, held: Iterable[Claimed]) -> Iterator[Foreign]:
        """Yield what is on the node and is none of the devices that claims hold."""
        found = _own(held)
        for kind in self.kinds.preparable:
            known = (kind.claimed, *kind.neighbours)
            yield from kind.foreign(node, [one for one in found if isinstance(one, known)])

    def _refuse_occupied(self, context: Context, devices: Sequence[Claimed]) -> None:
        for kind, mine in self.kinds.by_kind(devices):
            kind.refuse_occupied(context, mine)

    def _found_for_admin(self, context: Context, devices: Iterable[Claimed]) -> Sequence[Claimed]:
        looked_at = [device for device in devices if device.has_admin_access]
        return [
            found
            for kind, mine in self.kinds.by_kind(looked_at)
            for found in kind.find_for_admin(context, mine)
        ]


def _own(devices: Iterable[Claimed]) -> Sequence[Claimed]:
    """Return the devices that the claim has to itself."""
    return [device for device in devices if not device.has_admin_access]


class _Progress:
    """What is known of a claim's devices; implements ``Progress``."""

    def __init__(self, devices: Iterable[Claimed], note: NoteDevices) -> None:
        self.devices = tuple(devices)
        self._note = note

    def know(self, device: Claimed) -> None:
        """Replace what is known of a device."""
        self.devices = tuple(device if old.cdi_id == device.cdi_id else old for old in self.devices)

    def note(self, device: Claimed) -> None:
        """Replace what is known of a device and make it durable."""
        self.know(device)
        self._note(self.devices)
