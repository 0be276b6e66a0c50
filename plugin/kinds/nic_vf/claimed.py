"""PURE: what the plan and the record hold of a VF, whatever its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict

from agent.hardware.types import Bdf
from agent.inventory.model import Hardware, NicFunction, NicVf
from plugin.kinds.claimed import Claimed
from plugin.kinds.nic_vf.settings import NOTHING, RecordedSettings
from plugin.machine.lock_target import LockTarget


class Place(TypedDict):
    """Where a VF is."""

    pf_bdf: str
    vf_index: int
    vf_bdf: str


class ClaimedVf(Claimed, frozen=True, kw_only=True):
    """A VF of a claim.

    Shape: addresses as sysfs writes them; ``vf_index`` the number of its ``virtfn`` link; ``settings`` what
           its PF is to set for it; ``original`` what of these was there before, None until it is known. It is
           durable before the first of them is set.
    """

    RECORD_VERSION: ClassVar[int] = 3

    pf_bdf: str
    vf_index: int
    vf_bdf: str
    settings: RecordedSettings = NOTHING
    original: RecordedSettings | None = None

    @property
    def pf(self) -> Bdf:
        """Return the address of its NIC."""
        return Bdf(self.pf_bdf)

    @property
    def bdf(self) -> Bdf:
        """Return its own address."""
        return Bdf(self.vf_bdf)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return its NIC: what a PF keeps of its VFs is changed by one call at a time."""
        return (LockTarget("NIC", self.pf_bdf),)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return NicFunction(self.pf, self.bdf)

    @property
    def identity(self) -> str:
        """Return the address that containers get."""
        return self.vf_bdf

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"pciAddress": self.vf_bdf, "pfPciAddress": self.pf_bdf, "vfIndex": self.vf_index}


def place_of(published: NicVf) -> Place:
    """Return where a published VF is."""
    pf, vf = published.pf, published.vf
    return Place(pf_bdf=pf.function.bdf, vf_index=vf.index, vf_bdf=vf.function.bdf)
