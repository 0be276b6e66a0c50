"""Makes the VFs of NICs for claims, and removes what was made when no claim has a function of the NIC.

Takes addresses; the machine and the files of made VFs change. The caller holds the NIC's lock. VFs that
somebody else made are used and never removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from agent.hardware.errors import HardwareError
from agent.hardware.nics.ports import Nics
from agent.hardware.types import Bdf
from agent.inventory.published import Hardware, NicFunction
from plugin.machine.made_vfs import MadeVfs, MadeVfStore

_log = logging.getLogger(__name__)

Holdings = Callable[[], frozenset[Hardware] | None]
"""Returns what claims hold now, None where that is not known: then nothing is removed."""


@dataclass(frozen=True, slots=True)
class WantedVf:
    """A VF that a claim needs. Shape: ``count`` how many its NIC gets at once if it has none."""

    pf: Bdf
    index: int
    count: int


@dataclass(frozen=True, slots=True)
class VfSupply:
    """The VFs of a machine's NICs. Shape: ``held`` what claims hold that are not the caller's own."""

    nics: Nics
    store: MadeVfStore
    boot_id: str
    held: Holdings

    def present(self, pf: Bdf) -> int:
        """Return how many VFs a NIC has now. Raises: HardwareError."""
        return self.nics.reader.vf_count(pf).present

    def made(self, pf: Bdf) -> MadeVfs | None:
        """Return what this driver made of the VFs that a NIC has now, None where it made none of them.

        Raises: HardwareError, StorageFailed.
        """
        found = self.store.load(pf, self.boot_id)
        return found if found is not None and found.are(self.present(pf)) else None

    def is_held(self, pf: Bdf) -> bool | None:
        """Whether a claim has the NIC or one of its VFs, None where that is not known."""
        held = self.held()
        if held is None:
            return None
        return any(isinstance(one, NicFunction) and one.pf == pf for one in held)

    def make(self, pf: Bdf, count: int) -> int:
        """Make the VFs of a NIC that has none and return how many there are.

        That they are made is durable before they are. Raises: HardwareError, StorageFailed.
        """
        intent = MadeVfs(boot_id=self.boot_id, asked=count)
        self.store.save(pf, intent)
        try:
            made = self.nics.functions.set_vf_count(pf, count)
        except HardwareError:
            if not self.present(pf):
                self.store.remove(pf)
            raise
        self.store.save(pf, MadeVfs(boot_id=self.boot_id, asked=count, made=made))
        _log.info("NIC %s: made %d VFs", pf, made)
        return made

    def remove(self, pf: Bdf) -> None:
        """Remove the VFs that this driver made on a NIC. Raises: HardwareError, StorageFailed."""
        if self.made(pf) is not None:
            self.nics.functions.set_vf_count(pf, 0)
            _log.info("NIC %s: removed the VFs that were made for claims", pf)
        self.store.remove(pf)

    def remove_unused(self, pf: Bdf) -> None:
        """Do so where no claim has a function of the NIC. Raises: HardwareError, StorageFailed."""
        is_held = self.is_held(pf)
        if is_held is None:
            _log.warning("NIC %s: its VFs stay, since not all records of claims can be read", pf)
        elif not is_held:
            self.remove(pf)
