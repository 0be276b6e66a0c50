"""PURE: what the plan and the record hold of a VF, whatever its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self, TypedDict

import msgspec

from agent.hardware.types import Bdf
from agent.inventory.published import Hardware, NicFunction, NicVf
from plugin.kinds.claimed import Claimed
from plugin.kinds.nic_vf.settings import NOTHING, RecordedSettings
from plugin.machine.lock_target import LockTarget
from plugin.machine.vf_supply import WantedVf

_VERSION_WITH_GUIDS: Final = 4


class Place(TypedDict):
    """Where a VF is, and how it comes there."""

    pf_bdf: str
    vf_index: int
    vf_bdf: str | None
    on_demand: int | None
    node_rate: int | None


class RecordedBinding(msgspec.Struct, frozen=True, kw_only=True):
    """The driver of a function and its override as they are recorded. Shape: None where there is none."""

    driver: str | None
    override: str | None


class ClaimedVf(Claimed, frozen=True, kw_only=True):
    """A VF of a claim.

    Shape: addresses as sysfs writes them; ``vf_index`` the number of its ``virtfn`` link; ``settings`` what
           its PF is to set for it; ``original`` what of these was there before, None until it is known. It is
           durable before the first of them is set.
           ``on_demand`` how many VFs its NIC gets for claims, None where they are there without them; then
           ``vf_bdf`` is None until they are made.
           ``node_rate`` the rate that the node gives its VFs, where the claim asks for none.
           ``own_guid`` the GUID that an InfiniBand VF gets because it had none, None until that is known.
           ``before`` the driver that it had, durable before it loses that: to VFIO, or to start again,
           since a driver reads the GUIDs when it starts.
    Units: ``node_rate`` Mbit/s.
    """

    RECORD_VERSION: ClassVar[int] = 3

    pf_bdf: str
    vf_index: int
    vf_bdf: str | None
    on_demand: int | None = None
    node_rate: int | None = None
    settings: RecordedSettings = NOTHING
    original: RecordedSettings | None = None
    own_guid: str | None = None
    before: RecordedBinding | None = None

    @property
    def record_version(self) -> int:
        """Return the lowest version that can express the device: an older plugin would leave its GUIDs."""
        least = super().record_version
        return least if self.asked.node_guid is None else max(least, _VERSION_WITH_GUIDS)

    @property
    def pf(self) -> Bdf:
        """Return the address of its NIC."""
        return Bdf(self.pf_bdf)

    @property
    def bdf(self) -> Bdf:
        """Return its own address; the VF has been made."""
        assert self.vf_bdf is not None, "a VF on demand is made before anything is done with it"
        return Bdf(self.vf_bdf)

    @property
    def is_made(self) -> bool:
        """Whether its address is known."""
        return self.vf_bdf is not None

    @property
    def wanted_vf(self) -> WantedVf | None:
        """Return the VF that must be made for the claim, None where it is there without it."""
        return None if self.on_demand is None else WantedVf(self.pf, self.vf_index, self.on_demand)

    def made_at(self, address: Bdf) -> Self:
        """Return the device with the address of its VF."""
        return msgspec.structs.replace(self, vf_bdf=str(address))

    def says_the_same(self, other: Claimed) -> bool:
        """Whether two devices are the same VF; one on demand is, whatever the node's rules were then."""
        if not isinstance(other, ClaimedVf):
            return super().says_the_same(other)
        one, two = self._without_rate(), other._without_rate()
        if self.on_demand or other.on_demand:
            one, two = one._without_supply(), two._without_supply()
        return Claimed.says_the_same(one, two)

    @property
    def asked(self) -> RecordedSettings:
        """Return what its PF is to set for it: what the claim asks for, and the node's rate otherwise.

        An InfiniBand VF that had no GUID gets one, and follows the link of its PF: it was down without it.
        """
        found = self.settings
        if self.node_rate is not None and found.max_rate is None:
            found = msgspec.structs.replace(found, max_rate=self.node_rate)
        return found if self.own_guid is None else found.with_guid(self.own_guid)

    def _without_rate(self) -> Self:
        return msgspec.structs.replace(self, node_rate=None)

    def _without_supply(self) -> Self:
        return msgspec.structs.replace(self, vf_bdf=None, on_demand=None)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return its NIC: what a PF keeps of its VFs is changed by one call at a time."""
        return (LockTarget("NIC", self.pf_bdf),)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return NicFunction(self.pf, self.vf_index)

    @property
    def identity(self) -> str:
        """Return the address that containers get."""
        return self.bdf

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"pciAddress": self.vf_bdf, "pfPciAddress": self.pf_bdf, "vfIndex": self.vf_index}

    def as_planned(self) -> Self:
        """Return the device without what was there before, and without an address that came with its VF."""
        address = self.vf_bdf if self.on_demand is None else None
        return msgspec.structs.replace(self, original=None, own_guid=None, before=None, vf_bdf=address)


def place_of(published: NicVf) -> Place:
    """Return where a published VF is. The address of one on demand is known once a claim needs it."""
    vf = published.vf if published.on_demand is None else None
    return Place(
        pf_bdf=published.pf.function.bdf,
        vf_index=published.index,
        vf_bdf=vf.function.bdf if vf is not None else None,
        on_demand=published.on_demand,
        node_rate=published.bandwidth,
    )
