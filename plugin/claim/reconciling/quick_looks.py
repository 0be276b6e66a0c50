"""Looks several times a second at what the kernel shows of prepared devices, and asks the hardware only of
claims for which that changed.

Somebody may destroy a MIG instance under a claim. Asking the driver that often would keep it busy, and the
look at everything comes once a minute. A look here is one call of the kernel for each instance; it needs no
lock. What it finds is a sign: whether a device is missing is then looked up as ever, under the claim's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from agent.hardware.errors import HardwareError
from agent.hardware.ports import DriverFiles
from plugin.base.errors import LockTimeout, PluginError
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.registry import KINDS
from plugin.machine.node import Node, NodeSnapshot
from scheduler_core.model.claim import ClaimUid

QUICK_LOOK_S: Final = 0.5
"""Between two looks. Units: seconds."""
_log = logging.getLogger(__name__)

Tell = Callable[[ClaimUid], bool]
"""Looks at a claim's devices and tells what is new; returns whether anything is. Raises: LockTimeout where a
call works on the claim, PluginError, HardwareError."""


class QuickLooks:
    """Looks at the claims of one node; one thread does it.

    Shape: ``hasten`` has everything looked at soon.
    """

    def __init__(
        self, store: RecordStore, node: Node, files: DriverFiles, tell: Tell, hasten: Callable[[], None]
    ) -> None:
        self._store = store
        self._node = node
        self._files = files
        self._tell = tell
        self._hasten = hasten
        self._looked_at: dict[ClaimUid, frozenset[str]] = {}

    def look(self) -> None:
        """Have those claims looked at of which the kernel shows other devices no more than before.

        Raises: StorageFailed.
        """
        node = self._node.last
        if node is None:  # nothing was prepared yet, or the node is about to be read anew
            return
        found = {record.uid: self._gone(record, node) for record in self._store.census().records}
        gone = {uid: devices for uid, devices in found.items() if devices}
        self._looked_at = {
            uid: devices
            for uid, devices in gone.items()
            if devices == self._looked_at.get(uid) or self._is_looked_at(uid)
        }

    def _gone(self, record: Record, node: NodeSnapshot) -> frozenset[str]:
        """Return the names of devices that a prepared claim seems to lack."""
        if record.state is not State.COMPLETED:
            return frozenset()
        return frozenset(
            device.device
            for device in record.devices
            if KINDS.of_claimed(device).seems_gone(self._files, node, device)
        )

    def _is_looked_at(self, uid: ClaimUid) -> bool:
        """Look at a claim; return whether that is done, so that the same sign means nothing new."""
        try:
            if self._tell(uid):
                self._hasten()
        except LockTimeout:  # a call works on it, and may be what undoes it
            return False
        except (PluginError, HardwareError) as error:
            _log.debug("whether the devices of claim %s are there is unknown: %s", uid, error)
            self._hasten()
        return True
