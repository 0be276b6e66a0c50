"""What all kinds of whole NICs record and share: the physical function, by its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agent.hardware.types import Bdf
from agent.inventory.published import Hardware, NicFunction
from plugin.kinds.claimed import Claimed
from plugin.machine.lock_target import LockTarget


class ClaimedNic(Claimed, frozen=True, kw_only=True):
    """A NIC of a claim. Shape: ``pf_bdf`` as sysfs writes it."""

    RECORD_VERSION: ClassVar[int] = 3

    pf_bdf: str

    @property
    def pf(self) -> Bdf:
        """Return its address."""
        return Bdf(self.pf_bdf)

    @property
    def subject(self) -> str:
        """Return how messages name it."""
        return f"device {self.device} (NIC {self.pf})"

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the NIC."""
        return (LockTarget("NIC", self.pf_bdf),)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return NicFunction(self.pf)

    @property
    def identity(self) -> str:
        """Return the address that containers get."""
        return self.pf_bdf

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"pciAddress": self.pf_bdf}
