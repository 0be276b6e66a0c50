"""Finds what has a MAC address or a GUID already: a VF as its PF set it, or an interface of the node.

Takes what the kernel says of links and VFs; changes nothing. Not every driver refuses a MAC that another VF
has, and then both lose packets; none refuses a GUID. An InfiniBand interface's address ends with its port's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent.hardware.errors import AlreadyTaken
from agent.hardware.guids import NO_GUID
from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.links import Link
from agent.hardware.nics.refusals import translated
from agent.hardware.nics.types import VfCount, VfSettings
from agent.hardware.types import Bdf

_NO_MAC: Final = "00:00:00:00:00:00"


class VfReader(Protocol):
    """Reads which VFs there are."""

    def vf_count(self, pf: Bdf) -> VfCount:
        """Return the number of VFs that a PF has, and the most that it can have."""
        ...

    def virtual_function(self, pf: Bdf, index: int) -> Bdf | None:
        """Return the address of a VF, None if it does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class TakenAddresses:
    """Finds which function or interface of this node has a MAC or a GUID, as seen from the host's namespace.

    An interface that is in a pod is seen by what its PF set for it; what a pod gave it by itself is not.
    """

    reader: VfReader
    kernel: NetworkKernel

    def refuse(self, pf: Bdf, index: int, wanted: VfSettings, present: Mapping[int, VfSettings]) -> None:
        """Check that a VF can have its MAC and GUIDs; ``present`` are the settings of its PF's VFs.

        What the VF has already is its own. Raises: AlreadyTaken; HardwareError.
        """
        for address in dict.fromkeys((wanted.mac, wanted.node_guid, wanted.port_guid)):
            if address is not None and address not in (_NO_MAC, NO_GUID):
                self._refuse(pf, index, address.lower(), present)

    def _refuse(self, pf: Bdf, index: int, wanted: str, present: Mapping[int, VfSettings]) -> None:
        if (other := _holder(present, wanted, index)) is not None:
            raise _taken(pf, index, wanted, f"VF {other} of the same PF has {wanted} already")
        if _holder(present, wanted) == index:
            return
        if (holder := self._elsewhere(pf, index, wanted)) is not None:
            raise _taken(pf, index, wanted, f"{holder} has {wanted} already")

    def _elsewhere(self, pf: Bdf, index: int, address: str) -> str | None:
        with translated("list the network links", "the host's namespace"):
            links = self.kernel.links(None)
        vf = self.reader.virtual_function(pf, index)
        alike = [link for link in links if address in (link.mac, _guid_in(link.mac))]
        if any(link.bdf == vf is not None for link in alike):
            return None
        if alike:
            return _shown(alike[0], pf)
        others = (link for link in links if link.bdf not in (None, pf))
        return next((found for link in others if (found := self._vf_below(link, address)) is not None), None)

    def _vf_below(self, link: Link, address: str) -> str | None:
        """Return the VF of another PF that has the address."""
        if link.bdf is None or not self.reader.vf_count(link.bdf).present:
            return None
        with translated("read the settings of VFs", f"PF {link.bdf} ({link.name})"):
            present = self.kernel.vf_settings(link.name)
        found = _holder(present, address)
        return None if found is None else f"VF {found} of PF {link.bdf}"


def _holder(present: Mapping[int, VfSettings], address: str, but: int | None = None) -> int | None:
    having = (index for index, one in present.items() if address in (one.mac, one.node_guid, one.port_guid))
    return next((index for index in having if index != but), None)


def _guid_in(mac: str) -> str | None:
    """Return the GUID in an interface's address, None unless it is one of IP over InfiniBand's 20 bytes."""
    return mac[-len(NO_GUID) :] if len(mac) == 3 * 20 - 1 else None


def _shown(link: Link, pf: Bdf) -> str:
    return f"the PF itself ({link.name})" if link.bdf == pf else f"the node's interface {link.name}"


def _taken(pf: Bdf, index: int, address: str, reason: str) -> AlreadyTaken:
    kind = "GUID" if len(address) == len(NO_GUID) else "MAC"
    return AlreadyTaken(f"set the {kind}", f"VF {index} of PF {pf}", reason)
